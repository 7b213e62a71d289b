"""Which lines of a log are kept, which are shown, and which are looked for; bounded, and no screen."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

from widgets.plain import LINE_LIMIT, clean, widest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from widgets.log_find import Finder

MAX_LINES = 5_000
"""Lines kept: an hour of a talkative server, and at most some tens of MB of text."""

MAX_CHARACTERS = 4_000_000
"""Characters kept: 5,000 lines of 800, more than any server prints for long; a log of endless lines is bounded too."""

Level = Literal["info", "warning", "error", "quiet", "gap"]
"""How a line matters; a gap is no line of the log, but says that something is missing there."""

SIGNS: dict[Level, str] = {"info": "  ", "warning": "! ", "error": "✗ ", "quiet": "  ", "gap": "! "}
"""What stands before a line, so that its level is not told by colour alone."""

SIGN_CELLS = 2
"""Cells of each sign."""


class LogText(NamedTuple):
    """One line of a log; a tuple, since ten thousand a second can be made.

    Attributes:
        text: Any text; it is made safe when it is drawn.
        level: How the line matters.
        stamp: The time to show before it; may be empty.
        tags: What it is marked with, to choose lines by.
        written: The line as it was written, for copying; empty when it is the text.
    """

    text: str
    level: Level = "info"
    stamp: str = ""
    tags: frozenset[str] = frozenset()
    written: str = ""

    @property
    def original(self) -> str:
        """The line as it was written, made safe and bounded like all that is drawn."""
        return clean(self.written or self.text)


def _short(line: LogText) -> LogText:
    """Cut a line to what can be drawn of it."""
    if len(line.text) <= LINE_LIMIT and len(line.written) <= LINE_LIMIT:
        return line
    # One character more than is drawn, so that drawing sees that something was cut.
    return line._replace(text=line.text[: LINE_LIMIT + 1], written=line.written[: LINE_LIMIT + 1])


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
    """The newest lines of a log, those of them that pass a filter, and those of these that are looked for.

    Attributes:
        kept: All lines in memory, oldest first.
        shown: Those that pass the filter, oldest first.
        width: An upper bound for the cells of any line shown since the filter was set.
        characters: Characters of all lines in memory.
    """

    def __init__(self, max_lines: int = MAX_LINES, max_characters: int = MAX_CHARACTERS) -> None:
        self.kept: deque[LogText] = deque()
        self.shown: deque[LogText] = deque()
        self.width = 0
        self.characters = 0
        self._most = (max(1, max_lines), max_characters)
        self._filter: Finder | None = None
        self._only: Callable[[LogText], bool] | None = None
        self._wanted: Finder | None = None
        # Shown lines are numbered from the first that ever was; the numbers of those looked for stand in order.
        self._first = 0
        self._hits: deque[int] = deque()

    def add(self, lines: Iterable[LogText]) -> Change:
        """Add lines at the end and let the oldest go.

        A line costs the same however long it is: it is cut here, and made safe only when it is drawn.
        """
        came = gone = 0
        for line in lines:
            short = _short(line)
            self.characters += len(short.text) + len(short.written)
            self.kept.append(short)
            came += self._show(short)
            while len(self.kept) > self._most[0] or (self.characters > self._most[1] and len(self.kept) > 1):
                gone += self._drop_oldest()
        return Change(came, gone)

    def clear(self) -> None:
        """Forget all lines; the filter stays."""
        self.kept.clear()
        self.characters = 0
        self.choose(self._filter, self._only)

    def choose(self, finder: Finder | None, only: Callable[[LogText], bool] | None = None) -> None:
        """Show only some lines.

        Args:
            finder: Those in which it is found, as they are drawn; None for all.
            only: Of these, those for which it holds, and the gaps; None for all.
        """
        self._filter, self._only = finder, only
        self.shown.clear()
        self._hits.clear()
        self._first = self.width = 0
        for line in self.kept:
            self._show(line)

    def look_for(self, finder: Finder | None) -> None:
        """Count the shown lines in which this is found, from now on; None for none."""
        self._wanted = finder
        self._hits.clear()
        if finder is not None:
            texts = (clean(line.text) for line in self.shown)
            self._hits.extend(
                number for number, text in enumerate(texts, self._first) if finder.search(text) is not None
            )

    @property
    def hits(self) -> int:
        """Shown lines that are looked for."""
        return len(self._hits)

    def rank(self, index: int) -> int:
        """Give how many of the lines looked for stand at or before a shown line."""
        return bisect_right(self._hits, self._first + index)

    def next_hit(self, index: int, *, back: bool) -> int | None:
        """Give the nearest line looked for after a shown line, or before it; None when there is none."""
        number = self._first + index
        place = bisect_left(self._hits, number) - 1 if back else bisect_right(self._hits, number)
        return self._hits[place] - self._first if 0 <= place < len(self._hits) else None

    def next_level(self, index: int, level: Level, *, back: bool) -> int | None:
        """Give the nearest shown line of a level after a line, or before it; None when there is none."""
        last = len(self.shown) - 1
        if back:
            lines = islice(reversed(self.shown), last - index + 1, None)
            return next((index - 1 - far for far, line in enumerate(lines) if line.level == level), None)
        lines = islice(self.shown, index + 1, None)
        return next((index + 1 + far for far, line in enumerate(lines) if line.level == level), None)

    def _drop_oldest(self) -> bool:
        """Let the oldest line go; whether it was shown."""
        oldest = self.kept.popleft()
        self.characters -= len(oldest.text) + len(oldest.written)
        # Both queues have one order, so the oldest line is shown if and only if it is the first shown.
        was_shown = bool(self.shown) and self.shown[0] is oldest
        if was_shown:
            self.shown.popleft()
            if self._hits and self._hits[0] == self._first:
                self._hits.popleft()
            self._first += 1
        return was_shown

    def _show(self, line: LogText) -> bool:
        """Add a line to the shown ones if it passes; whether it did."""
        finder, only, wanted, text = self._filter, self._only, self._wanted, line.text
        if only is not None and line.level != "gap" and not only(line):
            return False
        if finder is not None or wanted is not None:
            text = clean(text)
            if finder is not None and finder.search(text) is None:
                return False
        self.shown.append(line)
        if wanted is not None and wanted.search(text) is not None:
            self._hits.append(self._first + len(self.shown) - 1)
        raw, stamp = line.text, line.stamp
        if len(raw) + len(stamp) + SIGN_CELLS < self.width and raw.isascii() and stamp.isascii() and "\t" not in raw:
            return True  # nearly always; it is known without measuring that there is room for it
        self._widen(line)
        return True

    def _widen(self, line: LogText) -> None:
        """See to it that the width is enough for a line."""
        extra = (widest(line.stamp) + 1 if line.stamp else 0) + len(SIGNS[line.level])
        self.width = max(self.width, widest(line.text) + extra)
