"""Times since a program's start become moments: llama.cpp stamps its lines so, and never says when it began.

A line can't have been written after it was seen, so a process began no later than *seen - elapsed* of any of its
lines; the earliest of these is taken. Of lines that come live it is true to the delay of the link. Of a log that is
read in one go the last line is taken for just written, and a process before it for having ended as the next began;
that is the latest that it can have been, and the order and distances of the lines are right.
"""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

_DISORDER_S = 1.0
"""Threads mix lines by less than this; a time that falls by more is a new process's."""
_NONE = timedelta()


class ElapsedClock:
    """Knows when the present process of one log began."""

    def __init__(self) -> None:
        self._began: datetime | None = None
        self._newest: datetime | None = None
        self._last_s = 0.0
        self._ahead: deque[datetime] = deque()

    def look_ahead(self, elapsed_s: Iterable[float], seen_at: datetime) -> None:
        """Learn from lines that are about to be read when each of their processes began.

        Args:
            elapsed_s: The lines' times, in their order.
            seen_at: When they came.
        """
        ends = _ends(elapsed_s, self._last_s)
        begins: deque[datetime] = deque()
        end_at = seen_at
        for end_s in reversed(ends):
            end_at -= timedelta(seconds=end_s)
            begins.appendleft(end_at)
        if not begins:
            return
        first = begins.popleft()
        self._began = first if self._began is None else min(self._began, first)
        self._ahead = begins

    def at(self, elapsed_s: float, seen_at: datetime) -> datetime:
        """When a line was written, by its time since the start."""
        since = timedelta(seconds=elapsed_s)
        latest = seen_at - since
        if elapsed_s < self._last_s - _DISORDER_S:
            self._began = min(self._ahead.popleft(), latest) if self._ahead else latest
        elif self._began is None or latest < self._began:
            self._began = latest
        self._last_s = elapsed_s
        # The beginning is found to be earlier as more of a long backlog comes: no line is put before the one before it.
        self._newest = max(self._began + since, self._newest) if self._newest else self._began + since
        return self._newest


def _ends(elapsed_s: Iterable[float], last_s: float) -> list[float]:
    """The last time of each process in a row of lines; the first of them may have begun before."""
    ends: list[float] = []
    for now_s in elapsed_s:
        if ends and now_s >= ends[-1] - _DISORDER_S:
            ends[-1] = now_s
        elif ends or now_s >= last_s - _DISORDER_S:
            ends.append(now_s)
        else:
            ends += [last_s, now_s]
    return ends
