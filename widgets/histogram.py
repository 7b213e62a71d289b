"""How often which size occurs, on a scale of logarithms; what is not finished yet stands on top as an open part."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len
from textual.reactive import reactive
from textual.widget import Widget

from widgets.axis import cell_of, decades, labels, short
from widgets.paint import joined, painted
from widgets.plain import clean, fit, paragraph
from widgets.reach import Reach

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.content import Content

BLOCKS = " ▁▂▃▄▅▆▇█"
"""Eighths of a cell."""

OPEN = "░"
"""A cell of what is not finished."""

LINE = "╎"
"""A mark's line, where no bar stands."""

GUTTER_FROM = 40
"""Cells from which on the greatest count stands at the left."""

GUTTER = 6
"""Cells for it."""

MOST = 1e15
"""Counts above this are drawn as this; sizes above it are not drawn."""

ROWS_FOR_ALL = 6
"""Rows from which on there is a legend above and figures below the bars."""

ROWS_FOR_AXIS = 3
"""Rows from which on there are figures below the bars."""


class Bin(NamedTuple):
    """How many there are of about one size.

    Attributes:
        low: Where it begins, 0 or more; what lies below 1 is drawn at 1.
        high: Where it ends.
        whole: Finished ones.
        part: Those not finished that have come so far.
    """

    low: float
    high: float
    whole: float
    part: float = 0.0


class Mark(NamedTuple):
    """A size to be marked.

    Attributes:
        at: The size, above 0.
        sign: One character, above its line.
        label: What it is, with its figure and unit.
    """

    at: float
    sign: str
    label: str


_Cell = tuple[str, str]
"""A character and the part of the widget that it belongs to."""


