"""One line is shared fairly, and a bar never says more than is true."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from widgets.row import BAR_LEAST, cells, known, percent, plan

WORD = st.text("abc漢 ", max_size=14)


@given(st.integers(0, 200), WORD, WORD, st.lists(WORD, max_size=5), st.text("✓漢", max_size=1))
def test_a_plan_fits(width: int, label: str, word: str, figures: list[str], short: str) -> None:
    row = plan(width, label, word, figures, short)
    parts = [row.label, row.word, "x" * row.bar, "  ".join(row.figures)]
    assert cell_len(" ".join(part for part in parts if part)) <= max(0, width)
    given_figures = [figure for figure in figures if figure]
    if len(row.figures) > 1:
        assert list(row.figures) == given_figures[: len(row.figures)]
        assert row.bar >= BAR_LEAST


@pytest.mark.parametrize(
    ("width", "word", "figures", "has_bar"),
    [
        (80, "✓ done", ("10/10", "ETA 3h", "6.1M tok"), True),
        (44, "✓ done", ("10/10", "ETA 3h"), True),
        (32, "✓ done", ("10/10",), True),
        (22, "✓", ("10/10",), True),
        (17, "✓", ("10/10",), False),
        (10, "", ("10/10",), False),
        (4, "", ("10/…"[-4:],), False),
    ],
)
def test_what_gives_way_in_which_order(width: int, word: str, figures: tuple[str, ...], has_bar: bool) -> None:
    row = plan(width, "B1_glaive", "✓ done", ("10/10", "ETA 3h", "6.1M tok"), short="✓")
    assert (row.word, row.figures) == (word, figures)
    assert (row.bar > 0) is has_bar


SHARE = st.floats(allow_nan=False)


@given(st.integers(0, 200), st.lists(SHARE, max_size=5))
def test_cells_never_exceed_the_bar(width: int, ends: list[float]) -> None:
    counts = cells(width, ends)
    assert len(counts) == len(ends)
    assert all(count >= 0 for count in counts)
    assert sum(counts) <= width
    assert sum(cells(width, [*ends, 1.0])) == width


@given(st.integers(1, 200), st.integers(0, 83_287))
def test_a_bar_is_full_only_when_all_is_done(width: int, done: int) -> None:
    assert cells(width, (done / 83_288,)) < (width,)
    assert cells(width, (1.0,)) == (width,)


@given(st.integers(1, 200))
def test_a_whole_number_of_cells_is_not_lost_to_rounding(width: int) -> None:
    assert all(cells(width, (part / width,)) == (part,) for part in range(width + 1))


def test_percent_is_rounded_down() -> None:
    assert percent(0.99999) == "99%"
    assert percent(0.29) == "29%"
    assert percent(1.0) == "100%"


def test_what_is_not_a_finite_number_is_not_known() -> None:
    assert known(float("nan")) is known(float("inf")) is known(None) is None
    assert known(0.0) == 0.0
