"""A backlog that comes in pieces: its lines have the times that they have when it comes in one, whatever their stamps."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.job import unread
from console.job.events import Source
from console.job.plan import Plan
from console.job.stamps import StampReader
from console.job.tracker import Tracker
from console.job.unread import Unread
from tests.job.server_lines import DECODE

BERLIN = ZoneInfo("Europe/Berlin")
PLAN = Plan(zone=BERLIN)
LATER = timedelta(seconds=3)
STARTS = [
    datetime(2026, 2, 24, 12, tzinfo=UTC),
    datetime(2026, 12, 31, 20, tzinfo=UTC),  # the year turns
    datetime(2026, 10, 24, 22, tzinfo=UTC),  # an hour comes twice from 00:00 UTC
]
FORMS = {
    "full": f"[%Y-%m-%d %H:%M:%S TP0] {DECODE}",
    "no year": "INFO %m-%d %H:%M:%S [a.py:1] x",
    "no date": f"[%H:%M:%S TP0] {DECODE}",
    "no date, behind a prefix": "server-1  | [%H:%M:%S] x",
    "no date, collected": "%Y-%m-%dT%H:%M:%S.000000000+0100 [%H:%M:%S] x",
    "a library's": "[%H:%M:%S] /src/x.cc:12: Warning: y",
    "no stamp": "Traceback (most recent call last):",
    "a bar": "Loading shards:  25% Completed | 1/4 [00:03<00:09,  3.02s/it]",
}
LOGS = [
    ("full", "a library's", "no stamp"),
    ("no year", "a library's", "no stamp", "a bar"),
    ("no date", "no stamp"),
    ("no date, behind a prefix", "no stamp"),
    ("no date, collected",),
    ("no stamp", "a bar"),
    ("elapsed", "no stamp"),
]
"""What the lines of one log look like."""


@st.composite
def backlogs(draw: st.DrawFn) -> tuple[bytes, datetime]:
    """A log, and when all of it has come."""
    at, forms = draw(st.sampled_from(STARTS)), draw(st.sampled_from(LOGS))
    begun, lines = at, [FORMS["no stamp"]] * draw(st.integers(0, 5))
    for form, minutes, anew in draw(
        st.lists(st.tuples(st.sampled_from(forms), st.integers(0, 900), st.integers(0, 9)), max_size=30)
    ):
        at += timedelta(minutes=minutes, seconds=1)
        if form == "elapsed":
            begun = at if anew == 0 else begun
            minute, second = divmod(int((at - begun).total_seconds()), 60)
            lines.append(f"{minute}.{second:02}.000.000 I srv  update_slots: all slots are idle")
        else:
            lines.append(at.astimezone(BERLIN).strftime(FORMS[form]))
    return "".join(f"{line}\n" for line in lines).encode(), at + LATER


def told(lines: object) -> list[tuple[str, datetime]]:
    return [(line.text, line.at) for line in lines]  # type: ignore[attr-defined]


def in_pieces(
    tracker: Tracker, source: Source, data: bytes, cuts: list[int], seen: datetime
) -> list[tuple[str, datetime]]:
    edges = [0, *sorted({min(cut, len(data)) for cut in cuts}), len(data)]
    lines = [
        line
        for begin, end in itertools.pairwise(edges)
        for line in told(tracker.feed(source, data[begin:end], seen, more=True))
    ]
    return [*lines, *told(tracker.feed(source, b"", seen))]


@given(backlogs(), st.sampled_from([Source.SERVER, Source.JOB]), st.lists(st.integers(0, 3_000), max_size=12))
@settings(max_examples=400, deadline=None)
def test_any_pieces_give_the_same_times(backlog: tuple[bytes, datetime], source: Source, cuts: list[int]) -> None:
    data, seen = backlog
    one, other = Tracker(PLAN), Tracker(PLAN)
    whole = told(one.feed(source, data, seen))
    assert in_pieces(other, source, data, cuts, seen) == whole
    assert other.state == one.state


@given(backlogs(), st.lists(st.integers(0, 3_000), max_size=4), st.integers(0, 4))
@settings(max_examples=100, deadline=None)
def test_a_console_that_is_restarted_between_pieces_changes_nothing(
    backlog: tuple[bytes, datetime], cuts: list[int], restart: int
) -> None:
    data, seen = backlog
    edges = [0, *sorted({min(cut, len(data)) for cut in cuts}), len(data)]
    one, now = Tracker(PLAN), Tracker(PLAN)
    one.feed(Source.SERVER, data, seen)
    for nth, (begin, end) in enumerate(itertools.pairwise(edges)):
        now.feed(Source.SERVER, data[begin:end], seen, more=True)
        if nth == restart:
            frozen, now = now.freeze(), Tracker(PLAN)
            assert now.thaw(frozen)
    now.feed(Source.SERVER, b"", seen)
    assert now.state.server == one.state.server


def days_of(*texts: str, more: int = 0) -> list[int]:
    """The days of lines; ``more`` of them come before the rest."""
    tracker, seen = Tracker(Plan()), datetime(2026, 12, 3, 9, 0, 5, tzinfo=UTC)
    lines = [f"{text}\n".encode() for text in texts]
    given_first = told(tracker.feed(Source.JOB, b"".join(lines[:more]), seen, more=True)) if more else []
    return [at.day for _, at in [*given_first, *told(tracker.feed(Source.JOB, b"".join(lines[more:]), seen))]]


@pytest.mark.parametrize("more", range(6))
def test_days_are_counted_from_the_end_of_all_that_comes(more: int) -> None:
    lines = ("[10:00:00] a", "[23:59:59] b", "[00:00:01] c", "[12:00:00] d", "[03:00:00] e", "[09:00:00] f")
    assert days_of(*lines, more=more) == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("more", range(4))
def test_a_librarys_line_without_a_date_is_of_the_day_of_its_neighbours(more: int) -> None:
    lines = (
        "[2026-11-28 23:50:00] a",
        "[00:10:00] /src/x.cc:12: y",
        "[2026-11-29 10:00:00] b",
        "[09:59:00] /src/x.cc z",
    )
    assert days_of(*lines, more=more) == [28, 29, 29, 29]


def test_a_librarys_line_after_a_long_silence_is_of_today() -> None:
    reader, begun = StampReader(UTC), datetime(2026, 11, 28, 9, tzinfo=UTC)
    reader.look_ahead(["[2026-11-28 09:00:00] a"], begun)
    reader.read("[2026-11-28 09:00:00] a", begun)
    now = begun + timedelta(days=3, hours=2)
    assert reader.read("[11:00:00] /src/x.cc y", now).at == now


def test_a_log_with_dates_is_read_as_it_comes() -> None:
    tracker, seen = Tracker(Plan()), datetime(2026, 12, 3, tzinfo=UTC)
    assert tracker.feed(Source.JOB, b"[2026-11-28 09:00:00] a\n[09:00:01] /src/x.cc y\n", seen, more=True)
    assert tracker.feed(Source.JOB, b"[2026-11-28 09:00:02] b\n", seen, more=True)


def test_a_log_without_stamps_waits_for_its_first_lines_only() -> None:
    tracker, seen = Tracker(Plan()), datetime(2026, 12, 3, tzinfo=UTC)
    assert not tracker.feed(Source.JOB, b"item\n" * 199, seen, more=True)
    assert len(tracker.feed(Source.JOB, b"item\n", seen, more=True)) == 200
    assert tracker.feed(Source.JOB, b"item\n", seen, more=True)


def test_no_more_than_a_bounded_amount_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unread, "MOST_CHARS", 10)
    waiting = Unread()
    assert waiting.take(["12345"], hold=True) == []
    assert waiting.take(["67890"], hold=True) == []
    assert (waiting.burst, len(waiting)) == (False, 2)
    assert waiting.take(["x"], hold=True) == ["12345", "67890", "x"]
    assert (waiting.burst, len(waiting)) == (True, 0)
    assert waiting.take(["y"], hold=False) == ["y"]


def test_a_look_at_the_last_line_says_nothing_of_those_before_it() -> None:
    """In an hour that comes twice, a line is told by the one before it."""
    reader, live = StampReader(BERLIN), datetime(2026, 10, 25, 0, 8, tzinfo=UTC)
    lines, seen = ["[02:10:00] b", "[02:50:00] c", "[02:05:00] d"], live + timedelta(minutes=77)
    reader.look_ahead(["[02:08:00] a"], live)
    assert reader.read("[02:08:00] a", live).at == live
    reader.look_ahead(lines, seen)
    assert [at and f"{at:%H:%M}" for at in (reader.read(line, seen).at for line in lines)] == [
        "00:10",
        "00:50",
        "01:05",
    ]
