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
from typing import Literal, cast

from remote.frame_body import FrameBody

ResetKind = Literal["rotated", "truncated", "replaced", "restarted"]
WaitingKind = Literal["missing", "folder", "unreadable", "ended"]

HELLO = b"longwait-follow 1"
"""The program's first line."""
MARK_BYTES = 256
"""Length of a cursor's mark: more than a line, so that a stamp or a number is in it. Lines of a server end alike and
are of equal lengths: after a restart into the same file, 16 bytes before the same offset were the same too often."""
CHUNK_BYTES = 65_536
"""Bytes of a chunk at most, and a sixteenth of a frame: what a caller does with one takes some milliseconds and a
megabyte or two, which a process that lives for days never quite gives back."""
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


class FrameError(ValueError):
    """The host's words are not those of the program that was started there."""


class FrameParser:
    """Turns the program's output, cut anywhere, into events.

    Args:
        cursor: Where reading resumes; its mark is carried on.
        to_line_start: Drop the first bytes up to a line's end, because reading starts in the middle of a file.
        chunk_bytes: Bytes of a chunk at most; a larger frame gives several.
    """

    def __init__(
        self, cursor: Cursor | None = None, *, to_line_start: bool = False, chunk_bytes: int = CHUNK_BYTES
    ) -> None:
        self._line = b""
        self._greeted = False
        self._noise = 0
        self._body: FrameBody | None = None
        self._tail = bytes.fromhex(cursor.mark) if cursor else b""
        self._to_line_start = to_line_start
        self._chunk_bytes = chunk_bytes

    def feed(self, data: bytes) -> list[TailEvent]:
        """Take more output; give the events that are whole now.

        Raises:
            FrameError: The output makes no sense.
        """
        events: list[TailEvent] = []
        at = 0
        while at < len(data):
            if self._body is not None and self._body.missing:
                at = self._body.take(data, at)
            else:
                line, at = self._next_line(data, at)
                if line is not None:
                    events += self._said(line)
        return events

    def _next_line(self, data: bytes, at: int) -> tuple[bytes | None, int]:
        """The line that ends next at or after ``at``, None when its end has not come, and the place after it."""
        limit = _MAX_LINE if self._greeted else _MAX_NOISE
        end = data.find(b"\n", at, at + limit + 1)
        after = len(data) if end < 0 else end + 1
        line = self._line + data[at : min(end if end >= 0 else after, at + limit + 1)]
        if len(line) > limit:
            raise FrameError(f"a line of more than {limit} bytes")
        self._line = b"" if end >= 0 else line
        return (line if end >= 0 else None), after

    def _said(self, line: bytes) -> list[TailEvent]:
        """What a whole line means."""
        if not self._greeted:
            self._noise += len(line)
            if self._noise > _MAX_NOISE:
                raise FrameError("the login shell prints without end")
            self._greeted = line == HELLO
            return []
        if self._body is not None:
            body, self._body = self._body, None
            return self._chunks(body, line)
        try:
            event = self._meaning(line.decode("ascii").split(" "))
        except (ValueError, KeyError) as error:
            raise FrameError(f"not understood: {line[:80]!r}") from error
        return [] if event is None else [event]

    def _meaning(self, words: list[str]) -> TailEvent | None:
        match words:
            case ["S", _inode, offset]:
                self._to_line_start = self._to_line_start and int(offset) > 0
                return None
            case ["D", inode, offset, length]:
                self._body = FrameBody(int(inode), int(offset), int(length), self._chunk_bytes)
                if not 0 < self._body.length <= _MAX_BODY:
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

    def _chunks(self, body: FrameBody, footer: bytes) -> list[TailEvent]:
        """A frame's chunks, now that its footer has come."""
        if not footer.startswith(b"d ") or not footer[2:].isdigit() or int(footer[2:]) > body.length:
            raise FrameError(f"a frame of {body.length} bytes ends with {footer[:80]!r}")
        chunks: list[TailEvent] = []
        at = body.offset
        for data in body.blocks(int(footer[2:])):
            at += len(data)
            self._tail = (data if len(data) >= MARK_BYTES else self._tail + data)[-MARK_BYTES:]
            if kept := self._from_line_start(data):
                chunks.append(Chunk(kept, Cursor(body.inode, at, self._tail.hex())))
        return chunks

    def _from_line_start(self, data: bytes) -> bytes:
        """The bytes after the first line's end, all of them once one was met; progress bars end lines with CR."""
        if not self._to_line_start:
            return data
        ends = [at for at in (data.find(b"\n"), data.find(b"\r")) if at >= 0]
        if not ends:
            return b""
        self._to_line_start = False
        return data[min(ends) + 1 :].removeprefix(b"\n") if data[min(ends)] == ord("\r") else data[min(ends) + 1 :]
