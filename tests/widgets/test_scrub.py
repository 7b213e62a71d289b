"""A scrub bar shows a place over a ribbon, and asks for another one where it is clicked or dragged."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.widgets.stage import NASTY, WIDTHS, Stage, line, safe
from widgets.scrub import CURSOR, SIGNS, TONES, Ribbon, Scrub, Tone, cell_tones


class Asking(Stage):
    """Remembers which places were asked for."""

    def __init__(self, scrub: Scrub) -> None:
        super().__init__(scrub)
        self.asked: list[float] = []

    def on_scrub_asked(self, event: Scrub.Asked) -> None:
        assert event.control is event.scrub
        self.asked.append(event.share)


def a_bar(value: float | None = 0.5, ribbon: Ribbon = ((0.0, "good"), (0.75, "unread"))) -> Scrub:
    scrub = Scrub("REPLAY")
    scrub.word, scrub.notes, scrub.value, scrub.ribbon = "▶ 600x", ("3 h of 55 h",), value, ribbon
    return scrub


@pytest.mark.parametrize("width", WIDTHS)
async def test_it_fills_its_width_and_keeps_its_label(width: int) -> None:
    scrub = a_bar()
    async with Stage(scrub).run_test(size=(width, 3)):
        text = line(scrub)
        assert cell_len(text) == width
        assert text.startswith("REPLAY ▶")
        assert "3 h of 55 h" in text
        if width >= 80:
            bar = text[text.index("600x") + 5 : text.index(" 3 h")]
            assert bar.index(CURSOR) / len(bar) == pytest.approx(0.5, abs=1 / len(bar))
            assert bar.index("┄") / len(bar) == pytest.approx(0.75, abs=1.5 / len(bar))


@pytest.mark.parametrize(("value", "drawn"), [(0.0, 1), (1.0, 1), (7.0, 1), (None, 0), (math.nan, 0)])
async def test_an_unknown_place_is_not_drawn(value: float | None, drawn: int) -> None:
    scrub = a_bar(value)
    async with Stage(scrub).run_test(size=(80, 3)):
        assert line(scrub).count(CURSOR) == drawn


async def test_text_from_outside_is_data() -> None:
    scrub = a_bar()
    scrub.label, scrub.word, scrub.notes = NASTY, NASTY, (NASTY, NASTY)
    async with Stage(scrub).run_test(size=(80, 3)):
        assert safe(line(scrub))


async def test_a_click_on_the_bar_asks_for_its_place() -> None:
    scrub = a_bar()
    app = Asking(scrub)
    async with app.run_test(size=(80, 3)) as pilot:
        text = line(scrub)
        left, right = text.index("━"), text.index(" 3 h") - 1
        for column in (left, (left + right) // 2, right):
            await pilot.click(scrub, offset=(column, 0))
        assert app.asked == [0.0, pytest.approx(0.5, abs=0.02), 1.0]
        await pilot.click(scrub, offset=(2, 0))  # on the label
        await pilot.click(scrub, offset=(right + 3, 0))  # on the figures
        assert len(app.asked) == 3


async def test_a_drag_follows_the_mouse_to_the_ends_and_no_further() -> None:
    scrub = a_bar()
    app = Asking(scrub)
    async with app.run_test(size=(80, 3)) as pilot:
        text = line(scrub)
        left, right = text.index("━"), text.index(" 3 h") - 1
        await pilot.mouse_down(scrub, offset=(left + 5, 0))
        await pilot.hover(scrub, offset=(right + 4, 0))
        await pilot.hover(scrub, offset=(1, 0))
        await pilot.mouse_up(scrub, offset=(1, 0))
        assert app.asked == [pytest.approx(5 / (right - left)), 1.0, 0.0]
        await pilot.hover(scrub, offset=(left + 9, 0))
        assert len(app.asked) == 3


def test_a_cell_shows_the_most_urgent_of_what_lies_in_it() -> None:
    assert cell_tones(4, ()) == ["unread"] * 4
    assert cell_tones(4, ((0.0, "good"), (0.5, "unread"))) == ["good", "good", "unread", "unread"]
    assert cell_tones(4, ((0.0, "good"), (0.6, "bad"), (0.601, "good"))) == ["good", "good", "bad", "good"]
    assert len(set(SIGNS.values())) == len(SIGNS) == len(TONES)


@given(st.integers(1, 300), st.lists(st.tuples(st.floats(0, 1), st.sampled_from(TONES)), max_size=20))
def test_every_stretch_is_seen(width: int, stretches: list[tuple[float, Tone]]) -> None:
    ribbon = tuple(sorted(stretches, key=lambda each: each[0]))
    tones = cell_tones(width, ribbon)
    assert len(tones) == width
    for begin, tone in ribbon:
        cell = tones[min(width - 1, int(begin * width))]
        assert TONES.index(cell) >= TONES.index(tone)
