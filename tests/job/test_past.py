"""The past of several files: whatever the turns in which they are read, it is as if each line had come when written."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from console.job.events import Source
from console.job.part_order import PATIENCE
from console.job.past import PastTracker
from console.job.plan import Plan
from console.job.tracker import Tracker
from tests.job.server_lines import DECODE

if TYPE_CHECKING:
    from console.job.server_state import ServerState

START = datetime(2026, 2, 24, tzinfo=UTC)
NOW = START + timedelta(days=2)
PARTS = ("a", "b", "c")
BARE = ("NCCL version 2.21.5+cuda12.4", "", 'INFO:     127.0.0.1:40000 - "GET /health HTTP/1.1" 200 OK')
TEXTS = (
    *[DECODE.replace("#running-req: 50", f"#running-req: {count}") for count in range(40, 60)],
    "KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio: 0.6012 -> 0.7021",
    "server_args=ServerArgs(model_path='/srv/llm/big', tp_size=8, port=30000, version='0.5.6')",
    "Scheduler hit an exception: Traceback (most recent call last):",
    *BARE,
)
Written = list[tuple[str, str]]


@st.composite
def logs(draw: st.DrawFn) -> Written:
    """Lines in the order in which the processes write them: the file of each, and the line."""
    at, lines = START, []
    for part, passes_s, text in draw(
        st.lists(st.tuples(st.sampled_from(PARTS), st.integers(1, 3_000), st.sampled_from(TEXTS)), max_size=60)
    ):
        at += timedelta(seconds=passes_s)
        lines.append((part, text if text in BARE else f"[{at:%Y-%m-%d %H:%M:%S} DP{PARTS.index(part)}] {text}"))
    return lines


def without_eyes(state: ServerState) -> ServerState:
    """What does not depend on when a line was seen."""
    return replace(state, reported_seen_at=None, progressed_seen_at=None, trouble_seen_at=None)


def read_by_turns(files: dict[str, bytes], sizes: list[int]) -> PastTracker:
    past, at = PastTracker(Plan(), parts=PARTS), dict.fromkeys(files, 0)
    turn = 0
    while unread := [part for part, data in files.items() if at[part] < len(data)]:
        for part in files:
            past.feed(Source.SERVER, b"", NOW, part=part, more=part in unread)
        part, size = past.next_of(unread), sizes[turn % len(sizes)]
        past.feed(Source.SERVER, files[part][at[part] : at[part] + size], NOW, part=part, more=True)
        at[part] += size
        turn += 1
    for part in files:
        past.feed(Source.SERVER, b"", NOW, part=part)
    return past


@given(logs(), st.lists(st.integers(1, 2_000), min_size=1, max_size=8))
@settings(max_examples=150, deadline=None)
def test_files_read_by_turns_are_as_if_each_line_came_when_written(written: Written, sizes: list[int]) -> None:
    files = {part: "".join(f"{line}\n" for whose, line in written if whose == part).encode() for part in PARTS}
    past = read_by_turns(files, sizes)
    live = Tracker(Plan(), parts=PARTS)
    for part, line in written:
        live.feed(Source.SERVER, f"{line}\n".encode(), NOW, part=part)
    assert without_eyes(past.state.server) == without_eyes(live.state.server)
    assert past.snapshot(NOW).logs[0].lines == live.snapshot(NOW).logs[0].lines


@given(logs(), st.lists(st.tuples(st.sampled_from(PARTS), st.integers(1, 2_000)), max_size=60))
@settings(max_examples=100, deadline=None)
def test_a_backlog_that_comes_in_any_turns_is_as_if_each_line_came_when_written(
    written: Written, turns: list[tuple[str, int]]
) -> None:
    files = {part: "".join(f"{line}\n" for whose, line in written if whose == part).encode() for part in PARTS}
    tracker, live = Tracker(Plan(), parts=PARTS), Tracker(Plan(), parts=PARTS)
    for part in PARTS:
        tracker.feed(Source.SERVER, b"", NOW, part=part, more=True)
    at = dict.fromkeys(files, 0)
    for part, size in turns:
        tracker.feed(Source.SERVER, files[part][at[part] : at[part] + size], NOW, part=part, more=True)
        at[part] += size
    for part in PARTS:
        tracker.feed(Source.SERVER, files[part][at[part] :], NOW, part=part)
    for part, line in written:
        live.feed(Source.SERVER, f"{line}\n".encode(), NOW, part=part)
    assert without_eyes(tracker.state.server) == without_eyes(live.state.server)


def line_of(part: str, second: int) -> bytes:
    stamp = f"{START + timedelta(seconds=second):%Y-%m-%d %H:%M:%S} DP{PARTS.index(part)}"
    return f"[{stamp}] {DECODE}\n".encode()


def ranks(tracker: Tracker) -> list[str]:
    return [name for name, _ in tracker.state.server.ranks]


def test_nothing_counts_before_all_files_that_are_behind_have_come_so_far() -> None:
    past = PastTracker(Plan(), parts=PARTS)
    for part, second in (("a", 0), ("b", 20), ("a", 50)):
        past.feed(Source.SERVER, line_of(part, second), NOW, part=part, more=True)
    assert ranks(past) == ["DP0"]
    assert past.next_of(("a", "b")) == "b"
    past.feed(Source.SERVER, b"", NOW, part="b")  # read to its end: though it is silent, a need not wait for it
    assert ranks(past) == ["DP0", "DP1"]
    past.feed(Source.SERVER, b"", NOW, part="a")
    assert past.state.server.reported_at == START + timedelta(seconds=50)


def test_a_file_without_stamps_is_read_first_and_holds_nothing() -> None:
    past = PastTracker(Plan(), parts=PARTS)
    for _ in range(100):
        past.feed(Source.SERVER, b"NCCL version 2.21.5+cuda12.4\n" * 3, NOW, part="b", more=True)
    assert past.next_of(("a", "b")) == "a"
    past.feed(Source.SERVER, line_of("a", 0), NOW, part="a", more=True)
    assert past.next_of(("a", "b")) == "b"
    assert not ranks(past)
    assert not past._order._held["b"]


def test_a_file_that_can_not_be_read_hides_the_others_for_moments_only() -> None:
    tracker = Tracker(Plan(), parts=PARTS)
    tracker.feed(Source.SERVER, b"", NOW, part="b", more=True)
    tracker.feed(Source.SERVER, line_of("a", 0), NOW, part="a")
    tracker.feed(Source.SERVER, line_of("a", 10), NOW + PATIENCE, part="a")
    assert not ranks(tracker)
    tracker.feed(Source.SERVER, line_of("a", 30), NOW + PATIENCE + timedelta(seconds=1), part="a")
    assert ranks(tracker) == ["DP0"]
    assert tracker.state.server.reported_at == START + timedelta(seconds=30)


def test_what_waits_is_kept_with_the_rest() -> None:
    tracker, again = Tracker(Plan(), parts=PARTS), Tracker(Plan(), parts=PARTS)
    tracker.feed(Source.SERVER, b"", NOW, part="b", more=True)
    tracker.feed(Source.SERVER, line_of("a", 0), NOW, part="a")
    assert again.thaw(tracker.freeze())
    assert not ranks(again)
    again.feed(Source.SERVER, b"", NOW, part="b")
    assert ranks(again) == ["DP0"]


def test_one_file_waits_for_nobody() -> None:
    past = PastTracker(Plan())
    past.feed(Source.SERVER, line_of("a", 0), NOW, more=True)
    assert ranks(past) == ["DP0"]
