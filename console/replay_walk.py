"""The way through recorded logs: a tracker that is fed along a grid of log time, onward and, by checkpoints, back.

Only what was logged at or before a moment may count at it: lines are fed in the order in which they were written, and
the reading is taken before the next one. The grid does not depend on which moments are asked for, so a moment reads
the same whether it was come to from before, from later, or alone.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from console.job.host_views import with_shapes
from console.replay_checkpoints import Frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from console.job.dataset_detail import DatasetDetail
    from console.job.forecasts import Forecasts
    from console.job.snapshot import Snapshot, Verdict
    from console.job.state import State
    from console.job.timeline import Recorded
    from console.job.tracker import Tracker
    from console.replay_checkpoints import Checkpoints

STEP = timedelta(seconds=60)
"""Log time that is fed at once, on a grid from the first line on: what was written within a minute counts as seen at
its end, and is judged then, whichever moments are asked for."""

AFTERMATH = timedelta(days=1)
"""How long silence is judged minute by minute after the last line."""


class Passed(NamedTuple):
    """A point of the grid that was passed.

    Attributes:
        at: Its moment.
        verdict: What was judged then.
        state: All that was known then.
    """

    at: datetime
    verdict: Verdict
    state: State


class Read(NamedTuple):
    """All that was known at a moment.

    Attributes:
        snapshot: What the console would have shown.
        state: What it rests on.
        forecasts: What had been told of the ends until then.
    """

    snapshot: Snapshot
    state: State
    forecasts: Forecasts


class Replay:
    """Plays logs into a tracker along the grid.

    Args:
        logs: What is replayed.
        fresh: Makes a tracker that has read nothing.
        checkpoints: Where it may begin anew, filled as it goes; None for a walk that only goes onward fast: going back
            then begins at the first line.
    """

    def __init__(
        self, logs: Sequence[Recorded], fresh: Callable[[], Tracker], checkpoints: Checkpoints | None = None
    ) -> None:
        self._logs = logs
        self._make = fresh
        self._checkpoints = checkpoints
        self.first = min((log.times[0] for log in logs), default=None)
        """When the first line was written; None when there is none."""
        self._end = max((log.times[-1] + AFTERMATH for log in logs), default=None)
        self._tracker = self._fresh()
        self._places = [0] * len(logs)
        self._at: datetime | None = None
        self._frozen: Frozen | None = None
        self._last: tuple[Tracker, datetime] | None = None

    def at(self, moment: datetime) -> Snapshot:
        """What was known then."""
        for _ in self.towards(moment):
            pass
        return self.read(moment)

    def towards(self, moment: datetime) -> Iterator[Passed]:
        """Play to the last point of the grid at or before a moment; tell of each point passed."""
        self._last = None
        if self._at is not None and moment < self._at:
            self._begin()
        self._leap(moment)
        while (point := self._next()) is not None and point <= moment:
            self._places = self._feed(self._tracker, point)
            self._at, self._frozen = point, None
            verdict = self._tracker.judge(point)
            if self._checkpoints is not None and self._checkpoints.is_due(point):
                self._checkpoints.keep(point, self._places, _frozen(self._tracker))
            yield Passed(point, verdict, self._tracker.state)

    def read(self, moment: datetime) -> Snapshot:
        """The reading at a moment up to one step from where it was played to."""
        return self.read_all(moment).snapshot

    def read_all(self, moment: datetime) -> Read:
        """The same, with what it rests on.

        Between two points of the grid it is read from a copy, so that asking changes nothing of what comes later.
        """
        tracker = self._standing_at(moment)
        self._last = (tracker, moment)
        return _read(tracker, moment)

    def detail(self, name: str) -> DatasetDetail | None:
        """One dataset seen closely at the moment that was read last; None before one was, or after going on from it."""
        return None if self._last is None else self._last[0].detail(name, self._last[1])

    def _standing_at(self, moment: datetime) -> Tracker:
        """A tracker that knows what was written until a moment: this one, a copy that was fed on, or a fresh one."""
        if self._at is None:
            return self._fresh()
        if self._at == moment:
            return self._tracker
        if self._frozen is None:
            self._frozen = _frozen(self._tracker)
        copy = self._thawed(self._frozen)
        self._feed(copy, moment)
        return copy

    def _fresh(self) -> Tracker:
        """A tracker that has read nothing, and takes the logs' times for the time."""
        tracker = self._make()
        tracker.trust_stamps()
        return tracker

    def _begin(self) -> None:
        self._tracker = self._fresh()
        self._places = [0] * len(self._logs)
        self._at = self._frozen = None

    def _leap(self, moment: datetime) -> None:
        """Begin at the newest checkpoint before a moment, where that is nearer than here."""
        if self._checkpoints is None:
            return
        nearest = self._checkpoints.before(moment)
        if nearest is not None and (self._at is None or self._at < nearest.at):
            self._tracker = self._thawed(self._checkpoints.take(nearest))
            self._places, self._at, self._frozen = list(nearest.places), nearest.at, None

    def _next(self) -> datetime | None:
        """The next point of the grid; None when there is none."""
        if self.first is None or self._end is None:
            return None
        point = self.first if self._at is None else self._at + STEP
        return point if point <= self._end else None

    def _thawed(self, frozen: Frozen) -> Tracker:
        copy = self._fresh()
        if not copy.thaw(frozen.packed, frozen.shared):
            message = "A tracker does not take what another one of the same plan has frozen."
            raise RuntimeError(message)
        return copy

    def _feed(self, tracker: Tracker, until: datetime) -> list[int]:
        """Feed what was written until then; give the number of each log's next line."""
        places = []
        for log, place in zip(self._logs, self._places, strict=True):
            here, data = log.between(place, until)
            if data:
                # Seen as it was written: were it seen at the point of the grid, its age would count for a clock's lag.
                tracker.feed(log.source, data, log.times[here - 1])
            places.append(here)
        return places


def _frozen(tracker: Tracker) -> Frozen:
    shared: list[object] = []
    packed = tracker.freeze(shared)
    return Frozen(packed, tuple(shared))


def _read(tracker: Tracker, moment: datetime) -> Read:
    """A reading, the lines that were not understood included."""
    taken = tracker.snapshot(moment)
    whole = replace(taken, logs=with_shapes(taken.logs, tracker.unparsed))
    return Read(whole, tracker.state, tracker.forecasts)
