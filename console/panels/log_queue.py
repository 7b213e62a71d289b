"""Log lines on their way to the panes: a few at a time, so that keys need not wait for thousands of them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from console.job.events import LogLine

TURN_S = 0.01
"""Seconds between two turns; a key that is pressed meanwhile is answered before the next one."""

TURN_LINES = 250
"""Lines of a turn: some three milliseconds of work, and 25,000 lines a second."""

_TURNS = 16
"""A backlog is worked off in about so many turns, each larger than usual, however long it is: it can't grow forever."""


class LineQueue:
    """Lines that wait for their pane, in order; none is left out."""

    def __init__(self) -> None:
        self._waiting: deque[LogLine] = deque()

    def __len__(self) -> int:
        """Lines that wait."""
        return len(self._waiting)

    def put(self, lines: Iterable[LogLine]) -> None:
        """Add lines at the end."""
        self._waiting.extend(lines)

    def clear(self) -> None:
        """Forget what waits."""
        self._waiting.clear()

    def take(self) -> list[LogLine]:
        """Give the lines of one turn, which wait no longer."""
        waiting = self._waiting
        most = min(len(waiting), max(TURN_LINES, len(waiting) // _TURNS))
        if most == len(waiting):
            turn = list(waiting)
            waiting.clear()
            return turn
        return [waiting.popleft() for _ in range(most)]