class Histogram(Widget):
    """Bars over a scale of logarithms, with marks."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "histogram--whole",
        "histogram--part",
        "histogram--mark",
        "histogram--axis",
        "histogram--legend",
    }
    """Parts that CSS can reach."""

    DEFAULT_CSS = """
    Histogram {
        height: 8;
        width: 1fr;
        text-wrap: nowrap;
        & > .histogram--whole { color: $primary; }
        & > .histogram--part { color: $accent; }
        & > .histogram--mark { color: $text-warning; }
        & > .histogram--axis { color: $foreground-muted; }
        & > .histogram--legend { color: $foreground; }
    }
    """

    bins: reactive[tuple[Bin, ...]] = reactive[tuple[Bin, ...]](())
    """Counts by size, ascending."""

    marks: reactive[tuple[Mark, ...]] = reactive[tuple[Mark, ...]](())
    """Sizes to be marked, from the most to the least important."""

    reach: reactive[Reach | None] = reactive[Reach | None](None)
    """Where the scale begins and ends at least; None ends it with what is shown, and moves with that."""

    unit: reactive[str] = reactive("")
    """The unit of the sizes."""

    nothing: reactive[str] = reactive("")
    """What is said where there are no counts."""

    def render(self) -> Content:
        """Draw for the room there is."""
        width, height = self.size
        bins = usable(self.bins)
        if not bins or width < 1 or height < 1:
            return painted(self, [(paragraph(clean(self.nothing), width, height), "histogram--axis")])
        marks = [
            Mark(mark.at, fit(clean(mark.sign), 1), clean(mark.label)) for mark in self.marks if 0 < mark.at <= MOST
        ]
        rows = picture(bins, marks, width, height, clean(self.unit), self.reach)
        pieces: list[_Cell] = []
        for place, row in enumerate(rows):
            pieces += [("\n", "")] if place else []
            pieces += joined(row)
        return painted(self, pieces)


def usable(bins: Iterable[Bin]) -> list[Bin]:
    """Give the bins that can be drawn: finite, and wider than nothing."""
    return [
        Bin(max(1.0, one.low), one.high, *(min(MOST, max(0.0, count)) for count in one[2:]))
        for one in bins
        if all(map(math.isfinite, one)) and max(1.0, one.low) < one.high <= MOST
    ]


def reach_of(bins: Iterable[Bin], marks: Iterable[Mark]) -> Reach | None:
    """Give the least and the greatest size that is to be shown; None where there is nothing to show.

    Args:
        bins: What is counted.
        marks: Sizes to be marked.
    """
    shown = usable(bins)
    if not shown:
        return None
    ends = [one.high for one in shown] + [mark.at for mark in marks if 0 < mark.at <= MOST]
    return min(one.low for one in shown), max(ends)


def picture(  # noqa: PLR0917 - a drawing has many parts
    bins: Sequence[Bin], marks: Sequence[Mark], width: int, height: int, unit: str, reach: Reach | None = None
) -> list[list[_Cell]]:
    """Draw the rows, from the top.

    Args:
        bins: What is counted, usable.
        marks: Sizes to be marked, with clean texts.
        width: Cells there are.
        height: Rows there are.
        unit: The unit of the sizes, clean.
        reach: Where the scale begins and ends at least; None for what is shown.
    """
    ends = reach or (math.inf, 0.0)
    low = math.log(min([one.low for one in bins] + [ends[0]]))
    high = math.log(max([one.high for one in bins] + [mark.at for mark in marks] + [ends[1]]))
    legend, axis = height >= ROWS_FOR_ALL and bool(marks), height >= ROWS_FOR_AXIS
    plot_height = max(1, height - legend - (2 if axis else 0))
    indent = GUTTER if width >= GUTTER_FROM else 0
    room = width - indent
    columns = spread(bins, low, high, room)
    most = short(math.ceil(max([whole + part for whole, part in columns]) * (1 - 1e-9)))
    gutter = f"{fit(most, indent - 1):>{indent - 1}} " if indent else ""
    places = [(cell_of(math.log(max(mark.at, 1.0)), low, high, room), mark) for mark in marks]
    rows = bars(columns, plot_height)
    for cell, mark in places:
        for place, row in enumerate(rows):
            if row[cell][0] == " " or place == 0:
                row[cell] = (mark.sign if place == 0 else LINE, "histogram--mark")
    found = [[(gutter if place == 0 else " " * len(gutter), "histogram--axis"), *row] for place, row in enumerate(rows)]
    if legend:
        found.insert(0, [(legend_row(marks, width), "histogram--legend")])
    if axis:
        found += _axis(low, high, room, " " * len(gutter), unit)
    return found


def _axis(low: float, high: float, room: int, indent: str, unit: str) -> list[list[_Cell]]:
    """Draw the axis and the figures below it."""
    begin, end = math.exp(low), math.exp(high)
    ticks = [(cell_of(math.log(value), low, high, room), short(value)) for value in decades(begin, end * 1.001)]
    named = [(cell, f"{text} {unit}" if unit and place == 0 else text) for place, (cell, text) in enumerate(ticks)]
    figures, ticked = labels(room, named)
    line = "".join("┴" if cell in ticked else "─" for cell in range(room))
    return [[(indent + line, "histogram--axis")], [(indent + figures, "histogram--axis")]]


def legend_row(marks: Sequence[Mark], width: int) -> str:
    """Give the marks in words, as many as fit."""
    said = ""
    for mark in marks:
        more = f"{said}  {mark.sign} {mark.label}" if said else f"{mark.sign} {mark.label}"
        if cell_len(more) > width:
            break
        said = more
    return said


def spread(bins: Sequence[Bin], low: float, high: float, room: int) -> list[tuple[float, float]]:
    """Give for each column how many there are in a bin's width around it, finished and not.

    A bin's count is spread evenly over its width; a column that lies in one bin has that bin's count, one that covers
    several has their mean, weighted by how much it covers of each.

    Args:
        bins: What is counted.
        low: Logarithm of the left edge.
        high: Logarithm of the right edge.
        room: Columns.
    """
    step = (high - low) / room
    found = [(0.0, 0.0)] * room
    for one in bins:
        begin, end = math.log(one.low), math.log(one.high)
        for cell in range(cell_of(begin, low, high, room), cell_of(end, low, high, room) + 1):
            left = low + cell * step
            share = max(0.0, min(end, left + step) - max(begin, left)) / step if step > 0 else 1.0
            found[cell] = (found[cell][0] + one.whole * share, found[cell][1] + one.part * share)
    return found


def bars(columns: Sequence[tuple[float, float]], height: int) -> list[list[_Cell]]:
    """Draw the columns, rows from the top; what is there at all has one eighth of a row at least.

    Args:
        columns: For each its finished and its open part.
        height: Rows.
    """
    most = max([whole + part for whole, part in columns], default=0.0)
    drawn = [_column(whole, part, most, height) for whole, part in columns]
    return [[column[place] for column in drawn] for place in range(height - 1, -1, -1)]


def _column(whole: float, part: float, most: float, height: int) -> list[_Cell]:
    """Draw one column, from the bottom."""
    if most <= 0:
        return [(" ", "")] * height
    eighths = min(height * 8, max(1, round(whole / most * height * 8))) if whole > 0 else 0
    full, rest = divmod(eighths, 8)
    cells: list[_Cell] = [("█", "histogram--whole")] * full
    if rest:
        cells.append((BLOCKS[rest], "histogram--whole"))
    if part > 0 and len(cells) < height:
        top = max(len(cells) + 1, round((whole + part) / most * height))
        cells += [(OPEN, "histogram--part")] * (min(height, top) - len(cells))
    return [*cells, *[(" ", "")] * (height - len(cells))]
