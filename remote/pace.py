"""A limit on bytes per second for somebody who reads: who takes less makes the other side send less."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

BURST_S = 0.25
"""Seconds' worth of bytes that may come at once after a pause, so that a hiccup of the link costs nothing."""


class Pace:
    """Lets at most ``bytes_per_s * (t + BURST_S)`` bytes pass in any time ``t``, and one chunk more.

    Args:
        bytes_per_s: The limit; None for none.
        clock: Seconds that only grow.
        sleep: Waits that many seconds.
    """

    def __init__(
        self,
        bytes_per_s: float | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._seconds_per_byte = 0.0 if bytes_per_s is None else 1.0 / bytes_per_s
        self._clock = clock
        self._sleep = sleep
        self._due = clock()

    async def take(self, size: int) -> None:
        """Wait until this many bytes may pass."""
        now = self._clock()
        self._due = max(self._due, now - BURST_S) + size * self._seconds_per_byte
        if self._due > now:
            await self._sleep(self._due - now)
