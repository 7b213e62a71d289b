"""Reads the older part of the server's log behind the present, then puts the whole in its place.

The newest part of a log is read first, so that the screen is right within seconds. What lies before it (the peak, the
retractions since the server's start, when it started) is read meanwhile, no faster than the config allows, into a
tracker of its own. When that has come as far as the present one, it takes its place: the last step is made while the
present one stands still, so that no byte is missing and none counts twice.

Of a log of several files all are read by turns, at one pace for all together, and their lines counted in the order of
their times (``console.job.part_order``).
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.job.events import Source
from console.job.transfer import Transfer
from remote.errors import FileUnavailable, LinkLost
from remote.fill import read_range
from remote.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import datetime

    from console.feed_sources import SourceFollower
    from console.job.past import PastTracker
    from console.job.tracker import Tracker
    from remote.host import Host

LAST_STEP_BYTES = 262_144
"""When no more than this is missing, the present waits for the rest: some tens of milliseconds."""

TURN_BYTES = 4_194_304
"""Bytes of all files together that are read ahead of the order of time at most, so that memory is bounded: a turn of
one of n files is an n-th of it."""

LEAST_TURN_BYTES = 262_144
"""A turn is a command on the host. They are made one after the other: a host allows ten sessions of a connection, and
the present of each file has one."""

CUT_PAUSE_S = 0.5
"""Seconds after a cut link before it is asked whether it is up again."""


@dataclass(slots=True)
class _File:
    """One file, as far as its past was read.

    Attributes:
        follower: Who reads its present.
        inode: Which file it was at first sight.
        resets: How often it had been replaced until then.
        at: Offset that was reached.
    """

    follower: SourceFollower
    inode: int
    resets: int
    at: int = 0

    @property
    def missing(self) -> int:
        """Bytes between here and the present."""
        cursor = self.follower.cursor
        return 0 if cursor is None else cursor.offset - self.at

    @property
    def is_same(self) -> bool:
        """Whether the present is still of this file."""
        cursor = self.follower.cursor
        # Copy-and-truncate keeps the inode, so it alone does not say that the file is the same.
        return cursor is not None and cursor.inode == self.inode and self.follower.resets == self.resets


class Filler:
    """Fills in the past of the server's log.

    Args:
        host: Where it is.
        followers: One for each of its files; their cursors say how far the present has come.
        fresh: Makes a tracker that has read nothing.
        bytes_per_s: How fast it may read, all files together.
        wait_up: Waits until there is a connection.
        clock: The time now, UTC.
    """

    def __init__(
        self,
        host: Host,
        followers: Sequence[SourceFollower],
        fresh: Callable[[], PastTracker],
        *,
        bytes_per_s: float,
        wait_up: Callable[[], Awaitable[None]],
        clock: Callable[[], datetime],
    ) -> None:
        self._host = host
        self._followers = followers
        self._fresh = fresh
        self._pace = Pace(bytes_per_s)
        self._wait_up = wait_up
        self._clock = clock
        self._files: dict[str, _File] = {}
        self._since: datetime | None = None

    def progress(self, at: datetime) -> Transfer | None:
        """How far the past is; None while none is being filled in.

        Args:
            at: The moment.
        """
        files = self._files.values()
        if self._since is None or not files:
            return None
        return Transfer(sum(file.at for file in files), sum(file.at + file.missing for file in files), self._since, at)

    async def run(self, tracker: Tracker) -> bool:
        """Fill in what lies before the present.

        Returns:
            False when nothing was to be done.

        Raises:
            RemoteError: A file can't be read, or was replaced meanwhile; the present goes on without its past.
        """
        for follower in self._followers:
            await follower.caught_up.wait()
        if not tracker.past_missing:
            return False
        past, self._since = self._fresh(), self._clock()
        try:
            return await self._fill(past, tracker)
        finally:
            self._since = None

    async def _fill(self, past: PastTracker, tracker: Tracker) -> bool:
        """Read on until the past has come as far as the present, then put it in place."""
        while True:
            while self._missing() > LAST_STEP_BYTES:
                await self._turn(past)
            async with AsyncExitStack() as still:
                for follower in self._followers:
                    await still.enter_async_context(follower.standing_still())
                if not any(file.follower.is_behind for file in self._files.values()):
                    await self._put_in_place(past, tracker)
                    return True
            await asyncio.sleep(CUT_PAUSE_S)

    async def _put_in_place(self, past: PastTracker, tracker: Tracker) -> None:
        """Read the last step, while the present stands still, and let the whole take its place."""
        while self._missing():
            await self._turn(past)
        for part in self._files:
            past.feed(Source.SERVER, b"", self._clock(), part=part)
        tracker.adopt_server(past)

    def _missing(self) -> int:
        """Bytes of all files that are still to be read.

        Raises:
            FileUnavailable: One was replaced: its past can't be told from its present any more.
        """
        for follower in self._followers:
            if follower.cursor is not None and follower.part not in self._files:
                self._files[follower.part] = _File(follower, follower.cursor.inode, follower.resets)
        for file in self._files.values():
            if not file.is_same or file.missing < 0:
                message = f"{file.follower.path} was rotated or replaced while its older part was read."
                raise FileUnavailable(message, host=self._host.name)
        return sum(file.missing for file in self._files.values())

    async def _turn(self, past: PastTracker) -> None:
        """Read on in the file that has come least far in time."""
        for part, file in self._files.items():
            past.feed(Source.SERVER, b"", self._clock(), part=part, more=bool(file.missing))
        file = self._files[past.next_of(part for part, file in self._files.items() if file.missing)]
        size = file.missing if len(self._files) == 1 else max(LEAST_TURN_BYTES, TURN_BYTES // len(self._files))
        end = file.at + min(size, file.missing)
        while file.at < end:
            try:
                await self._read(past, file, end)
            except LinkLost:
                await asyncio.sleep(CUT_PAUSE_S)
                await self._wait_up()

    async def _read(self, past: PastTracker, file: _File, end: int) -> None:
        path, part = file.follower.path, file.follower.part
        chunks = read_range(self._host, path, file.inode, file.at, end, bytes_per_s=None, pace=self._pace)
        async with aclosing(chunks):
            async for chunk in chunks:
                past.feed(Source.SERVER, chunk.data, self._clock(), part=part, more=True)
                if past.burst:
                    message = f"The lines of {path} have no dates, and there are too many of them to reckon their days."
                    raise FileUnavailable(message, host=self._host.name)
                file.at = chunk.cursor.offset
                await asyncio.sleep(0)
