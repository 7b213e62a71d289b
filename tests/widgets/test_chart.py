"""A chart draws each column whole, keeps peaks, dips and gaps, and says what its scale and its edges are."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.widgets.stage import NASTY, WIDTHS, Stage, rows, safe
from widgets.chart import BLANK, Chart, below, plot, short


def dots(lines: list[str]) -> list[list[int]]:
    """The heights of the dots in each column of dots, 0 the lowest."""
    height = len(lines) * 4
    found: list[list[int]] = [[] for _ in range(len(lines[0]) * 2)]
    bits = {
        0x01: (0, 0),
        0x02: (0, 1),
        0x04: (0, 2),
        0x40: (0, 3),
        0x08: (1, 0),
        0x10: (1, 1),
        0x20: (1, 2),
        0x80: (1, 3),
    }
    for row, line in enumerate(lines):
        for cell, character in enumerate(line):
            for bit, (across, down) in bits.items():
                if ord(character) - BLANK & bit:
                    found[cell * 2 + across].append(height - 1 - (row * 4 + down))
    return [sorted(column) for column in found]


def test_a_level_figure_is_a_level_line() -> None:
    assert dots(plot([(5.0, 5.0)] * 8, 4, 2, 0.0, 10.0)) == [[4]] * 8


def test_least_and_greatest_are_the_ends_of_a_column() -> None:
    assert plot([(0.0, 7.0)], 1, 2, 0.0, 7.0) == ["⣿", "⣿"]
    assert dots(plot([(2.0, 4.0), (2.0, 2.0)], 1, 2, 0.0, 7.0)) == [[2, 3, 4], [2]]


def test_a_line_is_joined_and_a_gap_is_not() -> None:
    steep = dots(plot([(0.0, 0.0), (7.0, 7.0)], 1, 2, 0.0, 7.0))
    assert steep == [[0], [1, 2, 3, 4, 5, 6, 7]]
    gap = dots(plot([(0.0, 0.0), None, (7.0, 7.0), None], 2, 2, 0.0, 7.0))
    assert gap == [[0], [], [7], []]


def test_of_many_columns_none_is_lost() -> None:
    columns: list[tuple[float, float] | None] = [(5.0, 5.0)] * 1000
    columns[301], columns[777] = (0.0, 5.0), (5.0, 9.0)
    drawn = dots(plot(columns, 10, 3, 0.0, 9.0))
    assert min(min(column) for column in drawn) == 0
    assert max(max(column) for column in drawn) == 11
    assert len([column for column in drawn if column]) == 20


COLUMN = st.one_of(st.none(), st.tuples(st.floats(), st.floats()))


@given(st.lists(COLUMN, max_size=60), st.integers(0, 40), st.integers(0, 8), st.floats(), st.floats())
def test_any_figures_fill_exactly_the_room(
    columns: list[tuple[float, float] | None], width: int, height: int, bottom: float, top: float
) -> None:
    lines = plot(columns, width, height, bottom, top)
    assert len(lines) == (height if width and height else 0)
    assert all(len(line) == width and all(BLANK <= ord(c) < BLANK + 256 for c in line) for line in lines)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_figure_of_the_scale_is_short(value: float) -> None:
    assert len(short(value)) <= 8


@pytest.mark.parametrize(
    ("value", "said"), [(865.4, "865"), (0.0, "0"), (12.34, "12.3"), (18_431.0, "18k"), (2.4e7, "24M")]
)
def test_figures_of_the_scale(value: float, said: str) -> None:
    assert short(value) == said


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("height", [1, 2, 4, 9])
async def test_it_fills_its_room_and_no_more(width: int, height: int) -> None:
    chart = Chart(id="chart")
    async with Stage(chart).run_test(size=(width, 12)) as pilot:
        chart.styles.height = height
        chart.columns = tuple((800.0 + step % 7, 860.0 + step % 5) for step in range(300))
        chart.title, chart.note = "846 tok/s · usual 845", "1 h · min 812, max 865"
        chart.begins, chart.ends = "02:19", "now"
        await pilot.pause()
        lines = rows(chart)
        assert len(lines) == height
        assert all(cell_len(line) <= width for line in lines)
        if height > 1:
            assert lines[0].startswith("846 tok/s")
            assert ("max 865" in lines[0]) is (width >= 80)
        if height > 3:
            assert lines[1].startswith("864┤")
            assert lines[-2].startswith("  0┤")
            assert lines[-1].strip().startswith("02:19")
            assert lines[-1].rstrip().endswith("now")


@pytest.mark.parametrize("columns", [(), (None, None), ((math.nan, math.inf),), ((5.0, 5.0),), ((-1e308, 1e308),)])
async def test_it_draws_nothing_and_everything(columns: tuple[tuple[float, float] | None, ...]) -> None:
    chart = Chart()
    async with Stage(chart).run_test(size=(40, 8)) as pilot:
        chart.columns, chart.title, chart.note, chart.begins = columns, NASTY, NASTY, NASTY
        await pilot.pause()
        assert safe("\n".join(rows(chart)))
        assert all(cell_len(line) <= 40 for line in rows(chart))


def test_what_lies_below_the_curve_is_told_apart_and_a_gap_has_nothing_below() -> None:
    lines = plot([(1.0, 1.0), (1.0, 1.0), None, None, (0.0, 0.0), (0.0, 0.0)], 3, 2, 0.0, 1.0)
    assert ["".join(text for text, _ in row) for row in below(lines)] == lines
    assert [[(len(text), under) for text, under in row] for row in below(lines)] == [
        [(3, False)],
        [(1, True), (2, False)],
    ]
    assert below([]) == []
