"""What is looked for: a pattern or its absence, and where it stands in a line."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from widgets.log_find import MOST_SPANS, Without, marked, spans

TEXT = st.text(st.sampled_from("ab 漢"), max_size=30)
PATTERNS = st.sampled_from([re.compile(p) for p in ("a", "b+", "", "a|漢", "^ab", "x*")])


def test_an_absence_is_the_opposite_of_its_pattern() -> None:
    absent = Without(re.compile("err"))
    assert absent.pattern == "!err"
    assert absent.search("all is well") is not None
    assert absent.search("an err or two") is None
    assert spans(absent, "an err or two") == []


@given(TEXT, PATTERNS)
def test_marking_keeps_the_text(text: str, pattern: re.Pattern[str]) -> None:
    pieces = marked(text, pattern, "plain", "found")
    assert "".join(piece for piece, _ in pieces) == text
    found = [piece for piece, name in pieces if name == "found"]
    assert found == [match[0] for match in pattern.finditer(text) if match[0]]


def test_few_places_are_marked_in_a_line_of_many() -> None:
    assert len(spans(re.compile("a"), "a" * 2_000)) == MOST_SPANS
    assert marked("text", None, "plain", "found") == [("text", "plain")]
