"""What a terminal shows, cell by cell: read from what a program writes, and written again as the least that differs.

It knows what Textual writes to a whole screen: moves, colours, text. Everything else (modes, questions, the clipboard)
is no picture, and is given back to be passed on.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TOKEN = re.compile(
    r"\x1b\[(?P<given>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\)"
    r"|\x1b[ -/]*[0-~]"
    r"|(?P<text>[^\x00-\x1f\x7f\x1b]+)"
    r"|[\x00-\x1f\x7f]",
    re.DOTALL,
)

_DROPPED = re.compile(r"\x1b\[\?2026[hl]|\x1b\]8;.*", re.DOTALL)
"""Frames of updates, and links: a picture that is sent in parts has neither."""

_ENDS = {"22": ("1", "2"), "23": ("3",), "24": ("4", "21"), "25": ("5", "6"), "27": ("7",), "28": ("8",), "29": ("9",)}
"""What ends which attributes (ECMA-48, SGR)."""

PEN_BYTES = 60
"""Bytes that a change of the pen takes at most: two colours of 24 bits and some attributes."""

MOVE_BYTES = 12
"""Bytes that a move takes at most."""

MARKS = 8
"""Marks (accents and the like) of a character that are kept: text from outside may have thousands."""

NEAR = 4
"""Cells between two changes that are written again rather than jumped over: a jump costs as many bytes."""


class Pen(NamedTuple):
    """How text is written: attributes, colour and background, as SGR parameters; empty for the terminal's own."""

    attributes: tuple[str, ...] = ()
    colour: str = ""
    ground: str = ""


PLAIN = Pen()

Cell = tuple[str, Pen]
"""A character and how it is written; the right half of a wide one has no character."""

Row = list[Cell | None]
"""Cells from left to right; None for one of which nothing is known."""


class Span(NamedTuple):
    """Cells side by side that differ.

    Attributes:
        y: Row, from 0.
        x: Column of the first, from 0.
        cells: What is to stand there.
    """

    y: int
    x: int
    cells: tuple[Cell, ...]


@lru_cache(maxsize=4096)
def changed_pen(pen: Pen, given: str) -> Pen:
    """Give the pen after a sequence ``CSI given m``."""
    words = given.split(";")
    attributes, colour, ground = list(pen.attributes), pen.colour, pen.ground
    at = 0
    while at < len(words):
        word = words[at] or "0"
        size = {"2": 5, "5": 3}.get(words[at + 1], 1) if word in {"38", "48"} and at + 1 < len(words) else 1
        whole = ";".join(words[at : at + size])
        number = int(word) if word.isdigit() else 0
        if word == "0":
            attributes, colour, ground = [], "", ""
        elif number in {*range(30, 39), *range(90, 98)}:
            colour = whole
        elif number in {*range(40, 49), *range(100, 108)}:
            ground = whole
        elif word in {"39", "49"}:
            colour, ground = ("", ground) if word == "39" else (colour, "")
        elif word in _ENDS:
            attributes = [each for each in attributes if each not in _ENDS[word]]
        elif word not in attributes:
            attributes.append(word)
        at += size
    return Pen(tuple(attributes), colour, ground)


@lru_cache(maxsize=4096)
def pen_words(former: Pen, pen: Pen) -> str:
    """Give the shortest sequence that changes one pen into another."""
    if former == pen:
        return ""
    ends = (former.colour and not pen.colour) or (former.ground and not pen.ground)
    if ends or former.attributes != pen.attributes:
        words = ("0", *pen.attributes, pen.colour, pen.ground)
        return f"\x1b[{';'.join(word for word in words if word)}m"
    colour = pen.colour if pen.colour != former.colour else ""
    ground = pen.ground if pen.ground != former.ground else ""
    return f"\x1b[{';'.join(word for word in (colour, ground) if word)}m"


