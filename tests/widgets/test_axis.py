"""Scales: values find their cells, and labels never overlap."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from widgets.axis import cell_of, decades, labels, short
from widgets.plain import paragraph


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0"), (7, "7"), (950, "950"), (999.9, "1k"), (1_000, "1k"), (2_500, "2.5k"), (10_240, "10.2k"), (1e7, "10M")],
)
def test_figures_of_an_axis_are_short(value: float, said: str) -> None:
    assert short(value) == said


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9), st.floats(-1e9, 1e9), st.integers(1, 300))
def test_every_value_has_a_cell(value: float, low: float, high: float, width: int) -> None:
    assert 0 <= cell_of(value, low, high, width) < width


@given(st.floats(0.001, 1e6), st.floats(1, 1e6))
def test_round_figures_lie_on_the_scale_and_tens_come_first(low: float, ratio: float) -> None:
    found = decades(low, low * ratio)
    assert all(low <= value <= low * ratio for value in found)
    assert len(set(found)) == len(found)
    tens = [abs(math.log10(value) - round(math.log10(value))) < 1e-9 for value in found]
    assert tens == sorted(tens, reverse=True)


@given(st.integers(0, 120), st.lists(st.tuples(st.integers(-3, 130), st.text("ab漢", max_size=9)), max_size=20))
def test_labels_fit_and_leave_gaps(width: int, wanted: list[tuple[int, str]]) -> None:
    row, marked = labels(width, wanted)
    assert cell_len(row) == width
    assert marked == sorted(set(marked))
    assert all(0 <= cell < width for cell in marked)


def test_the_first_label_wins() -> None:
    assert labels(12, [(6, "noon"), (7, "one"), (0, "0")]) == ("0   noon    ", [0, 6])


@given(st.text("ab 漢", max_size=80), st.integers(0, 30), st.integers(0, 5))
def test_a_paragraph_keeps_within_its_room(text: str, cells: int, rows: int) -> None:
    lines = paragraph(text, cells, rows).split("\n")
    assert len(lines) <= max(1, rows)
    assert all(cell_len(line) <= cells for line in lines)


def test_a_paragraph_says_that_something_is_cut() -> None:
    assert paragraph("one two three four", 7, 2) == "one two\nthree…"
    assert paragraph("one two", 7, 2) == "one two"
