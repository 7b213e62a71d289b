"""Follows one log for as long as the console is open: through link cuts, rotation and a file that is not there yet."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

from console.job.events import Source, SourceFact
from remote.errors import LinkLost, RemoteError
from remote.tail import Beat, Chunk, Cursor, Reset, Waiting, follow

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from console.feed_outbox import Outbox
    from console.job.tracker import Tracker
    from remote.host import Host
    from remote.link import Link

RETRY_S = 5.0
"""Seconds before a log that could not be followed is tried again while the link is up."""

LINK_PAUSE_S = 0.2
"""Seconds after a cut before asking whether the link is up: its supervisor hears of the cut a moment later."""


class SourceFollower:
    """One log, from the host to the tracker.

    Args:
        source: Which log it is.
        path: Its path on the host.
        last_bytes: Bytes of its end to begin with; None for the whole file.
    """

    def __init__(
        self,
        source: Source,
        path: str,
        *,
        host: Host,
        link: Link,
        outbox: Outbox,
        clock: Callable[[], datetime],
        last_bytes: int | None = None,
    ) -> None:
        self.source = source
        self.path = path
        self._host = host
        self._link = link
        self._outbox = outbox
        self._clock = clock
        self._last_bytes = last_bytes
        self._cursor: Cursor | None = None
        self.caught_up = asyncio.Event()

    async def run(self, tracker: Tracker) -> None:
        """Follow until cancelled; every interruption goes on at the byte where it stopped."""
        while True:
            await self._link.wait_up()
            try:
                await self._follow_once(tracker)
            except LinkLost:
                await asyncio.sleep(LINK_PAUSE_S)
            except RemoteError as error:
                self._tell(tracker, "unreadable", error.message)
                self.caught_up.set()
                await asyncio.sleep(RETRY_S)

    async def _follow_once(self, tracker: Tracker) -> None:
        events = follow(self._host, self.path, cursor=self._cursor, last_bytes=self._last_bytes)
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Chunk):
                    await self._take(event, tracker)
                else:
                    self._hear(event, tracker)

    async def _take(self, chunk: Chunk, tracker: Tracker) -> None:
        """Pass bytes on; the cursor moves with them, so that a cut in between repeats or skips nothing."""
        lines = tracker.feed(self.source, chunk.data, self._clock())
        self._cursor = chunk.cursor
        await self._outbox.put(lines)
        # Parsing a full chunk takes some milliseconds; the screen's keys come first.
        await asyncio.sleep(0)

    def _hear(self, event: Reset | Waiting | Beat, tracker: Tracker) -> None:
        match event:
            case Reset(kind=kind, lost_bytes=lost):
                tracker.reset_source(self.source)
                gone = (
                    "" if lost == 0 else f"; {'an unknown number of' if lost is None else f'{lost:,}'} bytes are gone"
                )
                self._tell(tracker, kind, f"{self.path} was {kind} and is read from its beginning{gone}.", lost or 0)
            case Waiting(reason=reason, kind=kind):
                self._tell(tracker, "missing" if kind == "missing" else "unreadable", reason)
                self.caught_up.set()
            case Beat(at_end=at_end):
                self._tell(tracker, "following")
                if at_end:
                    self.caught_up.set()

    def _tell(self, tracker: Tracker, state: str, reason: str = "", lost: int = 0) -> None:
        fact = SourceFact(source=self.source, state=state, path=self.path, reason=reason, lost_bytes=lost)
        tracker.note(fact, self._clock())
        self._outbox.mark()
