"""Chunks of a long file: small enough to work on one, each with a cursor from which reading goes on."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from remote.frames import MARK_BYTES
from remote.local import LocalHost
from remote.tail import CHUNK_BYTES, Chunk
from tests.tailing import Seen, append

if TYPE_CHECKING:
    from pathlib import Path


async def test_each_chunk_is_small_and_can_be_resumed_from(tmp_path: Path) -> None:
    data = random.Random(5).randbytes(5_000_003)
    seen = Seen(LocalHost(), tmp_path / "log")
    append(seen.path, data)
    async with seen.reading():
        await seen.until(data)
    chunks = [event for event in seen.events if isinstance(event, Chunk)]
    assert max(len(chunk.data) for chunk in chunks) == CHUNK_BYTES
    for chunk in chunks:
        end = chunk.cursor.offset
        assert chunk.data == data[end - len(chunk.data) : end]
        assert bytes.fromhex(chunk.cursor.mark) == data[max(0, end - MARK_BYTES) : end]
    for chunk in chunks[:: len(chunks) // 4]:
        again = Seen(LocalHost(), seen.path, cursor=chunk.cursor)
        async with again.reading():
            await again.until(data[chunk.cursor.offset :])
        assert again.resets() == []
