"""The buffer is bounded, and its shown lines are always those of the kept ones that pass."""

from __future__ import annotations

import re
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from widgets.log_buffer import MAX_LINES, SIGNS, LogBuffer, LogText
from widgets.plain import LINE_LIMIT, clean

TEXT = st.text(st.sampled_from("ab\t漢\x1b[31m"), max_size=6)
LINES = st.lists(st.builds(LogText, TEXT, st.sampled_from(sorted(SIGNS)), st.sampled_from(["", "03:19"])), max_size=8)
STEPS = st.lists(LINES | st.sampled_from([None, re.compile("a"), re.compile("^b|漢"), "clear"]), max_size=10)


@given(st.integers(1, 6), STEPS)
def test_shown_is_what_passes_of_what_is_kept(
    most: int, steps: list[list[LogText] | re.Pattern[str] | str | None]
) -> None:
    buffer = LogBuffer(most)
    kept: list[LogText] = []
    pattern: re.Pattern[str] | None = None
    for step in steps:
        before = len(buffer.shown)
        if isinstance(step, list):
            kept = [*kept, *step][-most:]
            change = buffer.add(step)
            assert len(buffer.shown) == before + change.came - change.gone
        elif isinstance(step, str):
            kept = []
            buffer.clear()
        else:
            pattern = step
            buffer.choose(pattern)
        assert list(buffer.kept) == kept
        assert list(buffer.shown) == [line for line in kept if pattern is None or pattern.search(clean(line.text))]


@given(LINES)
def test_no_line_is_wider_than_said(lines: list[LogText]) -> None:
    buffer = LogBuffer()
    buffer.add(lines)
    drawn = [f"{line.stamp} " * bool(line.stamp) + SIGNS[line.level] + clean(line.text) for line in lines]
    assert buffer.width >= max(map(cell_len, drawn), default=0)


def test_the_same_line_many_times() -> None:
    line = LogText("again")
    buffer = LogBuffer(3)
    change = buffer.add([line] * 5)
    assert (change.came, change.gone, len(buffer.shown)) == (5, 2, 3)


def test_long_text_costs_nothing_to_keep() -> None:
    buffer = LogBuffer()
    line = LogText("\x1b[31m漢" * 300_000)
    tracemalloc.start()
    buffer.add([line] * (MAX_LINES // 10))
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Four bytes a character is the widest that text is stored; a tenth more for the objects around it.
    assert used < (MAX_LINES // 10) * LINE_LIMIT * 4 * 1.1
    assert all(len(kept.text) <= LINE_LIMIT + 1 for kept in buffer.kept)
