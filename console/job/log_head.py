"""What a log's first lines tell of its stamps: whether they have dates, and which line is the first that has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.job.stamp_shapes import CLOCK
from console.job.wrappers import prefix_end

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

_HEAD = 200
"""Lines of a log's beginning in which its first stamp is looked for."""


def clock_of(line: str) -> re.Match[str] | None:
    """A stamp without a date at a line's head, or behind a wrapper's prefix."""
    return CLOCK.match(line, prefix_end(line))


class LogHead:
    """The beginning of one log. Lines may be told twice, when they come and when they are read; they count once.

    Attributes:
        dated: The first line whose stamp has a date; empty while there is none.
        clocked: The first line whose stamp has a time alone. Where there are dated ones too, it is a library's.
    """

    def __init__(self) -> None:
        self.dated = self.clocked = ""
        self._left, self._told = _HEAD, 0

    @property
    def first(self) -> str:
        """The first line with a stamp of the program's own; empty while there is none."""
        return self.dated or self.clocked

    @property
    def is_dateless(self) -> bool:
        """Whether the stamps have no date."""
        return not self.dated and bool(self.clocked)

    def needs_rest(self, lines: Sequence[str], has_stamp: Callable[[str], bool]) -> bool:
        """Whether times of a backlog's lines depend on lines that are still to come.

        They do where stamps have no date, and as long as no stamp has come.

        Args:
            lines: The next ones; ``learn`` is told of them later, with those before and behind.
            has_stamp: Whether a line has a stamp of any kind.
        """
        if not self.dated:
            self._learn(lines, has_stamp)
            self._told += len(lines)
        return self.is_dateless or (not self.first and self._left > 0)

    def learn(self, lines: Sequence[str], has_stamp: Callable[[str], bool]) -> None:
        """Learn from lines that are about to be read; costs next to nothing for most logs."""
        if not self.dated:
            self._learn(lines[self._told :], has_stamp)
        self._told = 0

    def _learn(self, lines: Sequence[str], has_stamp: Callable[[str], bool]) -> None:
        head, self._left = lines[: self._left], max(0, self._left - len(lines))
        for line in head:
            if clock_of(line):
                self.clocked = self.clocked or line
            elif CLOCK.search(line) is None and has_stamp(line):
                self.dated = line
                break
        if not (self.first or self._left):
            self.clocked = next((line for line in lines if line[3:4] == ":" and CLOCK.match(line)), "")
