"""Text is made safe, cut and padded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.widgets.stage import NASTY, safe
from widgets.plain import LINE_LIMIT, clean, column, fit, measured, widest

ANY = st.text(alphabet=st.characters(exclude_categories=()), max_size=60)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x07", "link"),
        ("\x1b]0;a title without an end", ""),
        ("\x1bcreset", "reset"),
        ("a\tb", "a    b"),
        ("a\r\nb", "a  b"),
        ("bell\x07", "bell\ufffd"),
        ("\x9b31m", "\ufffd31m"),
        ("ab\u202ecd", "ab\ufffdcd"),
        ("half\ud800", "half\ufffd"),
        ("zero\u200bwidth", "zerowidth"),
        ("[b]not markup[/b]", "[b]not markup[/b]"),
        ("漢字 é", "漢字 é"),
    ],
)
def test_clean(text: str, expected: str) -> None:
    assert clean(text) == expected


def test_clean_cuts_long_text_and_says_so() -> None:
    assert clean("x" * 1_000_000) == "x" * (LINE_LIMIT - 1) + "…"
    assert clean("x" * LINE_LIMIT) == "x" * LINE_LIMIT


@given(ANY)
def test_nothing_unsafe_passes(text: str) -> None:
    assert safe(clean(text))
    assert "\n" not in clean(text)
    assert widest(text) >= cell_len(clean(text))
    assert measured(text) == (clean(text), cell_len(clean(text)))


@given(ANY)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text, 40), 200) == clean(text, 40)


@given(ANY.map(clean), st.integers(0, 80))
def test_fit_and_column_keep_the_width(text: str, cells: int) -> None:
    assert cell_len(fit(text, cells)) <= cells
    assert cell_len(column(text, cells)) == cells
    if cell_len(text) <= cells:
        assert fit(text, cells) == text
        assert column(text, cells).startswith(text)


def test_fit_marks_what_it_cut() -> None:
    assert fit("B3_magicoder", 4) == "B3_…"
    assert fit("漢字漢字", 4) == "漢…"
    assert fit("abc", 0) == ""


def test_the_sample_of_nastiness_is_met() -> None:
    assert safe(clean(NASTY))
