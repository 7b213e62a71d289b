"""Clocks: random walks of a host's clock, missing dates and years, summer time in both directions, a clock set back."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.job.events import HostClock, Source
from console.job.plan import Plan
from console.job.runner_log import RunnerLog
from console.job.source_clock import SourceClock
from console.job.stamps import StampReader
from console.job.steady_time import SteadyTime
from console.job.tracker import Tracker
from tests.job.server_lines import DECODE

BERLIN = ZoneInfo("Europe/Berlin")
STARTS = [
    datetime(2026, 2, 24, 12, tzinfo=UTC),
    datetime(2026, 12, 31, 20, tzinfo=UTC),  # the year turns
    datetime(2026, 3, 28, 22, tzinfo=UTC),  # an hour is skipped at 01:00 UTC
    datetime(2026, 10, 24, 22, tzinfo=UTC),  # an hour comes twice from 00:00 UTC
    datetime(2024, 2, 28, 20, tzinfo=UTC),  # a leap day
]
FORMS = {
    "full": "[%Y-%m-%d %H:%M:%S] x",
    "no year": "INFO %m-%d %H:%M:%S [a.py:1] x",
    "no date": "[%H:%M:%S] x",
}
SECOND = timedelta(seconds=1)
FORM = st.sampled_from(sorted(FORMS))


@dataclass(frozen=True)
class Step:
    """What happens before the next line: time passes, the link delays, the host's clock is moved."""

    passes_s: float
    delay_s: float
    moved_s: float


STEADY = st.builds(Step, st.floats(1, 1500), st.floats(0, 2), st.just(0.0))
MOVED = st.builds(
    Step, st.floats(1, 1500), st.floats(0, 2), st.sampled_from([0.0] * 8 + [-7200, -600, -45, -5, 20, 900])
)


def walk(start: datetime, steps: list[Step], ahead_s: float = 0.0) -> list[tuple[datetime, datetime]]:
    """For each line, what the host's clock showed, and when the console saw it; the latter never falls."""
    now, seen, ahead = start, start, timedelta(seconds=ahead_s)
    lines = []
    for step in steps:
        now += timedelta(seconds=step.passes_s)
        ahead += timedelta(seconds=step.moved_s)
        seen = max(seen, now + timedelta(seconds=step.delay_s))
        lines.append((now + ahead, seen))
    return lines


@given(st.sampled_from(STARTS), FORM, st.lists(STEADY, min_size=1, max_size=40))
@settings(max_examples=100)
def test_a_live_line_is_dated_to_the_second(start: datetime, form: str, steps: list[Step]) -> None:
    reader = StampReader(BERLIN)
    for shown, seen in walk(start, steps):
        at = reader.read(shown.astimezone(BERLIN).strftime(FORMS[form]), seen).at
        assert at is not None
        assert timedelta() <= shown - at < SECOND


@given(st.sampled_from(STARTS), FORM, st.lists(STEADY, min_size=1, max_size=40), st.floats(-36_000, 36_000))
@settings(max_examples=100)
def test_so_it_is_on_a_host_whose_clock_is_hours_off_once_that_is_measured(
    start: datetime, form: str, steps: list[Step], ahead_s: float
) -> None:
    reader = StampReader(BERLIN)
    reader.host_is_ahead(timedelta(seconds=ahead_s))
    for shown, seen in walk(start, steps, ahead_s):
        at = reader.read(shown.astimezone(BERLIN).strftime(FORMS[form]), seen).at
        assert at is not None
        assert timedelta() <= shown - at < SECOND


@given(
    st.sampled_from(STARTS),
    FORM,
    st.lists(MOVED, min_size=1, max_size=40),
    st.sampled_from([0.0, -3600.0, 3600.0, 32_400.0]),
    st.booleans(),
)
@settings(max_examples=100)
def test_no_age_is_negative_whatever_the_hosts_clock_does(
    start: datetime, form: str, steps: list[Step], ahead_s: float, measured: bool
) -> None:
    reader, clock = StampReader(BERLIN), SourceClock()
    if measured:
        reader.host_is_ahead(timedelta(seconds=ahead_s))
        clock = clock.measured(ahead_s)
    for shown, seen in walk(start, steps, ahead_s):
        at = reader.read(shown.astimezone(BERLIN).strftime(FORMS[form]), seen).at
        assert at is not None
        clock = clock.heard(at, seen)
        assert clock.on_our_clock(at) <= seen


@given(st.sampled_from(STARTS), st.lists(STEADY, min_size=2, max_size=60))
@settings(max_examples=100)
def test_days_of_a_log_without_dates_are_told_apart(start: datetime, steps: list[Step]) -> None:
    steps = [Step(step.passes_s * 40, 0, 0) for step in steps]  # up to 16 hours between lines
    shown = [at for at, _ in walk(start, steps)]
    lines = [at.strftime(FORMS["no date"]) for at in shown]
    reader = StampReader(UTC)
    reader.look_ahead(lines, shown[-1])
    times = [reader.read(line, shown[-1]).at for line in lines]
    alike = [_next_is_told(one, other) for one, other in itertools.pairwise(shown)]
    if all(alike):
        assert times == [at.replace(microsecond=0) for at in shown]
    assert all(at is not None and at <= shown[-1] for at in times)


