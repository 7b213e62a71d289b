"""Lines of several rows: found by row, dropped at the start, broken without losing a character."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from widgets.log_rows import Rows, breaks, part, rows_of

HEIGHTS = st.lists(st.integers(1, 4), max_size=12)


@given(st.lists(st.tuples(HEIGHTS, st.integers(0, 15)), max_size=6))
def test_each_row_belongs_to_its_line(steps: list[tuple[list[int], int]]) -> None:
    rows = Rows()
    kept: list[int] = []
    for heights, dropped in steps:
        rows.extend(heights)
        kept += heights
        assert rows.drop(dropped) == sum(kept[:dropped])
        kept = kept[dropped:]
        assert len(rows) == sum(kept)
        expected = [(line, place) for line, tall in enumerate(kept) for place in range(tall)]
        assert [rows.at(row) for row in range(len(rows))] == expected
        assert [rows.row_of(line) for line in range(len(kept))] == [sum(kept[:line]) for line in range(len(kept))]


def test_dropping_for_days_keeps_little() -> None:
    rows = Rows()
    for _ in range(100):
        rows.extend([2] * 1_000)
        rows.drop(1_000 if len(rows) > 2_000 else 0)
    assert len(rows._ends) < 7_000
    assert rows.at(len(rows) - 1) == (999, 1)


@given(st.text(st.characters(exclude_categories=["C"]), max_size=60), st.integers(4, 20), st.integers(0, 2))
def test_breaking_loses_no_character_and_fits(text: str, width: int, indent: int) -> None:
    places = breaks(text, width, indent)
    pieces = [text[start:end] for start, end in places]
    assert "".join(pieces) == text
    assert cell_len(pieces[0]) <= width
    assert all(cell_len(piece) <= width - indent for piece in pieces[1:])
    if text.isascii():
        assert len(places) == rows_of(len(text), width, indent)


@given(st.lists(st.text("ab", max_size=5), max_size=5), st.integers(0, 12), st.integers(0, 12))
def test_a_part_of_pieces_is_a_part_of_the_text(texts: list[str], start: int, end: int) -> None:
    pieces = [(text, str(place)) for place, text in enumerate(texts)]
    assert "".join(text for text, _ in part(pieces, start, end)) == "".join(texts)[start : max(start, end)]
