"""Lines of a backlog that wait for its end: where stamps leave out the day, or the start, the last line tells it.

A backlog comes in pieces. Each piece by itself would be taken for the newest that there is, and its days reckoned back
from today; so a log whose stamps are of this kind is read when all of it has come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_CHARS = 32 * 1_048_576
"""Characters that are held at most: some hundred thousand lines. Logs of engines at this length have dates."""


class Unread:
    """The lines of one log that were not read yet."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._chars = 0
        self.burst = False
        """More came than may be held: what was held then was read as though nothing followed."""

    def take(self, lines: Sequence[str], *, hold: bool) -> Sequence[str]:
        """Add lines; give those that are to be read now, in order.

        Args:
            lines: The next ones.
            hold: More is to come, and what these say depends on it.
        """
        if not hold and not self._lines:
            return lines
        self._lines += lines
        self._chars += sum(map(len, lines))
        if hold and self._chars <= MOST_CHARS:
            return []
        self.burst = self.burst or hold
        ready, self._lines, self._chars = self._lines, [], 0
        return ready

    def __len__(self) -> int:
        """Lines that wait."""
        return len(self._lines)
