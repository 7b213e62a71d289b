"""What following a file gives, and how the host's words become it.

The program that runs on the host (``remote/follow.sh``) writes lines of ASCII words and, after a ``D`` line, raw
bytes of the file:

    longwait-follow 1               once, first; whatever the login shell printed before it is dropped
    S inode offset                  the file is open, and reading starts at this offset
    D inode offset length           then ``length`` bytes, then:
    d got                           how many of these bytes are the file's (the rest is padding)
    R kind lost inode               rotated, truncated or replaced; bytes lost, ``?`` when that can't be known
    W kind                          nothing to read yet: missing, folder or unreadable
    B size at_end                   alive; the file's size, 1 when all of it was sent
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, cast

ResetKind = Literal["rotated", "truncated", "replaced", "restarted"]
WaitingKind = Literal["missing", "folder", "unreadable", "ended"]

HELLO = b"longwait-follow 1"
"""The program's first line."""
MARK_BYTES = 256
"""Length of a cursor's mark: more than a line, so that a stamp or a number is in it. Lines of a server end alike and
are of equal lengths: after a restart into the same file, 16 bytes before the same offset were the same too often."""
_MAX_LINE = 256
_MAX_NOISE = 65_536
_MAX_BODY = 16 * 1_048_576
_REASONS = {
    "missing": "the file is not there yet",
    "folder": "the path is a folder, not a file",
    "unreadable": "the file may not be read, or is not an ordinary file",
}


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a file that survives a broken link.

    Attributes:
        inode: The file's inode number.
        offset: Bytes of it that were read.
        mark: The last (at most 256) bytes before the offset, as hexadecimal digits. They are compared on resuming: a
            file that was truncated and grew past the offset meanwhile, or that got a deleted file's inode
            number, is thus seen. Empty: not compared.
    """

    inode: int
    offset: int
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """New bytes of the file.

    Attributes:
        data: The bytes, cut anywhere; never empty.
        cursor: The place after them.
    """

    data: bytes
    cursor: Cursor


@dataclass(frozen=True, slots=True)
class Reset:
    """What follows is not the continuation of what came before: it starts at the first byte of a file.

    Attributes:
        kind: ``rotated`` (renamed, a new one in its place), ``truncated`` (made shorter in place), ``replaced``
            (deleted or overwritten by another file) or ``restarted`` (a command's output that can't be resumed).
        lost_bytes: Bytes that were never seen and are gone; 0 when none are, None when that can't be known.
        cursor: The start of what follows: who resumes there is not told the same again. None when it has no place.
    """

    kind: ResetKind
    lost_bytes: int | None
    cursor: Cursor | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """There is nothing to read yet; told once per change, and the host keeps looking.

    Attributes:
        reason: Why, for a person.
        kind: Why, for a program.
    """

    reason: str
    kind: WaitingKind


@dataclass(frozen=True, slots=True)
class Beat:
    """The host is alive and looks at the file.

    Attributes:
        size: The file's size, bytes; 0 while there is none.
        at_end: True when all of it was delivered.
    """

    size: int
    at_end: bool


TailEvent = Chunk | Reset | Waiting | Beat


class _NeedMore(Enum):
    """The type of ``_NEED_MORE``; an Enum, so that type checkers know its one value."""

    VALUE = 0


_NEED_MORE = _NeedMore.VALUE


class FrameError(ValueError):
    """The host's words are not those of the program that was started there."""


