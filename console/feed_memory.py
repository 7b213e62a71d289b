"""The feed's history: taken up at the start, kept every few seconds and at the end.

What was derived and how far each log was read are saved together, from one moment of the event loop: nothing is missing
and nothing counts twice, whenever the console ends. A log that is a command's output is read on where the tool can do
so (``remote.log_commands``); any other command starts anew, and its follower says so.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from console.history import History, Place, history_path
from console.history_old import remove_old

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from console.config import Settings
    from console.feed_sources import SourceFollower
    from console.history_rows import AnyCursor
    from console.job.events import LogLine
    from console.job.snapshot import Snapshot
    from console.job.tracker import Tracker


class Memory:
    """One run's history, as the feed needs it.

    Args:
        settings: Of the run: its host and logs name the file.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._history: History | None = None
        self._lines: list[LogLine] = []
        self._changed = False
        self._saving: asyncio.Future[bool] | None = None

    @property
    def pause_s(self) -> float:
        """Seconds to leave before the next ``keep``."""
        return self._history.pause_s if self._history is not None else 3600.0

    @property
    def trouble(self) -> str:
        """Why nothing is kept, as a sentence; empty while all is well."""
        return self._history.trouble if self._history is not None else ""

    def begin(self, tracker: Tracker, followers: Sequence[SourceFollower], now: datetime) -> tuple[LogLine, ...]:
        """Open the history and take up what it holds; give the lines that stood on the screen.

        Histories of other runs that nobody has opened for long are removed.

        Args:
            tracker: A fresh one; becomes what the former console's was.
            followers: They are told where the former console stopped.
            now: The time now.
        """
        paths = [f"{follower.source}:{follower.name}" for follower in followers]
        path = history_path(self._settings.host, paths)
        history = self._history = History.open(path)
        remove_old(path, now)
        restored = history.load()
        if restored is None:
            return ()
        if not tracker.thaw(restored.state):
            history.forget()
            return ()
        for follower in followers:
            follower.go_on(restored.cursors.get(_place_of(follower)))
        return restored.lines

    def take(self, lines: Sequence[LogLine]) -> None:
        """Remember, for the next ``keep``, what a chunk brought."""
        if self._history is not None:
            self._lines += lines
            self._changed = True

    def note(self, snapshot: Snapshot) -> None:
        """Take in what the screen is shown; of this, few figures are kept."""
        if self._history is not None:
            self._changed |= self._history.note(snapshot)

    async def keep(self, tracker: Tracker, followers: Sequence[SourceFollower], at: datetime) -> None:
        """Save, when something changed."""
        if self._history is not None and self._changed:
            moment = self._moment(tracker, followers)
            self._saving = asyncio.ensure_future(asyncio.to_thread(self._history.save, *moment, at))
            # Who ends meanwhile waits for it: an older moment must never be saved behind a newer one.
            await asyncio.shield(self._saving)

    async def end(self, tracker: Tracker, followers: Sequence[SourceFollower], at: datetime) -> None:
        """Save the last moment, and close."""
        if self._history is not None:
            if self._saving is not None:
                await asyncio.gather(self._saving, return_exceptions=True)
            if self._changed:
                self._history.save(*self._moment(tracker, followers), at)
            self._history.close()

    def notices(self) -> tuple[str, ...]:
        """What the operator should hear of the history; each is given once."""
        if self._history is None:
            return ()
        told, self._history.notices = tuple(self._history.notices), []
        return told

    def _moment(
        self, tracker: Tracker, followers: Sequence[SourceFollower]
    ) -> tuple[dict[Place, AnyCursor], bytes, list[LogLine]]:
        """Cursors, state and lines of one moment: there is no await between them."""
        cursors = {_place_of(each): each.place for each in followers if each.place is not None}
        lines, self._lines, self._changed = self._lines, [], False
        return cursors, tracker.freeze(), lines


def _place_of(follower: SourceFollower) -> Place:
    return Place(follower.source, follower.name)
