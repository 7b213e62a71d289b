"""Follow a file on the host through growth, rotation, truncation and reconnection.

One follow is one remote command: a POSIX shell program (``remote/follow.sh``) that keeps the file open, so that a
rotation by rename loses nothing. When the link breaks, ``follow`` raises; call it again with the last
chunk's cursor and the bytes go on exactly where they stopped.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from remote.errors import RemoteError
from remote.frames import CHUNK_BYTES, Beat, Chunk, Cursor, FrameError, FrameParser, Reset, TailEvent, Waiting

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from remote.host import Host

__all__ = ["CHUNK_BYTES", "Beat", "Chunk", "Cursor", "Reset", "TailEvent", "Waiting", "follow"]

BEAT_S = 5.0
"""Seconds between signs of life. Their failing writes are also what ends the program when nobody reads any more."""


@cache
def program() -> str:
    """The shell program, without its comments: the host's process list shows it."""
    lines = Path(__file__).with_name("follow.sh").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if line and not line.lstrip().startswith("#"))


def follow_argv(path: str, cursor: Cursor | None, last_bytes: int | None, poll_s: float) -> list[str]:
    """The remote command that follows a file."""
    where = (str(cursor.inode), str(cursor.offset), cursor.mark) if cursor else ("", "0", "")
    last = "" if last_bytes is None or cursor else str(max(0, last_bytes))
    beats = max(1, round(BEAT_S / poll_s))
    words = [path, *where, last, f"{poll_s:g}", str(beats), str(CHUNK_BYTES)]
    return ["sh", "-c", program(), "longwait-follow", *words]


async def follow(
    host: Host, path: str, *, cursor: Cursor | None = None, last_bytes: int | None = None, poll_s: float = 0.5
) -> AsyncGenerator[TailEvent, None]:
    """Follow a file until the link breaks; never ends by itself.

    Args:
        host: Where the file is.
        path: The file; it need not exist yet. A relative one starts at the login's folder.
        cursor: Resume after this place.
        last_bytes: Without a cursor: start about this many bytes before the end, at a line's start. None: from the
            file's first byte.
        poll_s: Seconds between two looks at a quiet file.

    Raises:
        LinkLost: The link broke; call again with the last cursor.
        RemoteError: The program can't run there, or something else answered.
    """
    parser = FrameParser(cursor, to_line_start=cursor is None and last_bytes is not None)
    async with host.stream(follow_argv(path, cursor, last_bytes, poll_s)) as chunks:
        async for data in chunks:
            for event in _events(parser, data, host, path):
                yield event
    raise RemoteError(f"Following {path} on {host.name} ended by itself; it is started again.", host=host.name)


def _events(parser: FrameParser, data: bytes, host: Host, path: str) -> list[TailEvent]:
    try:
        return parser.feed(data)
    except FrameError as error:
        message = (
            f"Following {path} on {host.name} gave something else than expected ({error}); "
            f"does its login shell start another program?"
        )
        raise RemoteError(message, host=host.name) from error
