"""What is waiting to be told: log lines, none of which is dropped, and the word that something changed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.events import LogLine

MAX_LINES = 5_000
"""Lines that may wait for a slow screen, as many as a pane keeps, a megabyte or two; beyond it, reading the host waits
in turn, and nothing is dropped."""


class Outbox:
    """Between those who bring news and the one who tells it.

    Lines are facts and all are told; the state is told as it is when its turn comes, however often it changed.
    """

    def __init__(self) -> None:
        self._lines: list[LogLine] = []
        self._changed = False
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    async def put(self, lines: Sequence[LogLine]) -> None:
        """Add lines, waiting while too many are untold."""
        if lines:
            await self._room.wait()
            self._lines.extend(lines)
            if len(self._lines) >= MAX_LINES:
                self._room.clear()
        self.mark()

    def mark(self) -> None:
        """Say that the state changed."""
        self._changed = True
        self._news.set()

    async def wait(self, timeout_s: float) -> None:
        """Wait for news, ``timeout_s`` seconds at most."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._news.wait()
        except TimeoutError:
            return

    def take(self) -> tuple[tuple[LogLine, ...], bool]:
        """All lines that wait, and whether the state changed; both are then told."""
        lines, changed = tuple(self._lines), self._changed
        self._lines.clear()
        self._changed = False
        self._news.clear()
        self._room.set()
        return lines, changed
