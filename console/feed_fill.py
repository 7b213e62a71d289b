"""Reads the older part of the server's log behind the present, then puts the whole in its place.

The newest part of a log is read first, so that the screen is right within seconds. What lies before it (the peak, the
retractions since the server's start, when it started) is read meanwhile, no faster than the config allows, into a
tracker of its own. When that has come as far as the present one, it takes its place: the last step is made while the
present one stands still, so that no byte is missing and none counts twice.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

from console.job.events import Source
from remote.errors import LinkLost
from remote.fill import read_range
from remote.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from console.feed_sources import SourceFollower
    from console.job.tracker import Tracker
    from remote.host import Host

LAST_STEP_BYTES = 262_144
"""When no more than this is missing, the present waits for the rest: some tens of milliseconds."""

CUT_PAUSE_S = 0.5
"""Seconds after a cut link before it is asked whether it is up again."""


class Filler:
    """Fills in one log's past.

    Args:
        follower: The log; its cursor says how far the present has come.
        fresh: Makes a tracker that has read nothing.
        bytes_per_s: How fast it may read.
        wait_up: Waits until there is a connection.
    """

    def __init__(
        self,
        host: Host,
        follower: SourceFollower,
        fresh: Callable[[], Tracker],
        *,
        bytes_per_s: float,
        wait_up: Callable[[], Awaitable[None]],
        clock: Callable[[], datetime],
    ) -> None:
        self._host = host
        self._follower = follower
        self._fresh = fresh
        self._pace = Pace(bytes_per_s)
        self._wait_up = wait_up
        self._clock = clock
        self._resets = 0

    async def run(self, tracker: Tracker) -> bool:
        """Fill in what lies before the present.

        Returns:
            False when nothing was to be done, or the file was replaced meanwhile: then the past is gone.

        Raises:
            RemoteError: The file can't be read; the present goes on without its past.
        """
        await self._follower.caught_up.wait()
        begun = self._follower.cursor
        if begun is None or not tracker.past_missing:
            return False
        self._resets = self._follower.resets
        past, at = self._fresh(), 0
        while self._same(begun.inode) and self._here() - at > LAST_STEP_BYTES:
            at = await self._read(past, begun.inode, at, self._here())
        async with self._follower.standing_still():
            if not self._same(begun.inode) or at > self._here():
                return False
            await self._read(past, begun.inode, at, self._here())
            tracker.adopt_server(past)
        return True

    def _here(self) -> int:
        cursor = self._follower.cursor
        return 0 if cursor is None else cursor.offset

    def _same(self, inode: int) -> bool:
        cursor = self._follower.cursor
        # Copy-and-truncate keeps the inode, so it alone does not say that the file is the same.
        return cursor is not None and cursor.inode == inode and self._follower.resets == self._resets

    async def _read(self, past: Tracker, inode: int, at: int, end: int) -> int:
        """Read up to ``end``, over cut links; give the offset reached."""
        while at < end:
            try:
                chunks = read_range(self._host, self._follower.path, inode, at, end, bytes_per_s=None, pace=self._pace)
                async with aclosing(chunks):
                    async for chunk in chunks:
                        past.feed(Source.SERVER, chunk.data, self._clock())
                        at = chunk.cursor.offset
                        await asyncio.sleep(0)
            except LinkLost:
                await asyncio.sleep(CUT_PAUSE_S)
                await self._wait_up()
        return at
