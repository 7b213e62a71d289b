"""Waiting for a condition, with a bound; never for a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable


async def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Return when the condition holds; TimeoutError when it doesn't in that many seconds."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  (a condition of other processes has no event)
            await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process runs; one that waits to be reaped doesn't."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
