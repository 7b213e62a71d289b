"""The bytes of a recorded log, left in its file: a run of days has tens of megabytes, of which a moment needs a few."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, BinaryIO

from console.job.timeline import HeldBytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from console.job.timeline import LogBytes

BLOCK = 1 << 20
"""Bytes read at once."""

CHANGED = "it was replaced or cut off while it was replayed; replay a copy of it"


class FileBytes:
    """A log in a file. What is appended later does not belong to it.

    Args:
        path: The file.

    Raises:
        OSError: The file can't be read, now or later; it was replaced or cut off meanwhile.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            now = os.fstat(file.fileno())
        self._identity, self._size = (now.st_dev, now.st_ino), now.st_size

    def lines(self) -> Iterator[bytes]:
        """Each line with its end, as ``bytes.splitlines`` cuts them."""
        with self._opened(self._size) as file:
            left, rest = self._size, b""
            while left:
                block = file.read(min(BLOCK, left))
                left -= len(block)
                if not block:
                    raise self._changed()
                lines = (rest + block).splitlines(keepends=True)
                # What does not end in a newline may go on in the next block, also behind a carriage return.
                rest = b"" if lines[-1].endswith(b"\n") else lines.pop()
                yield from lines
            if rest:
                yield rest

    def cut(self, begin: int, end: int) -> bytes:
        """The bytes between two offsets."""
        with self._opened(end) as file:
            file.seek(begin)
            return file.read(end - begin)

    def _opened(self, end: int) -> BinaryIO:
        """The file, opened; it must be the same, and reach as far as ``end``."""
        file = self._path.open("rb")
        now = os.fstat(file.fileno())
        if (now.st_dev, now.st_ino) == self._identity and now.st_size >= end:
            return file
        file.close()
        raise self._changed()

    def _changed(self) -> OSError:
        return OSError(errno.ESTALE, CHANGED, str(self._path))


def bytes_of(path: Path | None) -> LogBytes:
    """A log's bytes: in its file, or in memory where that is no plain file, which can be read only once.

    Raises:
        OSError: The file can't be read.
    """
    if path is None:
        return HeldBytes(b"")
    return FileBytes(path) if stat.S_ISREG(path.stat().st_mode) else HeldBytes(path.read_bytes())
