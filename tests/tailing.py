"""Follows a file in a test: collects events, cuts and resumes, and compares what came with what was written."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from remote.tail import Beat, Chunk, Cursor, Reset, TailEvent, Waiting, follow
from tests.waits import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from remote.host import Host

POLL_S = 0.02


@dataclass
class Seen:
    """What one reader has got so far; ``cursor`` survives its interruptions."""

    host: Host
    path: Path
    data: bytes = b""
    cursor: Cursor | None = None
    events: list[TailEvent] = field(default_factory=list)
    last_bytes: int | None = None

    def resets(self) -> list[tuple[str, int | None]]:
        return [(event.kind, event.lost_bytes) for event in self.events if isinstance(event, Reset)]

    def waits(self) -> list[str]:
        return [event.kind for event in self.events if isinstance(event, Waiting)]

    def beats(self) -> list[Beat]:
        return [event for event in self.events if isinstance(event, Beat)]

    async def read(self) -> None:
        """Follow until cancelled or cut."""
        tail = follow(self.host, str(self.path), cursor=self.cursor, last_bytes=self.last_bytes, poll_s=POLL_S)
        async with aclosing(tail) as events:
            async for event in events:
                self.events.append(event)
                if isinstance(event, Chunk):
                    self.data += event.data
                    self.cursor = event.cursor

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Seen]:
        """Follow while the context lasts."""
        task = asyncio.create_task(self.read())
        try:
            yield self
        finally:
            task.cancel()
            results = await asyncio.gather(task, return_exceptions=True)
            assert task.cancelled(), results

    async def until(self, data: bytes) -> None:
        """Wait until exactly this has come; more of it fails."""
        try:
            await until(lambda: len(self.data) >= len(data))
        finally:
            assert self.data == data, self.events[-5:]


def numbered(first: int, last: int) -> bytes:
    """Numbered lines, so that a lost or doubled one shows."""
    return b"".join(b"line %d\n" % n for n in range(first, last + 1))


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)
