"""Read an older part of a file on the host, slowly, while ``remote.tail`` follows its end.

The reader sets the pace: what it doesn't take stays on the host, but for what SSH's window holds (2 MiB). A part that
was cut off is read on from its last offset.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from remote.errors import FileUnavailable, RemoteError
from remote.frames import MARK_BYTES, Chunk, Cursor
from remote.pace import Pace

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from remote.host import Host

HELLO = b"longwait-fill 1 "
"""Begins the program's first line, after whatever the login shell printed."""
CHUNK_BYTES = 65_536
"""Bytes per chunk at most: small steps keep a low pace even."""
_MAX_NOISE = 65_536


@cache
def program() -> str:
    """The shell program, without its comments: the host's process list shows it."""
    lines = Path(__file__).with_name("fill.sh").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if line and not line.lstrip().startswith("#"))


async def read_range(
    host: Host, path: str, inode: int, start: int, end: int, *, bytes_per_s: float | None, pace: Pace | None = None
) -> AsyncGenerator[Chunk, None]:
    """Read the bytes from ``start`` up to ``end`` of a file; ends when they have come.

    Args:
        host: Where the file is.
        path: The file's path when its inode was learnt; rotated files of the same folder are looked through too.
        inode: Which file it is.
        start: Offset of the first byte; after a cut, the last chunk's ``cursor.offset``.
        end: Offset after the last byte.
        bytes_per_s: Bytes a second at most; None for no limit.
        pace: In place of ``bytes_per_s``: a limit shared by several reads.

    Raises:
        FileUnavailable: The file is gone, may not be read, or is shorter than ``end``.
        LinkLost: The link broke; call again with the last offset as ``start``.
        RemoteError: The program can't run there, or something else answered.
    """
    pace = pace or Pace(bytes_per_s)
    at, tail = start, b""
    async with host.stream(["sh", "-c", program(), "longwait-fill", path, *map(str, (inode, start, end))]) as output:
        data = await _after_greeting(output, host, path)
        while at < end:
            for piece in (data[cut : cut + CHUNK_BYTES] for cut in range(0, len(data), CHUNK_BYTES)):
                await pace.take(len(piece))
                at, tail = at + len(piece), (tail + piece[-MARK_BYTES:])[-MARK_BYTES:]
                yield Chunk(piece, Cursor(inode, at, tail.hex()))
            try:
                data = await anext(output) if at < end else b""
            except StopAsyncIteration:
                break
    if at < end:
        message = f"{path} on {host.name} was cut short while its older part was read: {end - at:,} bytes are gone."
        raise FileUnavailable(message, host=host.name)


async def _after_greeting(output: AsyncIterator[bytes], host: Host, path: str) -> bytes:
    """The first bytes of the file."""
    said = bytearray()
    async for data in output:
        said += data
        at = 0 if said.startswith(HELLO) else said.find(b"\n" + HELLO) + 1
        if said.startswith(HELLO, at) and (line_end := said.find(b"\n", at)) >= 0:
            return _understood(bytes(said[at:line_end]), bytes(said[line_end + 1 :]), host, path)
        if len(said) > _MAX_NOISE:
            break
    message = f"Reading {path} on {host.name} gave something else than expected; does its login shell start another?"
    raise RemoteError(message, host=host.name)


def _understood(greeting: bytes, rest: bytes, host: Host, path: str) -> bytes:
    match greeting.removeprefix(HELLO):
        case b"ok":
            return rest
        case b"unreadable":
            raise FileUnavailable(f"The older part of {path} on {host.name} may not be read.", host=host.name)
        case _:
            message = (
                f"The older part of {path} on {host.name} is gone: no file of its folder is the one that it was in."
            )
            raise FileUnavailable(message, host=host.name)
