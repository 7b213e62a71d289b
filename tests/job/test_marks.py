"""How far a dataset was at moments."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

from console.job.marks import Mark, beat, latest, marked, windows
from console.job.tally import Tally

T0 = datetime(2026, 2, 24, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def row(*counts: tuple[float, int, int | None]) -> tuple[Mark, ...]:
    marks: tuple[Mark, ...] = ()
    for seconds, done, tokens in counts:
        marks = marked(marks, Mark(at(seconds), done, tokens))
    return marks


def test_a_mark_that_is_no_news_changes_nothing() -> None:
    marks = row((0, 50, 100), (60, 100, 300))
    assert marked(marks, marks[-1]) is marks
    assert marked(marks, Mark(at(90), 100, 300)) is marks
    assert marked(marks, Mark(at(30), 120, 300)) is marks


def test_of_heartbeats_one_a_minute_is_kept_and_of_all_the_newest() -> None:
    marks: tuple[Mark, ...] = ()
    for second in range(0, 7_200, 15):
        marks = beat(marks, Mark(at(second), second + 1, second * 10))
    assert len(marks) == 48
    assert all((new.at - old.at).total_seconds() > 60 for old, new in itertools.pairwise(marks))


def test_the_newest_stretch_of_so_many() -> None:
    marks = row((0, 100, 100_000), (60, 150, 200_000), (120, 200, 400_000))
    found = latest(marks, 50)
    assert found is not None
    assert (found.done, found.seconds, found.mean, found.per_s) == (50, 60.0, 4_000.0, 50 / 60)
    assert latest(marks, 60) == (120.0, 100, 3_000.0)
    assert latest(marks, 101) is None
    assert latest((), 1) is None


def test_two_windows_side_by_side() -> None:
    marks = row((0, 10, None), (300, 70, 1_000), (600, 100, 31_000), (900, 110, 51_000))
    found = windows(marks, timedelta(seconds=300))
    assert found is not None
    before, after = found
    assert (before.done, before.mean) == (30, 1_000.0)
    assert (after.done, after.mean) == (10, 2_000.0)
    assert windows(marks, timedelta(seconds=500)) is None
    assert windows((), timedelta(seconds=1)) is None


def test_a_thing_counts_once() -> None:
    tally = Tally()
    for _ in range(2):
        for seconds, key in ((0, "a"), (0, "b"), (5, "a"), (5, "c")):
            tally = tally.add(at(seconds), key, 7.0)
    assert tally.count == 4
    assert tally.add(at(5), "c") is tally
    assert tally.add(at(1), "z") is tally
    last = tally.series.last
    assert last is not None
    assert last.load == 7.0
