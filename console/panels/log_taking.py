"""How lines come into the panes of the logs: each to its own, a large batch in turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.panels.log_queue import TURN_S, LineQueue
from console.panels.log_text import LineReader
from console.panels.log_words import NAMES, SHOWN
from console.panels.panel import Panel
from widgets.follow_view import DRAWN_EVERY_S
from widgets.log_view import LogView
from widgets.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import tzinfo

    from textual.timer import Timer

    from console.job.events import LogLine, Source


class LogTaking(Panel, can_focus=False):
    """The logs' panes, and what gives them their lines; which of them are shown, and how, is the subclass's."""

    def __init__(self, zone: tzinfo | None = None, *, id: str | None = None) -> None:  # noqa: A002 -- textual's name for it
        """Take the operator's zone; None is this machine's."""
        super().__init__(zone, id=id)
        self._views = {source: LogView(title=NAMES[source], id=f"log-{source.value}") for source in SHOWN}
        self._readers = {source: LineReader(zone) for source in SHOWN}
        self._queue = LineQueue()
        self._turns: Timer | None = None
        self._counting = Pace(self, DRAWN_EVERY_S, self._say_count)

    def on_mount(self) -> None:
        """Be ready to take lines in turns; the timer stands still while none wait."""
        self._turns = self.set_interval(TURN_S, self._take_turn, pause=True)

    def append(self, lines: Iterable[LogLine]) -> None:
        """Give each line to its pane, in order: the first at once, the rest of a large batch in turns."""
        waited = len(self._queue)
        self._queue.put(lines)
        if not waited:
            self._take_turn()

    def replace(self, lines: Iterable[LogLine]) -> None:
        """Show these lines and none of those before; at once, since what is half replaced would be of two moments."""
        self._queue.clear()
        for view in self._views.values():
            view.clear()
        self._give(lines)

    def _take_turn(self) -> None:
        """Give the lines of one turn to their panes, and see that the next turn comes."""
        self._give(self._queue.take())
        if self._turns is not None:
            if self._queue:
                self._turns.resume()
            else:
                self._turns.pause()

    def _give(self, lines: Iterable[LogLine]) -> None:
        batches: dict[Source, list[LogLine]] = {source: [] for source in SHOWN}
        for line in lines:
            if line.source in batches:
                batches[line.source].append(line)
        for source, batch in batches.items():
            if batch:
                self._views[source].append(self._readers[source].read(batch))
        self._counting.ask()

    def _say_count(self) -> None:
        """Say how many lines there are now, where that is said."""
