"""A figure over a while as a curve of braille dots, with its scale, its span and its newest value in words."""

from __future__ import annotations

import math
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.reactive import reactive
from textual.widget import Widget

from widgets.paint import painted
from widgets.plain import clean, fit
from widgets.row import known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.content import Content

Column = tuple[float, float]
"""The least and the greatest of a figure in one column."""

BLANK = 0x2800
"""The braille cell without a dot."""

DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""Dots of the left and of the right half of a cell, from the top."""

EDGE, TICK = "│", "┤"
"""The scale's line, and where a figure stands at it."""

ACROSS, DOWN = len(DOTS), len(DOTS[0])
"""Dots of one cell."""

PLOT_LEAST = 8
"""Cells below which no curve is drawn: the words beside it then have the room."""


def plot(columns: Sequence[Column | None], width: int, height: int, bottom: float, top: float) -> list[str]:
    """Draw a curve.

    Each column of dots goes from its least to its greatest value, and is joined with the one before, so that the line
    is whole; where a column is None there is a gap. More columns than dots become one by the least and the greatest of
    them, so that no peak and no dip is lost; fewer stand side by side in steps.

    Args:
        columns: Oldest first, of equal width; figures that are not finite are gaps.
        width: Cells.
        height: Rows.
        bottom: The value of the lowest dot.
        top: The value of the highest; what lies beyond either is drawn at it.

    Returns:
        ``height`` lines of ``width`` braille characters, from the top.
    """
    if width < 1 or height < 1:
        return []
    cells = [[BLANK] * width for _ in range(height)]
    before: tuple[int, int] | None = None
    for place, column in enumerate(_fitted(columns, width * ACROSS)):
        if column is None:
            before = None
            continue
        low, high = (_level(value, bottom, top, height * DOWN) for value in column)
        first, last = low, high
        if before is not None:
            first, last = min(low, before[1] + 1), max(high, before[0] - 1)
        before = (low, high)
        for level in range(first, last + 1):
            row, dot = divmod(height * DOWN - 1 - level, DOWN)
            cells[row][place // ACROSS] |= DOTS[place % ACROSS][dot]
    return ["".join(map(chr, row)) for row in cells]


def below(lines: Sequence[str]) -> list[list[tuple[str, bool]]]:
    """Part the lines of a curve into what lies below it and what does not, so that a level is seen from far away.

    Args:
        lines: As ``plot`` gives them.

    Returns:
        For each line its pieces, each with whether it is below the curve; a gap has nothing below it.
    """
    width, blank = len(lines[0]) if lines else 0, chr(BLANK)
    deepest = [max((row for row, line in enumerate(lines) if line[at] != blank), default=-1) for at in range(width)]
    parted = []
    for row, line in enumerate(lines):
        marked = zip(line, (0 <= deep < row for deep in deepest), strict=True)
        parted.append(
            [
                ("".join(character for character, _ in group), is_below)
                for is_below, group in groupby(marked, key=itemgetter(1))
            ]
        )
    return parted


def _fitted(columns: Sequence[Column | None], count: int) -> list[Column | None]:
    """So many columns as there are dots."""
    there = [_finite(column) for column in columns]
    if not there:
        return [None] * count
    edges = [place * len(there) // count for place in range(count + 1)]
    return [_merged(there[start : max(start + 1, end)]) for start, end in pairwise(edges)]


def _finite(column: Column | None) -> Column | None:
    """A column whose figures are numbers, the smaller first."""
    if column is None or not all(math.isfinite(value) for value in column):
        return None
    return min(column), max(column)


def _merged(columns: Sequence[Column | None]) -> Column | None:
    seen = [column for column in columns if column is not None]
    return (min(low for low, _ in seen), max(high for _, high in seen)) if seen else None


def _level(value: float, bottom: float, top: float, dots: int) -> int:
    """Which dot a value is at, 0 the lowest; a scale without height is drawn in the middle."""
    if not top > bottom:
        return (dots - 1) // 2
    # Halved first, so that the widest scale does not overflow.
    share = (value / 2 - bottom / 2) / (top / 2 - bottom / 2)
    return round(min(1.0, max(0.0, share)) * (dots - 1))


def short(value: float) -> str:
    """Write a figure of the scale in at most five cells: ``865``, ``12.3``, ``98k``, ``1.2M``."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 10:
            scaled = value / size
            return f"{scaled:.0f}{letter}" if abs(scaled) < 1e4 else f"{scaled:.0e}"  # noqa: PLR2004 - digits
    if abs(value) < 0.001:  # noqa: PLR2004 - no chart of ours tells it from nothing
        return "0"
    return f"{value:.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"  # noqa: PLR2004 - digits


class Chart(Widget):
    """A title, a curve with its scale at the left, and what its edges are below.

    The title stands above, the note at its right end; both give way to the curve on small ones: the title stays as long
    as there are two rows, the edges as long as there are four.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "chart--title",
        "chart--note",
        "chart--line",
        "chart--below",
        "chart--scale",
    }
    """Parts that CSS can reach."""

    DEFAULT_CSS = """
    Chart {
        height: 6;
        width: 1fr;
        text-wrap: nowrap;
        & > .chart--title { color: $foreground; text-style: bold; }
        & > .chart--note { color: $foreground-muted; }
        & > .chart--line { color: $primary; }
        & > .chart--below { color: $primary; background: $primary 25%; }
        & > .chart--scale { color: $foreground-muted; }
    }
    """

    columns: reactive[tuple[Column | None, ...]] = reactive[tuple[Column | None, ...]](())
    """The curve, oldest first, in columns of equal width."""

    title: reactive[str] = reactive("")
    """What is drawn and its newest value, with units."""

    note: reactive[str] = reactive("")
    """What else there is to say: the span and the limits."""

    begins: reactive[str] = reactive("")
    """What the left edge is."""

    ends: reactive[str] = reactive("")
    """What the right edge is."""

    floor: reactive[float | None] = reactive[float | None](0.0)
    """The scale's bottom, so that small changes of a large value look small; None for the least value."""

    def scale(self) -> tuple[float, float] | None:
        """Bottom and top of the scale; None without a value."""
        seen = [value for column in self.columns if column for value in column if known(value) is not None]
        if not seen:
            return None
        return (min(seen) if self.floor is None else min(self.floor, *seen)), max(seen)

    def _head(self, width: int) -> list[tuple[str, str]]:
        """The row above: title at the left, note at the right as far as there is room."""
        title, note = fit(clean(self.title), width), clean(self.note)
        room = width - cell_len(title) - cell_len(note)
        if not note or room < 2:  # noqa: PLR2004 - the gap between the two
            return [(title, "chart--title")]
        return [(title, "chart--title"), (" " * room, ""), (note, "chart--note")]

    def _foot(self, width: int, indent: int) -> list[tuple[str, str]]:
        """The row below: what the edges are."""
        begins, ends = fit(clean(self.begins), max(0, width - indent)), clean(self.ends)
        room = width - indent - cell_len(begins) - cell_len(ends)
        rest = " " * room + ends if room >= 1 else ""
        return [(" " * indent + begins + rest, "chart--scale")]

    def _body(self, width: int, height: int) -> tuple[list[list[tuple[str, str]]], int]:
        """The curve with its scale, and the cells that the scale takes."""
        scale = self.scale()
        if scale is None or width < PLOT_LEAST:
            return [[] for _ in range(height)], 0
        bottom, top = scale
        high, low = short(top), short(bottom)
        taken = max(cell_len(high), cell_len(low))
        if width - taken - 1 < PLOT_LEAST:
            taken = -1
        lines = plot(self.columns, width - taken - 1, height, bottom, top)
        if taken < 0:
            return [[(line, "chart--line")] for line in lines], 0
        parted = [[(text, f"chart--{'below' if under else 'line'}") for text, under in row] for row in below(lines)]
        marks = {0: high} if height == 1 else {0: high, height - 1: low}
        return [
            [
                (f"{marks.get(row, '').rjust(taken)}{TICK if row in marks else EDGE}", "chart--scale"),
                *pieces,
            ]
            for row, pieces in enumerate(parted)
        ], taken + 1

    def render(self) -> Content:
        """Draw it for the room there is."""
        width, height = self.size
        head = height > 1
        foot = height > 3  # noqa: PLR2004 - see the class
        body, indent = self._body(width, max(0, height - head - foot))
        rows = [*([self._head(width)] if head else []), *body, *([self._foot(width, indent)] if foot else [])]
        pieces: list[tuple[str, str]] = []
        for row in rows:
            pieces += [*row, ("\n", "")]
        return painted(self, pieces[:-1])
