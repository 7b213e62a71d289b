"""Puts the new script in place, and says how far that is while it takes a while."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from console.job.transfer import Transfer
from console.job.units import duration
from remote.files import PutResult, put_file

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from datetime import datetime

    from remote.host import Host

WORTH_BYTES = 1_048_576
"""What is smaller is there before anybody could read how far it is."""

TOLD_EVERY_S = 1.0
"""Seconds between two words of how far it is."""


async def upload(
    host: Host, python: str, path: str, data: bytes, clock: Callable[[], datetime]
) -> AsyncGenerator[str | PutResult]:
    """Put a file in place; gives how far it is, again and again, and at the end what came of it.

    Args:
        host: Where.
        python: The Python on the host that does it.
        path: The file there.
        data: Its content.
        clock: The time now, UTC.

    Raises:
        RemoteError: Those of ``put_file``.
    """
    since, told = clock(), [0]
    every_s = TOLD_EVERY_S if len(data) >= WORTH_BYTES else None

    def sent(count: int) -> None:
        told[0] = count

    putting = asyncio.create_task(put_file(host, python, path, data, sent=sent))
    try:
        while not (await asyncio.wait((putting,), timeout=every_s))[0]:
            yield upload_words(Transfer(told[0], len(data), since, clock()))
        yield await putting
    finally:
        putting.cancel()
        await asyncio.gather(putting, return_exceptions=True)


def upload_words(transfer: Transfer) -> str:
    """Say how far an upload is: ``12,300 of 204,800 kB, 1,025 kB/s, 3 min left``."""
    total = transfer.total / 1000
    if transfer.done >= transfer.total:
        return f"all {total:,.0f} kB are sent; the host writes and compares them"
    far = f"{transfer.done / 1000:,.0f} of {total:,.0f} kB"
    if transfer.rate is None or transfer.left_s is None:
        return far
    return f"{far}, {transfer.rate / 1000:,.0f} kB/s, {duration(transfer.left_s)} left"
