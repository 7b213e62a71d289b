"""A meter shows the parts of what is done, in shapes and not in colours alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.widgets.stage import NASTY, Stage, line, safe
from widgets.meter import Meter, _marked

FIGURES = ("4,200/10,000", "ETA 3h 12m", "6.1M/10M tok", "3 err")


def meter(label: str = "B3_magicoder") -> Meter:
    return Meter(label, 0.5, FIGURES, label_width=14, before=0.2, flight=0.1, state="running", state_width=10, sign="▸")


@pytest.mark.parametrize(
    ("width", "shown", "word"),
    [(20, 1, False), (40, 1, False), (60, 2, True), (80, 4, True), (120, 4, True), (200, 4, True)],
)
async def test_the_bar_shrinks_then_figures_go(width: int, shown: int, word: bool) -> None:
    one = meter()
    async with Stage(one).run_test(size=(width, 3)):
        text = line(one)
        assert cell_len(text) == width
        assert [figure in text for figure in FIGURES] == [index < shown for index in range(len(FIGURES))]
        assert ("running" in text) is word
        assert "▸" in text
        assert text.startswith("B3")


@pytest.mark.parametrize("width", [80, 200])
async def test_parts_have_shapes_in_proportion(width: int) -> None:
    one = meter()
    async with Stage(one).run_test(size=(width, 3)):
        counts = [line(one).count(sign) for sign in "═━╍─"]
        total = sum(counts)
        assert [count / total for count in counts] == pytest.approx([0.2, 0.3, 0.1, 0.4], abs=1.01 / total)


async def test_meters_line_up() -> None:
    meters = [
        meter("B1"),
        meter("B2_a_name_that_is_too_long"),
        Meter("B3", None, FIGURES, label_width=14, state_width=10),
    ]
    async with Stage(*meters).run_test(size=(100, 5)):
        assert len({line(one).index("4,200") for one in meters}) == 1
        assert "B2_a_name_tha…" in line(meters[1])


async def test_unknown_is_not_nothing() -> None:
    one = Meter("B4")
    async with Stage(one).run_test(size=(60, 3)) as pilot:
        assert line(one).rstrip().endswith("--")
        assert "┄" in line(one)
        assert one.has_class("-unknown")
        one.share = 0.0
        await pilot.pause()
        assert line(one).rstrip().endswith("0%")
        assert "┄" not in line(one)
        assert not one.has_class("-unknown")


async def test_done_is_full_and_tone_is_a_class() -> None:
    one = Meter("B1", 1.0, "10,000", tone="good")
    async with Stage(one).run_test(size=(60, 3)) as pilot:
        assert "─" not in line(one)
        assert one.has_class("-good")
        one.tone = "bad"
        await pilot.pause()
        assert one.has_class("-bad")
        assert not one.has_class("-good")


async def test_a_mark_stands_where_it_is_set() -> None:
    one = Meter("", 0.0, "x", mark=0.5)
    async with Stage(one).run_test(size=(42, 3)) as pilot:
        assert line(one).index("┃") == 20
        for outside, at in ((9.0, 39), (-1.0, 0)):
            one.mark = outside
            await pilot.pause()
            assert line(one).index("┃") == at


@given(st.lists(st.text("ab", max_size=5), min_size=1), st.data())
def test_a_mark_takes_one_cell(texts: list[str], data: st.DataObject) -> None:
    bar = "".join(texts)
    at = data.draw(st.integers(0, max(0, len(bar) - 1)))
    marked = "".join(text for text, _ in _marked([(text, "x") for text in texts], at))
    assert marked == (bar[:at] + "┃" + bar[at + 1 :] if bar else "")


async def test_text_is_never_markup() -> None:
    one = Meter(NASTY, 0.3, (NASTY, NASTY), state=NASTY, sign="[")
    async with Stage(one).run_test(size=(200, 3)):
        assert "[b]bold[/b]" in line(one)
        assert safe(line(one))