class Cells:
    """The cells of a terminal of so many columns and rows."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self.rows: list[Row] = [[None] * width for _ in range(height)]
        self._x = self._y = 0
        self._pen = PLAIN

    def feed(self, text: str) -> list[str]:
        """Draw what is written; gives what is no picture, in order."""
        other: list[str] = []
        for token in _TOKEN.finditer(text):
            if (shown := token["text"]) is not None:
                self._draw(shown)
            elif token["final"] == "m":
                self._pen = changed_pen(self._pen, token["given"])
            elif token["final"] == "H":
                row, _, column = token["given"].partition(";")
                self._y, self._x = int(row or 1) - 1, int(column or 1) - 1
            elif token[0] == "\r":
                self._x = 0
            elif token[0] == "\n":
                self._x, self._y = 0, self._y + 1
            elif not _DROPPED.match(token[0]):
                other.append(token[0])
        return other

    def copy(self) -> Cells:
        """Give the same cells once more."""
        copied = Cells(self.width, self.height)
        copied.rows = [list(row) for row in self.rows]
        return copied

    def put(self, span: Span) -> None:
        """Take cells over as they are."""
        self.rows[span.y][span.x : span.x + len(span.cells)] = span.cells

    def _draw(self, text: str) -> None:
        if not 0 <= self._y < self.height:
            return
        row, pen = self.rows[self._y], self._pen
        if 0 < self._x < self.width and _is_right_half(row[self._x]):
            row[self._x - 1] = (" ", pen)
        for char in text:
            self._place(row, char, pen)
        if self._x < self.width and _is_right_half(row[self._x]):
            row[self._x] = (" ", pen)

    def _place(self, row: Row, char: str, pen: Pen) -> None:
        """Draw one character; what does not fit is left out."""
        x, size = self._x, 1 if char < "\x7f" else cell_len(char)
        if not size:
            self._join(row, x - 1, char)
        elif x + size <= self.width:
            row[x] = (char, pen)
            if size > 1:
                row[x + 1] = ("", pen)
        elif x < self.width:
            row[x] = (" ", pen)  # the left half of a wide one does not fit either
        self._x = x + size

    @staticmethod
    def _join(row: Row, x: int, mark: str) -> None:
        """Add a mark that has no cell of its own to the character before it."""
        while 0 < x < len(row) and (cell := row[x]) is not None and not cell[0]:
            x -= 1
        if 0 <= x < len(row) and (cell := row[x]) is not None and len(cell[0]) <= MARKS:
            row[x] = (cell[0] + mark, cell[1])


def _is_right_half(cell: Cell | None) -> bool:
    """Whether a cell belongs to the wide character before it; without that one a terminal shows a space."""
    return cell is not None and not cell[0]


def changes(wanted: Sequence[Cell | None], shown: Sequence[Cell | None], y: int) -> Iterator[Span]:
    """Give what is to be written so that a row shows what it should, from left to right."""
    width, x = len(wanted), 0
    while x < width:
        if wanted[x] is None or wanted[x] == shown[x]:
            x += 1
            continue
        first = x
        while first and (before := wanted[first]) is not None and not before[0] and wanted[first - 1] is not None:
            first -= 1
        end = last = x
        while end < width and end - last <= NEAR and wanted[end] is not None:
            if wanted[end] != shown[end]:
                last = end
            end += 1
        stop = last + 1
        while stop < width and (after := wanted[stop]) is not None and not after[0]:
            stop += 1
        yield Span(y, first, tuple(cell for cell in wanted[first:stop] if cell is not None))
        x = stop


def written(span: Span, pen: Pen) -> tuple[str, Pen]:
    """Give the text that writes a span, and the pen after it.

    Args:
        span: What is to stand where.
        pen: The terminal's pen before.
    """
    parts = [f"\x1b[{span.y + 1};{span.x + 1}H"]
    for char, wanted in span.cells:
        if wanted != pen:
            parts.append(pen_words(pen, wanted))
            pen = wanted
        parts.append(char)
    return "".join(parts), pen


def pieces(span: Span, most: int) -> Iterator[Span]:
    """Cut a span so that no piece takes more than so many bytes to write; wide characters stay whole."""
    first = size = 0
    pen: Pen | None = None
    for at, (char, wanted) in enumerate(span.cells):
        cost = len(char.encode()) + (PEN_BYTES if wanted != pen else 0)
        if at > first and char and size + cost > most - MOVE_BYTES:
            yield Span(span.y, span.x + first, span.cells[first:at])
            first, size, cost = at, 0, cost if wanted != pen else cost + PEN_BYTES
        size, pen = size + cost, wanted
    yield Span(span.y, span.x + first, span.cells[first:])
