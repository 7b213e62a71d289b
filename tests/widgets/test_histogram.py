"""A histogram shows what is finished and what is not in different shapes, and stays within its room."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.widgets.stage import NASTY, Stage, rows, safe
from widgets.histogram import Bin, Histogram, Mark, bars, legend_row, picture, reach_of, spread, usable

BINS = tuple(Bin(10.0 * 2**place, 20.0 * 2**place, float(count)) for place, count in enumerate((1, 4, 16, 8, 2)))
"""From 10 to 320."""

NUMBERS = st.floats(allow_nan=True, allow_infinity=True) | st.floats(0, 1e6)
ANY_BINS = st.lists(st.builds(Bin, NUMBERS, NUMBERS, NUMBERS, NUMBERS), max_size=30)
ANY_MARKS = st.lists(st.builds(Mark, NUMBERS, st.text(max_size=2), st.text(max_size=20)), max_size=4)


def shown(width: int, height: int, **settings: Any) -> Histogram:
    chart = Histogram()
    for name, value in settings.items():
        setattr(chart, name, value)
    chart.styles.width, chart.styles.height = width, height
    return chart


async def test_heights_are_counts_and_the_scale_is_of_ratios() -> None:
    chart = shown(66, 10, bins=BINS)
    async with Stage(chart).run_test(size=(66, 12)):
        text = rows(chart)
        plot = [row[6:] for row in text[:-2]]
        heights = [sum(row[cell] == "█" for row in plot) for cell in (6, 18, 30, 42, 54)]
        assert heights[2] == len(plot)
        assert heights[3] == len(plot) // 2
        assert heights[1] == len(plot) // 4
        assert all(row[0] != " " for row in plot[-1:]), "one in a bin is seen as well"
        assert text[0].startswith("   16 ")


async def test_the_axis_names_round_figures_with_the_unit() -> None:
    chart = shown(66, 10, bins=BINS, unit="tok")
    async with Stage(chart).run_test(size=(66, 12)):
        line, figures = rows(chart)[-2:]
        assert line.count("┴") >= 3
        assert "tok" in figures
        assert "100" in figures
        assert abs(figures.index("100") + 3 - (6 + 60 * math.log(100 / 10) / math.log(32))) <= 1


async def test_what_is_not_finished_stands_on_top_in_another_shape() -> None:
    chart = shown(30, 6, bins=(Bin(10, 100, 4, 0), Bin(100, 1_000, 4, 4), Bin(1_000, 10_000, 0, 2)))
    async with Stage(chart).run_test(size=(30, 8)):
        plot = rows(chart)[:-2]
        columns = [[row[cell] for row in plot] for cell in (5, 15, 25)]
        assert columns[0] == [" ", " ", "█", "█"]
        assert columns[1] == ["░", "░", "█", "█"]
        assert columns[2] == [" ", " ", " ", "░"]


async def test_marks_stand_where_they_are_and_are_named_above() -> None:
    marks = (Mark(320.0, "┃", "cap 320 tok"), Mark(100.0, "▼", "mean 100 tok"), Mark(float("nan"), "?", "nothing"))
    chart = shown(66, 10, bins=BINS, marks=marks)
    async with Stage(chart).run_test(size=(66, 12)):
        text = rows(chart)
        assert text[0].rstrip() == "┃ cap 320 tok  ▼ mean 100 tok"
        assert text[1].rstrip().endswith("┃")
        assert text[1].index("▼") == 6 + int(60 * math.log(10) / math.log(32))


async def test_a_scale_with_ends_of_its_own_keeps_still() -> None:
    chart = shown(66, 10, bins=BINS, reach=(1.0, 1_000.0), unit="tok")
    async with Stage(chart).run_test(size=(66, 12)) as pilot:
        figures = rows(chart)[-1]
        assert figures.rstrip().endswith("1k")
        assert figures.split()[0] == "1"
        first = rows(chart)[0].index("█")
        assert abs(first - (6 + 60 * math.log(40) / math.log(1_000))) <= 1  # the greatest count is that of 40 to 80
        chart.bins = (Bin(2.0, 4.0, 1.0), *BINS, Bin(500.0, 900.0, 1.0))
        await pilot.pause()
        assert rows(chart)[-1] == figures
        assert rows(chart)[0].index("█") == first
        chart.bins = (*BINS, Bin(5_000.0, 9_000.0, 1.0))  # nothing is left out
        await pilot.pause()
        assert rows(chart)[-1] != figures


def test_what_is_shown_has_ends() -> None:
    assert reach_of((), ()) is None
    assert reach_of(BINS, ()) == (10.0, 320.0)
    assert reach_of(BINS, (Mark(900.0, "|", "cap"), Mark(math.nan, "|", ""))) == (10.0, 900.0)
    assert reach_of((Bin(0.0, 5.0, 1.0),), ()) == (1.0, 5.0)


async def test_without_counts_it_says_so() -> None:
    chart = shown(20, 4, nothing="No completion has come so far, so wait.")
    async with Stage(chart).run_test(size=(20, 6)) as pilot:
        assert [row.rstrip() for row in rows(chart)][:3] == ["No completion has", "come so far, so", "wait."]
        chart.bins = BINS
        await pilot.pause()
        assert "█" in "".join(rows(chart))


async def test_text_is_never_markup() -> None:
    chart = shown(100, 8, bins=BINS, marks=(Mark(50.0, "[", NASTY),), unit=NASTY)
    async with Stage(chart).run_test(size=(100, 10)):
        assert "[b]bold[/b]" in rows(chart)[0]
        assert all(safe(row) for row in rows(chart))


@pytest.mark.parametrize("size", [(1, 1), (5, 2), (20, 3), (39, 5), (40, 6), (80, 8), (200, 20)])
async def test_it_fits_every_size(size: tuple[int, int]) -> None:
    chart = shown(*size, bins=BINS, marks=(Mark(90.0, "▼", "mean 90 tok"),), unit="tok")
    async with Stage(chart).run_test(size=size):
        assert len(rows(chart)) == size[1]
        assert all(cell_len(row) <= size[0] for row in rows(chart))


@given(ANY_BINS, ANY_MARKS, st.integers(1, 120), st.integers(1, 14))
@settings(max_examples=200, deadline=None)
def test_any_values_are_drawn_within_the_room(bins: list[Bin], marks: list[Mark], width: int, height: int) -> None:
    kept = usable(bins)
    known = [Mark(mark.at, mark.sign[:1] or "|", "m") for mark in marks if 0 < mark.at <= 1e15]
    if not kept:
        return
    drawn = picture(kept, known, width, height, "tok")
    assert len(drawn) <= height
    for row in drawn:
        assert sum(1 if part.endswith(("whole", "part")) else cell_len(text) for text, part in row) <= width + len(
            known
        )


@given(
    st.lists(st.tuples(st.floats(1, 1e5), st.floats(1.01, 5), st.floats(0, 1e6)), min_size=1, max_size=20),
    st.integers(1, 200),
)
def test_columns_have_the_counts_of_their_bins(found: list[tuple[float, float, float]], room: int) -> None:
    bins = [Bin(low, low * ratio, count) for low, ratio, count in found]
    low, high = math.log(min(one.low for one in bins)), math.log(max(one.high for one in bins))
    columns = spread(bins, low, high, room)
    area = sum(whole for whole, _ in columns) * (high - low) / room
    assert area == pytest.approx(sum(one.whole * math.log(one.high / one.low) for one in bins), rel=1e-6, abs=1e-6)


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)), max_size=40), st.integers(1, 20))
def test_bars_are_as_high_as_the_plot_at_most(columns: list[tuple[float, float]], height: int) -> None:
    drawn = bars(columns, height)
    assert len(drawn) == height
    assert all(len(row) == len(columns) for row in drawn)
    for place, (whole, part) in enumerate(columns):
        column = [row[place][0] for row in drawn]
        assert (whole > 0 or part > 0) == any(cell != " " for cell in column)


@given(st.lists(st.text("ab 漢", max_size=12), max_size=6), st.integers(0, 60))
def test_the_legend_names_as_many_marks_as_fit(names: list[str], width: int) -> None:
    assert cell_len(legend_row([Mark(1.0, "▼", name) for name in names], width)) <= width
