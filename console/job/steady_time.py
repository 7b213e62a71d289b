"""Time that runs on though a host's clock is set back.

Reports older than the newest are taken for repeats and change nothing, so without this a clock that is set back by an
hour would blind the console for an hour. That it was set back is known when lines keep coming late while they run at
the pace of real time: a repeat comes in one go, a backlog much faster, and disorder among ranks is a matter of seconds.
From then on the log's times are moved on by as much as the clock was moved back.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

_DISORDER = timedelta(seconds=30)
"""How far lines may stand out of order."""
_SURE = timedelta(seconds=5)
"""How long late lines must keep coming."""
_PACE = timedelta(seconds=3)
"""How far their times may be from the pace of real time meanwhile: stamps are whole seconds, links are slow."""
_NONE = timedelta()
_MANY = 10
"""So many late lines in a row, at any pace, show that the clock was set back: a recorded log comes in one go."""
_SPAN = timedelta(minutes=2)
"""And so much time must lie between the first and the last of them."""


class SteadyTime:
    """Follows the times of one log's lines."""

    def __init__(self) -> None:
        self._newest: datetime | None = None
        self._late: tuple[datetime, datetime] | None = None
        self._moved = _NONE
        self._first: tuple[datetime, int] | None = None
        self.set_back: tuple[datetime, float] | None = None
        """When the clock was last seen to be set back, and by how many seconds; None when it never was."""

    def steady(self, at: datetime, seen_at: datetime) -> datetime:
        """A line's time, moved on by as much as the clock was set back since the log's beginning.

        Args:
            at: By its stamp.
            seen_at: When it was seen.
        """
        if self._moved:
            at += self._moved
        if self._newest is None or at >= self._newest - _DISORDER:
            if self._newest is None or at > self._newest:
                self._newest = at
            self._late = self._first = None
            return at
        self._count(at, seen_at, self._newest)
        return self._lag(at, seen_at, self._newest)

    def _lag(self, at: datetime, seen_at: datetime, newest: datetime) -> datetime:
        """A line that is older than it should be: one of many that shows a clock set back, or a repeat."""
        if self._late is None:
            self._late = (at, seen_at)
        ran, passed = at - self._late[0], seen_at - self._late[1]
        if abs(ran - passed) > _PACE:
            self._late = (at, seen_at)
        elif passed >= _SURE:
            self._moved += newest - at
            self.set_back = (seen_at, (newest - at).total_seconds())
            self._late = None
            return newest
        return at

    def _count(self, at: datetime, seen_at: datetime, newest: datetime) -> None:
        """Count the late lines in a row; many that span minutes are told of, though the times stay as they are.

        A connection that reads a piece of a log again shows the same, so nothing but a word is made of it.
        """
        first, many = self._first or (at, 0)
        self._first = (first, many + 1)
        if many + 1 >= _MANY and at - first >= _SPAN:
            self.set_back = (seen_at, (newest - first).total_seconds())