def _next_is_told(one: datetime, other: datetime) -> bool:
    """Whether a time of day shows how many midnights lie between two lines: none, or one that lowers it by an hour."""
    days = (other.date() - one.date()).days
    higher = timedelta(hours=other.hour - one.hour, minutes=other.minute - one.minute)
    return (days == 0 and higher < timedelta(hours=22)) or (days == 1 and higher < -timedelta(hours=1, minutes=1))


def test_a_log_of_three_days_without_dates_read_in_one_go() -> None:
    lines = ["[10:00:00] a", "[23:59:59] b", "[00:00:01] c", "[12:00:00] d", "[03:00:00] e", "[09:00:00] f"]
    log, seen = RunnerLog(UTC), datetime(2026, 12, 3, 9, 0, 5, tzinfo=UTC)
    log.look_ahead(lines, seen)
    times = [log.parse(line, seen)[0].at for line in lines]
    assert [f"{at:%d %H:%M}" for at in times] == [
        "01 10:00",
        "01 23:59",
        "02 00:00",
        "02 12:00",
        "03 03:00",
        "03 09:00",
    ]
    (live,) = log.parse("[09:00:07] g", seen + 3 * SECOND)
    assert live.at == datetime(2026, 12, 3, 9, 0, 7, tzinfo=UTC)


def test_lines_that_ranks_mix_at_midnight_are_of_two_days() -> None:
    lines = ["[22:00:00] a", "[23:59:59] b", "[00:00:01] c", "[23:59:59] d", "[00:00:02] e", "[01:00:00] f"]
    reader, seen = StampReader(UTC), datetime(2026, 12, 3, 1, 0, 5, tzinfo=UTC)
    reader.look_ahead(lines, seen)
    days = [at.day for line in lines if (at := reader.read(line, seen).at)]
    assert days == [2, 2, 3, 2, 3, 3]


def test_a_host_nine_hours_ahead_is_judged_right_at_once() -> None:
    now = datetime(2026, 2, 24, 12, 0, 0, tzinfo=UTC)
    tracker = Tracker(Plan())
    tracker.note(HostClock("Asia/Tokyo", 32_400.0), now)
    # The last line of a backlog is two minutes old; by its stamp it lies nearly nine hours in the future.
    tracker.feed(Source.SERVER, f"[2026-02-24 20:58:00 TP0] {DECODE}\n".encode(), now)
    assert tracker.state.server_clock.on_our_clock(datetime(2026, 2, 24, 20, 58, tzinfo=UTC)) == now - 120 * SECOND
    tracker.note(HostClock("Asia/Tokyo", 0.0), now)
    assert tracker.state.server_clock.offset == timedelta(hours=-9)  # what lines have shown stands


def test_a_line_without_a_stamp_is_on_the_hosts_clock_too() -> None:
    reader, now = StampReader(UTC), datetime(2026, 2, 24, 12, tzinfo=UTC)
    reader.host_is_ahead(timedelta(hours=9))
    assert reader.guess(now) == now + timedelta(hours=9)
    reader.read("[2026-02-24 20:59:00] x", now)
    assert reader.guess(now + SECOND) == datetime(2026, 2, 24, 20, 59, 1, tzinfo=UTC)


@pytest.mark.parametrize("back_s", [45, 600, 3600, 86_400])
def test_a_clock_that_is_set_back_does_not_blind_the_console(back_s: int) -> None:
    start = datetime(2026, 2, 24, 12, tzinfo=UTC)
    tracker = Tracker(Plan())
    for second in range(0, 240, 4):
        seen = start + second * SECOND
        shown = seen if second < 120 else seen - back_s * SECOND
        line = f"[{shown:%Y-%m-%d %H:%M:%S} TP0] {DECODE.replace('#running-req: 50', f'#running-req: {second}')}\n"
        tracker.feed(Source.SERVER, line.encode(), seen)
    snapshot = tracker.snapshot(start + 240 * SECOND)
    assert snapshot.server.running == 236
    assert snapshot.server.updated_at is not None
    age = start + 240 * SECOND - tracker.state.server_clock.on_our_clock(snapshot.server.updated_at)
    assert timedelta() <= age < 15 * SECOND


def test_lines_that_are_read_again_move_no_clock() -> None:
    start, steady = datetime(2026, 2, 24, 12, tzinfo=UTC), SteadyTime()
    for second in range(0, 600, 5):
        steady.steady(start + second * SECOND, start + second * SECOND)
    again = start + 700 * SECOND
    assert [steady.steady(start + s * SECOND, again) for s in range(0, 600, 5)] == [
        start + s * SECOND for s in range(0, 600, 5)
    ]
    assert steady.steady(again, again) == again


@given(st.lists(st.tuples(st.floats(0, 30), st.sampled_from([0.0] * 6 + [-3600.0, -120.0, 60.0])), max_size=60))
def test_steady_time_falls_for_no_longer_than_it_takes_to_be_sure(steps: list[tuple[float, float]]) -> None:
    steady, now, ahead = SteadyTime(), datetime(2026, 2, 24, 12, tzinfo=UTC), timedelta()
    newest, behind_since = steady.steady(now, now), None
    for passes_s, moved_s in steps:
        now += timedelta(seconds=passes_s)
        ahead += timedelta(seconds=moved_s)
        at = steady.steady(now + ahead, now)
        if at >= newest - 30 * SECOND or moved_s:
            behind_since = None
        else:
            behind_since = behind_since or now
            assert now - behind_since < 40 * SECOND
        newest = max(newest, at)
