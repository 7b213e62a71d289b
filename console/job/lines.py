"""Bytes become lines in this one place, clean enough for any screen.

Split anywhere, the same bytes give the same lines: a half line waits, CRLF is one end, and a lone CR ends a line too,
so that each state of a progress bar is a line of its own. What could drive a terminal is gone: escape sequences
(ECMA-48: CSI, OSC, DCS and the short ones), control characters, and the marks that reorder text (Unicode's
bidirectional controls). Tabs become blanks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LINE = 64 * 1024
"""Bytes of a line that are kept. A server's argument dump has some 10 KiB; no figure stands behind 64."""

_ESCAPE = re.compile(
    rb"\x1b(?:"
    rb"\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor moves
    rb"|\][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # OSC: titles, links
    rb"|[PX^_][^\x1b\n]*\x1b\\"  # DCS, SOS, PM, APC
    rb"|[ -/]*[0-~]"  # the short ones; also the head of a sequence that never ends, whose text is kept
    rb")"
)
_CONTROLS = bytes(code for code in (*range(0x20), 0x7F) if code not in b"\t\n")
# A CR is among these, so that each end of a line is one newline where none is found.
_ODD = _CONTROLS + b"\t"
_BLANKS = bytes.maketrans(b"\t", b" ")
_UNSEEN = re.compile("[\x80-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""C1 controls, line separators, and the marks that make text read backwards."""


def clean(text: str) -> str:
    """Any text from outside, as one line that can neither drive a terminal nor reorder what stands beside it."""
    raw = text.encode("utf-8", "replace")
    return _tidy(raw.replace(b"\n", b" ").replace(b"\r", b" "))


def _tidy(raw: bytes) -> str:
    """Decode whole lines and drop all that is not text; newlines stay."""
    if b"\x1b" in raw:
        raw = _ESCAPE.sub(b"", raw)
    text = raw.translate(_BLANKS, _CONTROLS).decode("utf-8", "replace")
    return text if text.isascii() else _UNSEEN.sub("", text)


class Lines(Sequence[str]):
    """Clean lines as one text, cut into single ones when they are looked at: of most of a long log nobody looks at any.

    Attributes:
        text: All of them, each with a newline behind it.
    """

    __slots__ = ("_count", "_split", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._count = text.count("\n")
        self._split: list[str] | None = None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice) and self._split is None:
            begin, end, step = place.indices(self._count)
            if step == 1 and begin >= end:
                return []
            if step == 1 and not begin:  # the first few are looked at to see what kind of log it is
                return self.text.split("\n", end)[:end]
        return self.all()[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self.all())

    def all(self) -> list[str]:
        """Give every line."""
        if self._split is None:
            self._split = self.text.split("\n")
            del self._split[-1]
        return self._split


NONE = Lines("")
"""No line."""


class LineSplitter:
    """Cuts a stream of bytes into clean lines.

    Args:
        max_line: Bytes of a line that are kept; what is cut is counted in a marker at its end. Memory is bounded by it.
    """

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max = max_line
        self._held = b""
        self._cut = 0
        self._after_cr = False

    @property
    def pending(self) -> int:
        """Bytes of the half line that waits for its end."""
        return len(self._held) + self._cut

    def feed(self, data: bytes) -> list[str]:
        """The lines that these bytes complete, without their ends."""
        return self.read(data).all()

    def read(self, data: bytes) -> Lines:
        """The lines that these bytes complete, not yet cut."""
        if self._after_cr and data:
            data = data.removeprefix(b"\n")  # the second half of a CRLF that two feeds share
            self._after_cr = False
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if not end:
            self._hold(data)
            return NONE
        if plain := self._plain(data, end):
            return plain
        self._after_cr = data.endswith(b"\r")
        lines = data[:end].splitlines()
        lines[0] = self._take(lines[0])
        if end > self._max:
            lines[1:] = [self._shorten(line) for line in lines[1:]]
        self._hold(data[end:])
        return Lines(_tidy(b"\n".join(lines)) + "\n")

    def _plain(self, data: bytes, end: int) -> Lines | None:
        """The lines of a chunk in which nothing is to be cleaned or cut, as nearly all are; None of any other chunk."""
        if self._cut:
            return None
        raw = self._held + data[:end]
        if not raw.isascii() or len(raw.translate(None, _ODD)) != len(raw) or self._has_long(raw):
            return None
        self._held = b""
        self._hold(data[end:])
        return Lines(raw.decode("ascii"))

    def _has_long(self, raw: bytes) -> bool:
        """Whether a line is to be cut; found in as few steps as there are bounds in the chunk."""
        start = 0
        while len(raw) - start > self._max:
            end = raw.rfind(b"\n", start, start + self._max + 1) + 1
            if not end:
                return True
            start = end
        return False

    def flush(self) -> list[str]:
        """The half line that waits, when the stream has ended; nothing when none does."""
        self._after_cr = False
        return [_tidy(self._take(b""))] if self.pending else []

    def _hold(self, tail: bytes) -> None:
        """Keep the start of a half line; count what exceeds the limit."""
        if not tail:
            return
        room = self._max - len(self._held)
        self._held += tail[:room]
        self._cut += max(0, len(tail) - room)

    def _take(self, rest: bytes) -> bytes:
        """The half line that waited, with its end."""
        self._hold(rest)
        line, cut = self._held, self._cut
        self._held, self._cut = b"", 0
        return _marked(line, cut)

    def _shorten(self, line: bytes) -> bytes:
        return _marked(line[: self._max], max(0, len(line) - self._max))


def _marked(line: bytes, cut: int) -> bytes:
    return line + f"…[{cut} bytes cut]".encode() if cut else line
