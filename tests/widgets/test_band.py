"""The band shows what was done when, and where the end was expected at each height."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.widgets.stage import NASTY, Stage, rows, safe
from widgets.band import Plot, RangeBand, Span, usable

NUMBERS = st.floats(allow_nan=True, allow_infinity=True) | st.floats(-10, 200)
SHARES = st.floats(-1, 2)


def shown(width: int, height: int, **settings: Any) -> RangeBand:
    chart = RangeBand()
    for name, value in settings.items():
        setattr(chart, name, value)
    chart.styles.width, chart.styles.height = width, height
    return chart


def dots(row: str) -> list[int]:
    return [cell for cell, sign in enumerate(row) if 0x2800 < ord(sign) <= 0x28FF]


async def test_the_dots_rise_from_the_lower_left() -> None:
    chart = shown(26, 12, curve=((0.0, 0.0), (50.0, 1.0)), reach=(0.0, 100.0))
    async with Stage(chart).run_test(size=(26, 14)):
        plot = rows(chart)[:-2]
        assert len(plot) == 10
        places = [dots(row) for row in plot]
        assert places[-1][0] == 0
        assert places[0][-1] in {12, 13}
        assert all(upper[0] >= lower[-1] - 1 for upper, lower in pairwise(places))


async def test_in_each_row_the_band_is_what_was_said_when_so_much_was_done() -> None:
    spans = (Span(0.0, 40.0, 70.0, 100.0), Span(0.5, 70.0, 80.0, 90.0))
    chart = shown(20, 10, spans=spans, reach=(0.0, 100.0))
    async with Stage(chart).run_test(size=(20, 12)):
        plot = rows(chart)[:-2]
        for row in plot[:4]:
            assert (row.index("░"), row.rindex("░"), row.index("│")) == (14, 18, 16)
        for row in plot[4:]:
            assert (row.index("░"), row.rindex("░"), row.index("│")) == (8, 19, 14)


async def test_the_present_and_the_end_are_lines() -> None:
    chart = shown(40, 8, curve=((0.0, 0.0), (10.0, 0.1)), reach=(0.0, 100.0), now=50.0, end=80.0)
    async with Stage(chart).run_test(size=(40, 10)) as pilot:
        assert all(row[6 + 17] == "┊" and row[6 + 27] == "┃" for row in rows(chart)[:-2])
        chart.now, chart.end = None, 800.0
        await pilot.pause()
        assert not any("┊" in row or "┃" in row for row in rows(chart))


async def test_the_axes_say_what_they_measure() -> None:
    ticks = ((0.0, "02:00"), (50.0, "04:00"), (500.0, "never"))
    chart = shown(50, 9, curve=((0.0, 0.0), (100.0, 1.0)), reach=(0.0, 100.0), ticks=ticks)
    async with Stage(chart).run_test(size=(50, 11)):
        text = rows(chart)
        assert text[0].startswith("100 % ")
        assert text[3].startswith(" 50 % ")
        assert text[6].startswith("  0 % ")
        assert "02:00" in text[-1]
        assert "04:00" in text[-1]
        assert "never" not in text[-1]


async def test_a_range_that_lies_beyond_the_axis_is_not_drawn_at_its_edge() -> None:
    chart = shown(20, 4, spans=(Span(0.0, 200.0, 300.0, 400.0),), reach=(0.0, 100.0))
    async with Stage(chart).run_test(size=(20, 6)):
        assert not any("░" in row for row in rows(chart))


async def test_without_anything_it_says_so_and_text_is_never_markup() -> None:
    chart = shown(100, 8, nothing=NASTY)
    async with Stage(chart).run_test(size=(100, 10)) as pilot:
        assert "[b]bold[/b]" in rows(chart)[0]
        chart.curve, chart.reach, chart.ticks = ((0.0, 0.5),), (0.0, 1.0), ((0.5, NASTY),)
        await pilot.pause()
        assert all(safe(row) for row in rows(chart))
        assert sum(len(dots(row)) for row in rows(chart)) == 1


@pytest.mark.parametrize("size", [(1, 1), (5, 2), (20, 3), (29, 4), (30, 5), (80, 8), (200, 20)])
async def test_it_fits_every_size(size: tuple[int, int]) -> None:
    spans = (Span(0.0, 40.0, 70.0, 100.0),)
    chart = shown(*size, curve=((0.0, 0.0), (50.0, 1.0)), spans=spans, reach=(0.0, 100.0), ticks=((0.0, "now"),))
    async with Stage(chart).run_test(size=size):
        assert len(rows(chart)) == size[1]
        assert all(cell_len(row) == size[0] for row in rows(chart))


@given(
    st.lists(st.tuples(NUMBERS, SHARES), max_size=20),
    st.lists(
        st.builds(Span, st.floats(0, 1), st.floats(-50, 300), st.floats(-50, 300), st.floats(-50, 300)), max_size=9
    ),
    st.integers(1, 90),
    st.integers(1, 20),
)
@settings(max_examples=200, deadline=None)
def test_any_values_are_drawn_within_the_room(
    curve: list[tuple[float, float]], spans: list[Span], width: int, height: int
) -> None:
    plot = Plot(0.0, 100.0, width, height)
    plot.spans(sorted(spans, key=lambda span: span.share))
    plot.line(50.0, "┊", "now")
    points = usable(curve)
    plot.curve(points)
    assert len(plot.rows) == height
    assert all(len(row) == width and all(len(cell[0]) == 1 for cell in row) for row in plot.rows)
    assert all(0 <= share <= 1 and math.isfinite(at) for at, share in points)
    assert bool(points) == any(cell[1] == "rangeband--curve" for row in plot.rows for cell in row)
