"""Which lines of a log are kept and which are shown; bounded, and no screen."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from widgets.plain import LINE_LIMIT, measured, widest

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

MAX_LINES = 5_000
"""Lines kept: an hour of a talkative server, and at most some tens of MB of text."""

Level = Literal["info", "warning", "error", "quiet"]
"""How a line matters."""

SIGNS: dict[Level, str] = {"info": "  ", "warning": "! ", "error": "✗ ", "quiet": "  "}
"""What stands before a line, so that its level is not told by colour alone."""


@dataclass(frozen=True, slots=True)
class LogText:
    """One line of a log.

    Attributes:
        text: Any text; it is made safe when it is drawn.
        level: How the line matters.
        stamp: The time to show before it; may be empty.
    """

    text: str
    level: Level = "info"
    stamp: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What adding lines did to the shown ones.

    Attributes:
        came: Shown lines that were added at the end.
        gone: Shown lines that went at the start.
    """

    came: int
    gone: int


class LogBuffer:
    """The newest lines of a log, and those of them that pass a filter.

    Attributes:
        kept: All lines in memory, oldest first.
        shown: Those that pass the filter, oldest first.
        width: An upper bound for the cells of any line shown since the filter was set.
    """

    def __init__(self, max_lines: int = MAX_LINES) -> None:
        self.kept: deque[LogText] = deque(maxlen=max(1, max_lines))
        self.shown: deque[LogText] = deque()
        self.width = 0
        self._filter: re.Pattern[str] | None = None

    def add(self, lines: Iterable[LogText]) -> Change:
        """Add lines at the end and let the oldest go.

        A line costs the same however long it is: it is cut here, and made safe only when it is drawn.
        """
        came = gone = 0
        for line in lines:
            gone += self._drop_oldest()
            # One character more than is drawn, so that drawing sees that something was cut.
            short = line if len(line.text) <= LINE_LIMIT else replace(line, text=line.text[: LINE_LIMIT + 1])
            self.kept.append(short)
            came += self._show(short)
        return Change(came, gone)

    def clear(self) -> None:
        """Forget all lines; the filter stays."""
        self.kept.clear()
        self.choose(self._filter)

    def choose(self, pattern: re.Pattern[str] | None) -> None:
        """Show only lines in which the pattern is found, as they are drawn; None for all."""
        self._filter = pattern
        self.shown.clear()
        self.width = 0
        for line in self.kept:
            self._show(line)

    def _drop_oldest(self) -> bool:
        """Make room for a line when there is none; whether a shown line went for it."""
        if len(self.kept) < (self.kept.maxlen or 1):
            return False
        oldest = self.kept.popleft()
        # Both queues have one order, so the oldest line is shown if and only if it is the first shown.
        was_shown = bool(self.shown) and self.shown[0] is oldest
        if was_shown:
            self.shown.popleft()
        return was_shown

    def _show(self, line: LogText) -> bool:
        """Add a line to the shown ones if it passes; whether it did."""
        if self._filter is not None and self._filter.search(measured(line.text)[0]) is None:
            return False
        self.shown.append(line)
        extra = (widest(line.stamp) + 1 if line.stamp else 0) + len(SIGNS[line.level])
        self.width = max(self.width, widest(line.text) + extra)
        return True
