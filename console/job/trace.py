"""How far a dataset was over all of its time: few points, evenly spread, whatever that time is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

LIMIT = 128
"""Points kept: as many as a chart has columns. When they are too many, every second one goes."""

EARLY = 24
"""Of these the first ones, which stay as they are: how a dataset begins tells more of its lengths than all the rest."""

FIRST_STEP_S = 5.0
"""Seconds between two points at first; twice as many each time that points go: in ten hours that makes six minutes."""


class TracePoint(NamedTuple):
    """A dataset's counts at one moment.

    Attributes:
        time_s: Seconds since the epoch, by the job's clock.
        done: Prompts done in all, those of former processes included.
        tokens: Completion tokens in all; None when not known.
    """

    time_s: float
    done: int
    tokens: int | None


@dataclass(frozen=True, slots=True)
class Trace:
    """Points in the order of time.

    The first of each step counts, so that a line read twice changes nothing; how far it is now stands elsewhere.

    Attributes:
        step_s: Points are at least so many seconds apart.
        points: Oldest first, at most ``LIMIT``.
    """

    step_s: float = FIRST_STEP_S
    points: tuple[TracePoint, ...] = ()

    def add(self, at: datetime, done: int, tokens: int | None) -> Trace:
        """With one point more; the same when it comes too soon after the newest, or is older."""
        time_s = at.timestamp()
        points = self.points
        if points and time_s - points[-1].time_s < self.step_s:
            return self
        if len(points) < LIMIT:
            return Trace(self.step_s, (*points, TracePoint(time_s, done, tokens)))
        thinned = Trace(self.step_s * 2, (*points[:EARLY], *points[EARLY:-1:2], points[-1]))
        return thinned.add(at, done, tokens)
