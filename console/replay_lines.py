"""The log lines of a replay: what came since the last moment shown, or the newest ones at another."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from console.job.events import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from console.job.events import LogLine
    from console.job.timeline import Recorded
    from console.job.tracker import Tracker

TAIL = 2_000
"""Lines of each log that are shown after a jump: forty screens, read in some hundredths of a second."""


class LogTape:
    """The lines for the log panes, read by themselves: a pane shows few lines, whichever way the figures were reached.

    Args:
        logs: What is replayed.
        fresh: Makes what reads lines.
    """

    def __init__(self, logs: Sequence[Recorded], fresh: Callable[[], Tracker]) -> None:
        self._logs = [log for log in logs if log.source is not Source.PROGRESS]
        self._fresh = fresh
        self._reader = fresh()
        self._places = [0] * len(self._logs)

    def onward(self, moment: datetime) -> tuple[LogLine, ...] | None:
        """The lines written since the last moment asked for; None when that is a jump: back, or more than a tail."""
        ends = [log.lines_until(moment) for log in self._logs]
        if any(not place <= end <= place + TAIL for place, end in zip(self._places, ends, strict=True)):
            return None
        return self._read(ends, moment)

    def around(self, moment: datetime) -> tuple[LogLine, ...]:
        """The newest lines at a moment, ``TAIL`` of each log."""
        ends = [log.lines_until(moment) for log in self._logs]
        self._reader = self._fresh()
        self._places = [max(0, end - TAIL) for end in ends]
        return self._read(ends, moment)

    def _read(self, ends: list[int], moment: datetime) -> tuple[LogLine, ...]:
        taken = [
            self._reader.feed(log.source, data, moment)
            for log, place in zip(self._logs, self._places, strict=True)
            if (data := log.between(place, moment)[1])
        ]
        self._places = ends
        return tuple(chain.from_iterable(taken))
