"""A whole run on one line of time, what is ahead included: datasets, verdicts and marks, ready to be drawn. Pure."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from console.job.snapshot import DatasetState
from console.job.timeline_marks import MarkKind, dated_marks, marks_once

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from console.job.snapshot import DatasetView, Snapshot
    from console.job.timeline_changes import Change
    from console.job.timeline_marks import Mark

_SHORTEST = timedelta(minutes=1)
"""A line of time is at least so long, so that its first moments can be drawn."""

_BEFORE = timedelta(minutes=30)
"""Of what happened before the job, such as the server's start, so much counts as the run's."""


@dataclass(frozen=True, slots=True)
class Segment:
    """The time that a dataset takes.

    Attributes:
        name: The dataset.
        state: Where it stands now.
        begin: When it began, or is expected to.
        end: When it ended, or is expected to.
    """

    name: str
    state: DatasetState
    begin: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Timeline:
    """A run on a line of time.

    Attributes:
        first: Its begin.
        now: The present; what is behind it is expected.
        last: Its end: the late end of the range of the run's end, or the present when none can be told.
        segments: The datasets, in the order of time; those of which no time can be told are left out.
        changes: The verdicts, oldest first; before the first of them none is known.
        marks: What happened beside, oldest first.
        eta: Early end, middle and late end of the range of the run's end; None when none can be told, or it has come.
        unwatched: From when to when no console looked.
    """

    first: datetime
    now: datetime
    last: datetime
    segments: tuple[Segment, ...] = ()
    changes: tuple[Change, ...] = ()
    marks: tuple[Mark, ...] = ()
    eta: tuple[datetime, datetime, datetime] | None = None
    unwatched: tuple[tuple[datetime, datetime], ...] = ()

    def share(self, at: datetime) -> float:
        """Where a moment lies on the line, 0 to 1."""
        return min(1.0, max(0.0, (at - self.first) / (self.last - self.first)))

    def moment(self, share: float) -> datetime:
        """The moment at a share of the line, 0 to 1, no later than the present."""
        return min(self.now, self.first + min(1.0, max(0.0, share)) * (self.last - self.first))

    def change_at(self, at: datetime) -> Change | None:
        """What was judged at a moment; None when that is not known."""
        if any(begin < at < end for begin, end in self.unwatched):
            return None
        place = bisect_right(self.changes, at, key=lambda each: each.at)
        return self.changes[place - 1] if place else None

    def segments_at(self, at: datetime) -> tuple[Segment, ...]:
        """The datasets that were at work at a moment."""
        return tuple(each for each in self.segments if each.begin <= at < each.end)

    def marks_between(self, begin: datetime, end: datetime) -> tuple[Mark, ...]:
        """What happened from ``begin`` on, before ``end``."""
        return tuple(each for each in self.marks if begin <= each.at < end)

    def events(self) -> tuple[datetime, ...]:
        """The moments of changes and marks, each once, oldest first."""
        told = {*(change.at for change in self.changes), *(mark.at for mark in self.marks)}
        return tuple(sorted(at for at in told if self.first <= at <= self.now))


def timeline_of(
    snapshot: Snapshot,
    changes: Sequence[Change],
    marks: Iterable[Mark] = (),
    unwatched: tuple[tuple[datetime, datetime], ...] = (),
) -> Timeline:
    """Lay a run on a line of time.

    Args:
        snapshot: All that is known now.
        changes: The verdicts, oldest first, none twice.
        marks: What was noted of it, beside what the snapshot's own logs date.
        unwatched: From when to when no console looked.
    """
    now, eta = snapshot.at, snapshot.eta
    known = [at for at in (snapshot.course.first, *(each.at for each in changes[:1])) if at is not None]
    first = min(snapshot.course.first or min(known, default=now), now)
    whole = marks_once((*marks, *dated_marks(snapshot)))
    shown = tuple(mark for mark in whole if first - _BEFORE <= mark.at <= now)
    segments = _segments(snapshot.datasets, shown, first, now)
    ahead = eta.at is not None and eta.at > now
    span = (eta.low or eta.at, eta.at, eta.high or eta.at) if ahead and eta.at is not None else None
    ended = eta.at if eta.at is not None and not ahead and snapshot.verdict.cause == "finished" else now
    last = max(span[2] if span else ended, first + _SHORTEST, *(segment.end for segment in segments if ahead))
    return Timeline(first, min(now, last), last, segments, tuple(changes), shown, span, unwatched)


def _segments(
    views: Iterable[DatasetView], marks: Sequence[Mark], first: datetime, now: datetime
) -> tuple[Segment, ...]:
    """The datasets on the line: by what was noted of them, those ahead by their expected ends."""
    began, ended = (_earliest(marks, kind) for kind in (MarkKind.BEGAN, MarkKind.ENDED))
    found: list[Segment] = []
    free = first
    for view in views:
        end = ended.get(view.name)
        begin = began.get(view.name, end)
        if begin is None and view.eta is not None:
            begin = max(now, free)
        if begin is None:
            continue
        over = end is not None and view.state not in {DatasetState.RUNNING, DatasetState.LOADING}
        expected = end if over and end is not None else max(view.eta or now, now)
        found.append(Segment(view.name, view.state, max(first, begin), max(first, begin, expected)))
        free = max(free, found[-1].end)
    return tuple(sorted(found, key=lambda each: (each.begin, each.end)))


def _earliest(marks: Iterable[Mark], kind: MarkKind) -> dict[str, datetime]:
    """Dataset to when this was first noted of it."""
    found: dict[str, datetime] = {}
    for mark in marks:
        if mark.kind is kind:
            found.setdefault(mark.name, mark.at)
    return found
