"""A session that is followed in the background, for a command that acts beside it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from console.facts import SnapshotTaken
from console.session import now
from remote.errors import CannotConnect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from console.job.snapshot import Snapshot
    from console.session import Session


class Unreached(CannotConnect):
    """The host can't be seen; the message is the link's own reason."""


class Watched:
    """What the feed has told so far.

    Args:
        session: Made, not yet connected.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._new = asyncio.Event()
        self._link = ""
        self._ended: BaseException | None = None

    @property
    def snapshot(self) -> Snapshot:
        """All that is known now."""
        return self._session.feed.snapshot(now())

    async def up(self) -> None:
        """Wait until the host is reached.

        Raises:
            Unreached: It is not, as the first try shows.
        """
        while True:
            link = self.snapshot.link
            if link.state == "up":
                return
            if link.state in {"lost", "refused"}:
                raise Unreached(link.reason, host=link.host)
            await self.news()

    async def news(self) -> None:
        """Wait until the feed has told something.

        Raises:
            Exception: What the feed died of.
        """
        if self._ended is not None:
            raise self._ended
        self._new.clear()
        await self._new.wait()

    async def follow(self) -> None:
        """Take the feed's facts until cancelled."""
        try:
            async with aclosing(self._session.feed.facts()) as facts:
                async for fact in facts:
                    if isinstance(fact, SnapshotTaken):
                        self._new.set()
        except Exception as error:
            self._ended = error
            raise
        finally:
            self._new.set()


@asynccontextmanager
async def watched(session: Session) -> AsyncIterator[Watched]:
    """Follow a session while the block runs; the link is closed at its end."""
    watch = Watched(session)
    task = asyncio.create_task(watch.follow())
    try:
        yield watch
    finally:
        task.cancel()
        # What the feed died of must not pass for a quiet host.
        (end,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(end, Exception):
            raise end
