"""Which line stands in which row, when a line can take several; and where a line is broken."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from rich.cells import chop_cells

if TYPE_CHECKING:
    from collections.abc import Iterable

_SPARE = 4_096
"""Dropped lines that are remembered before the list is made anew: dropping costs nothing, and memory stays bounded."""


class Rows:
    """Lines of several rows each: added at the end, dropped at the start, found by row."""

    def __init__(self) -> None:
        self._ends: list[int] = []
        self._first = 0
        self._base = 0

    def __len__(self) -> int:
        """Rows in all."""
        return self._ends[-1] - self._base if self._first < len(self._ends) else 0

    def extend(self, heights: Iterable[int]) -> None:
        """Add lines, each with its rows."""
        end = self._ends[-1] if self._ends else self._base
        for height in heights:
            end += height
            self._ends.append(end)

    def drop(self, lines: int) -> int:
        """Forget the first lines; gives how many rows went with them."""
        before = self._base
        self._first = min(len(self._ends), self._first + lines)
        if self._first:
            self._base = self._ends[self._first - 1]
        if self._first > _SPARE:
            del self._ends[: self._first]
            self._first = 0
        return self._base - before

    def at(self, row: int) -> tuple[int, int]:
        """Give the line in a row, and which of its rows it is; a line past the last for a row past the last."""
        place = bisect_right(self._ends, self._base + row, lo=self._first)
        return place - self._first, self._base + row - self._start(place)

    def row_of(self, line: int) -> int:
        """Give the first row of a line."""
        return self._start(min(len(self._ends), self._first + line)) - self._base

    def _start(self, place: int) -> int:
        return self._ends[place - 1] if place > self._first else self._base


@lru_cache(maxsize=512)
def breaks(text: str, width: int, indent: int) -> tuple[tuple[int, int], ...]:
    """Give where a clean text is broken into rows, as pairs of first and one past the last character.

    Args:
        text: The whole line.
        width: Cells of a row, 1 or more.
        indent: Cells that the second row and those after it are moved to the right.
    """
    pieces = chop_cells(text, width)
    if len(pieces) > 1:
        pieces = [pieces[0], *chop_cells(text[len(pieces[0]) :], max(1, width - indent))]
    ends = [0]
    for piece in pieces or [""]:
        ends.append(ends[-1] + len(piece))
    ends[-1] = len(text)  # marks without a width after the last cell are left out by chop_cells
    return tuple(pairwise(ends))


def rows_of(cells: int, width: int, indent: int) -> int:
    """Give how many rows a line takes whose characters are all one cell wide."""
    return 1 if cells <= width else 1 + -((width - cells) // max(1, width - indent))


def part(pieces: Iterable[tuple[str, str]], start: int, end: int) -> list[tuple[str, str]]:
    """Give the pieces of a line between two of its characters."""
    found: list[tuple[str, str]] = []
    at = 0
    for text, name in pieces:
        if kept := text[max(0, start - at) : max(0, end - at)]:
            found.append((kept, name))
        at += len(text)
    return found
