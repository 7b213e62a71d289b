"""Access lines are left out without a look at each, and nothing else is; lines in one text are the lines."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.job.access import is_access, others
from console.job.events import LogLine, Source
from console.job.lines import Lines, LineSplitter
from console.job.plan import Plan
from console.job.tracker import Tracker

SEEN = datetime(2026, 12, 1, tzinfo=UTC)
ACCESS = 'INFO:     127.0.0.1:40112 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
DECODE = (
    "[2026-11-30 03:00:01] Decode batch, #running-req: 5, #token: 48, token usage: 0.82, "
    "gen throughput (token/s): 846.33, #queue-req: 98"
)
PIECES = st.sampled_from([ACCESS, ACCESS, ACCESS, DECODE, " batch", "batch", "x" * 140, "plain", "", " ", "漢", "\x01"])
LINES = st.lists(st.lists(PIECES, max_size=3).map("".join).filter(lambda line: "\n" not in line), max_size=12)


def as_text(lines: list[str]) -> Lines:
    return Lines("".join(f"{line}\n" for line in lines))


@given(LINES)
@settings(max_examples=500)
def test_in_one_text_the_same_lines_are_others(lines: list[str]) -> None:
    assert others(as_text(lines)) == others(lines)


@given(LINES)
def test_what_is_left_out_says_nothing_and_what_is_glued_stays(lines: list[str]) -> None:
    kept = {place for place, _ in others(as_text(lines))}
    assert all(is_access(line) for place, line in enumerate(lines) if place not in kept)
    assert all(place in kept for place, line in enumerate(lines) if DECODE in line)


@given(LINES, st.slices(14))
def test_lines_in_one_text_are_a_sequence(lines: list[str], part: slice) -> None:
    text = as_text(lines)
    assert text[part] == lines[part]
    assert (len(text), list(text), text.all()) == (len(lines), lines, lines)
    assert text[part] == lines[part]


@pytest.mark.parametrize("number", range(20, 28))
def test_a_line_at_the_bound_is_kept_whole_and_one_beyond_is_cut(number: int) -> None:
    for before in ("", "a\n", "b\n" * 40):
        (*_, last) = LineSplitter(24).feed(f"{before}{'y' * number}\nend\n".encode())[:-1]
        assert last == ("y" * number if number <= 24 else f"{'y' * 24}…[{number - 24} bytes cut]")


@given(LINES, st.lists(st.integers(0, 2_000), max_size=6))
@settings(max_examples=200, deadline=None)
def test_counts_and_rows_of_a_log_of_access_lines(lines: list[str], cuts: list[int]) -> None:
    data = as_text(lines).text.encode()
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    tracker = Tracker(Plan())
    rows: list[LogLine] = []
    for here, there in itertools.pairwise(edges):
        rows += tracker.feed(Source.SERVER, data[here:there], SEEN)
    clean = [line.replace("\x01", "") for line in lines]
    assert [row.text for row in rows] == clean
    counted = next((log.lines for log in tracker.snapshot(SEEN).logs if log.source == "server"), 0)
    assert counted == sum(bool(line.strip()) for line in clean)