class FrameParser:
    """Turns the program's output, cut anywhere, into events.

    Args:
        cursor: Where reading resumes; its mark is carried on.
        to_line_start: Drop the first bytes up to a line's end, because reading starts in the middle of a file.
    """

    def __init__(self, cursor: Cursor | None = None, *, to_line_start: bool = False) -> None:
        self._buffer = bytearray()
        self._greeted = False
        self._noise = 0
        self._frame: tuple[int, int, int] | None = None
        self._tail = bytes.fromhex(cursor.mark) if cursor else b""
        self._to_line_start = to_line_start

    def feed(self, data: bytes) -> list[TailEvent]:
        """Take more output; give the events that are whole now.

        Raises:
            FrameError: The output makes no sense.
        """
        self._buffer += data
        events: list[TailEvent] = []
        while (event := self._next()) is not _NEED_MORE:
            if event is not None:
                events.append(event)
        return events

    def _next(self) -> TailEvent | _NeedMore | None:
        """The next event, None for words that are none, or ``_NEED_MORE``."""
        if not self._greeted:
            return self._greet()
        if self._frame is not None:
            return self._body(*self._frame)
        line = self._line(0)
        if line is None:
            return _NEED_MORE
        del self._buffer[: len(line) + 1]
        return self._word(line)

    def _greet(self) -> _NeedMore | None:
        line = self._line(0, limit=_MAX_NOISE)
        if line is None:
            return _NEED_MORE
        del self._buffer[: len(line) + 1]
        self._noise += len(line)
        if self._noise > _MAX_NOISE:
            raise FrameError("the login shell prints without end")
        self._greeted = line == HELLO
        return None

    def _line(self, start: int, *, limit: int = _MAX_LINE) -> bytes | None:
        """The whole line at ``start`` of the buffer, None when its end has not come."""
        end = self._buffer.find(b"\n", start)
        if end < 0 and len(self._buffer) - start <= limit:
            return None
        if end < 0 or end - start > limit:
            raise FrameError(f"a line of more than {limit} bytes")
        return bytes(self._buffer[start:end])

    def _word(self, line: bytes) -> TailEvent | None:
        """What a line says."""
        try:
            return self._meaning(line.decode("ascii").split(" "))
        except (ValueError, KeyError) as error:
            raise FrameError(f"not understood: {line[:80]!r}") from error

    def _meaning(self, words: list[str]) -> TailEvent | None:
        match words:
            case ["S", _inode, offset]:
                self._to_line_start = self._to_line_start and int(offset) > 0
                return None
            case ["D", inode, offset, length]:
                self._frame = (int(inode), int(offset), int(length))
                if not 0 < self._frame[2] <= _MAX_BODY:
                    raise ValueError(length)
                return None
            case ["R", ("rotated" | "truncated" | "replaced") as kind, lost, *inode] if len(inode) <= 1:
                self._tail, self._to_line_start = b"", False
                start = Cursor(int(inode[0]), 0) if inode else None
                return Reset(kind, None if lost == "?" else int(lost), start)
            case ["W", kind]:
                return Waiting(_REASONS[kind], cast("WaitingKind", kind))
            case ["B", size, at_end]:
                return Beat(int(size), at_end == "1")
            case _:
                raise ValueError(words)

    def _body(self, inode: int, offset: int, length: int) -> TailEvent | _NeedMore | None:
        """A chunk, once its footer has come."""
        footer = self._line(length) if len(self._buffer) > length else None
        if footer is None:
            return _NEED_MORE
        if not footer.startswith(b"d ") or not footer[2:].isdigit() or int(footer[2:]) > length:
            raise FrameError(f"a frame of {length} bytes ends with {footer[:80]!r}")
        got = int(footer[2:])
        with memoryview(self._buffer) as view:
            data = bytes(view[:got])
        del self._buffer[: length + len(footer) + 1]
        self._frame = None
        self._tail = (self._tail + data)[-MARK_BYTES:]
        kept = self._from_line_start(data)
        return Chunk(kept, Cursor(inode, offset + got, self._tail.hex())) if kept else None

    def _from_line_start(self, data: bytes) -> bytes:
        """The bytes after the first line's end, all of them once one was met; progress bars end lines with CR."""
        if not self._to_line_start:
            return data
        ends = [at for at in (data.find(b"\n"), data.find(b"\r")) if at >= 0]
        if not ends:
            return b""
        self._to_line_start = False
        return data[min(ends) + 1 :].removeprefix(b"\n") if data[min(ends)] == ord("\r") else data[min(ends) + 1 :]
