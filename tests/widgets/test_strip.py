"""A strip draws stretches, tones and pins on one span at any width, and asks for the place that is clicked."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.widgets.stage import NASTY, WIDTHS, Stage, line, rows, safe
from widgets.row import place_of
from widgets.scrub import CURSOR, SIGNS, TONES
from widgets.strip import AHEAD, BORDER, MIDDLE, NOW, RANGE, Picture, Pin, Stretch, Strip, axis, named, ribbon

RUN = Picture(
    stretches=(
        Stretch(0.0, 0.1, "B1_glaive", "✓"),
        Stretch(0.1, 0.5, "B2_dialogue", "▶"),
        Stretch(0.5, 1.0, "B3_magicoder", "·"),
    ),
    ribbon=((0.0, "good"), (0.2, "warn"), (0.25, "good")),
    now=0.4,
    ahead=(0.7, 0.85, 0.99),
    pins=(Pin(0.2, "n"), Pin(0.3, "x", "bad")),
    left="02:00",
    middle="now",
    right="Wed 14:20",
)


def strip_of(picture: Picture = RUN, value: float | None = None) -> Strip:
    strip = Strip()
    strip.picture, strip.value = picture, value
    return strip


def text(row: list[tuple[str, str]]) -> str:
    return "".join(sign for sign, _ in row)


@pytest.mark.parametrize("width", WIDTHS)
async def test_three_rows_fill_the_width(width: int) -> None:
    strip = strip_of()
    async with Stage(strip).run_test(size=(width, 5)):
        drawn = rows(strip)
        assert [cell_len(row) for row in drawn] == [width] * 3
        assert drawn[0].count(BORDER) == 3
        assert drawn[1].index(NOW) / width == pytest.approx(0.4, abs=1.5 / width)
        assert width < 80 or drawn[2].startswith("02:00")
        assert drawn[2].rstrip().endswith("Wed 14:20")


def test_what_is_behind_now_is_told_apart_from_what_is_ahead() -> None:
    row = text(ribbon(RUN, 100))
    assert row == SIGNS["good"] * 20 + SIGNS["warn"] * 5 + SIGNS["good"] * 15 + NOW + AHEAD * 29 + (
        RANGE * 15 + MIDDLE + RANGE * 14
    )


def test_without_an_end_the_ribbon_ends_with_now() -> None:
    row = text(ribbon(Picture(ribbon=((0.0, "good"),)), 20))
    assert row == SIGNS["good"] * 20


def test_names_stand_where_their_stretches_begin_and_are_cut_where_they_end() -> None:
    row = text(named(RUN, 60))
    assert row.split(BORDER) == ["", "B1_g…", f"{'▶ B2_dialogue':<23}", f"{'· B3_magicoder':<29}"]
    assert cell_len(row) == 60


def test_a_name_comes_before_its_sign_where_there_is_little_room() -> None:
    assert text(named(Picture((Stretch(0.0, 0.2, "B1_glaive", "✓"),)), 30)) == f"{BORDER}B1_g…" + " " * 24


def test_stretches_in_one_cell_leave_room_for_the_last() -> None:
    together = Picture((Stretch(0, 0, "A"), Stretch(0, 0, "B"), Stretch(0, 1, "C")))
    assert text(named(together, 20)).rstrip() == f"{BORDER}C"


def test_of_two_pins_in_a_cell_the_graver_is_drawn() -> None:
    pins = (Pin(0.5, "x", "bad"), Pin(0.5, "n", "good"))
    assert text(axis(Picture(pins=pins), 21))[10] == "x"


def test_words_of_the_axis_give_way_to_pins() -> None:
    row = text(axis(Picture(pins=(Pin(0.0, "J"),), left="02:00", right="14:20"), 40))
    assert row[:8] == "J 02:00 "
    crowded = tuple(Pin(place / 40, "J") for place in range(12))
    assert "02:00" not in text(axis(Picture(pins=crowded, left="02:00", right="14:20"), 40))
    assert row.endswith("14:20")


@pytest.mark.parametrize(("value", "drawn"), [(0.0, 1), (1.0, 1), (7.0, 1), (None, 0), (math.nan, 0)])
async def test_a_place_that_is_not_known_is_not_drawn(value: float | None, drawn: int) -> None:
    strip = strip_of(value=value)
    async with Stage(strip).run_test(size=(80, 5)):
        assert line(strip, 1).count(CURSOR) == drawn


async def test_a_click_asks_for_its_place() -> None:
    class Asking(Stage):
        asked: list[float] = []  # noqa: RUF012 - one app, one list

        def on_strip_asked(self, event: Strip.Asked) -> None:
            assert event.control is event.strip
            self.asked.append(event.share)

    strip = strip_of()
    app = Asking(strip)
    async with app.run_test(size=(81, 5)) as pilot:
        for column in (0, 40, 80):
            await pilot.click(strip, offset=(column, 1))
        assert app.asked == [0.0, 0.5, 1.0]


async def test_text_from_outside_is_data() -> None:
    nasty = Picture((Stretch(0, 1, NASTY, NASTY),), pins=(Pin(0.5, NASTY),), left=NASTY, middle=NASTY, right=NASTY)
    strip = strip_of(nasty)
    async with Stage(strip).run_test(size=(200, 5)):
        assert all(safe(row) for row in rows(strip))


shares = st.floats(-0.5, 1.5) | st.just(math.nan)
words = st.text(max_size=12) | st.sampled_from(["漢字漢字", "é", ""])


pictures = st.builds(
    Picture,
    st.lists(st.builds(Stretch, shares, shares, words, st.sampled_from(["", "✓", "漢"])), max_size=8).map(tuple),
    st.lists(st.tuples(st.floats(0, 1), st.sampled_from(TONES)), max_size=6).map(sorted).map(tuple),
    shares,
    st.none() | st.tuples(shares, shares, shares),
    st.lists(st.builds(Pin, shares, words, st.sampled_from(TONES)), max_size=6).map(tuple),
    words,
    words,
    words,
)


@given(st.integers(0, 130), pictures)
def test_any_picture_fits_any_width(width: int, picture: Picture) -> None:
    for row in (named(picture, width), ribbon(picture, width), axis(picture, width)):
        assert len(row) == width
        assert cell_len(text(row)) == width
    place = place_of(picture.now, width)
    assert place is None or 0 <= place < width
