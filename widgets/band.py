"""A share that grows over time, and where its end was expected when it was so far.

From left to right runs the time, from the bottom to the top how much is done. The dots are what was done when. In each
row the band lies where the end was expected to be when so much was done; in rows that are not reached, where it is
expected now. So the band gets narrower upwards, and meets the dots at the top.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.reactive import reactive
from textual.widget import Widget

from widgets.axis import cell_of, labels
from widgets.paint import joined, painted
from widgets.plain import clean, paragraph

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.content import Content

BAND, MIDDLE, NOW, END = "░", "│", "┊", "┃"
"""The range, its middle, the present, and the end that came."""

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The dots of a braille cell: rows from the top, columns from the left (Unicode 16, Braille Patterns)."""

_BRAILLE = 0x2800

ROWS_FOR_AXIS = 4
"""Rows from which on there are figures below."""

GUTTER_FROM = 30
"""Cells from which on the shares stand at the left."""

GUTTER = 6
"""Cells of ``100 % ``."""


class Span(NamedTuple):
    """Where the end was expected.

    Attributes:
        share: From this share on, 0 to 1.
        low: Early end of the range, on the scale of time.
        middle: Its middle.
        high: Its late end.
    """

    share: float
    low: float
    middle: float
    high: float


_Cell = tuple[str, str]


class RangeBand(Widget):
    """The share done over time with the band of its end."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "rangeband--curve",
        "rangeband--span",
        "rangeband--middle",
        "rangeband--now",
        "rangeband--end",
        "rangeband--axis",
    }
    """Parts that CSS can reach."""

    DEFAULT_CSS = """
    RangeBand {
        height: 8;
        width: 1fr;
        text-wrap: nowrap;
        & > .rangeband--curve { color: $primary; text-style: bold; }
        & > .rangeband--span { color: $accent; }
        & > .rangeband--middle { color: $text-accent; text-style: bold; }
        & > .rangeband--now { color: $foreground-muted; }
        & > .rangeband--end { color: $text-success; text-style: bold; }
        & > .rangeband--axis { color: $foreground-muted; }
    }
    """

    curve: reactive[tuple[tuple[float, float], ...]] = reactive[tuple[tuple[float, float], ...]](())
    """Time and share done, in the order of time; shares 0 to 1."""

    spans: reactive[tuple[Span, ...]] = reactive[tuple[Span, ...]](())
    """Where the end was expected, by rising share."""

    reach: reactive[tuple[float, float]] = reactive[tuple[float, float]]((0.0, 1.0))
    """The time at the left and at the right edge."""

    now: reactive[float | None] = reactive[float | None](None)
    """The present; None when it is of no interest."""

    end: reactive[float | None] = reactive[float | None](None)
    """When the end came; None while it has not."""

    ticks: reactive[tuple[tuple[float, str], ...]] = reactive[tuple[tuple[float, str], ...]](())
    """Times to be named, from the most to the least important."""

    nothing: reactive[str] = reactive("")
    """What is said where there is neither a curve nor a span."""

    def render(self) -> Content:
        """Draw for the room there is."""
        width, height = self.size
        low, high = self.reach
        curve = usable(self.curve)
        spans = [one for one in self.spans if all(map(math.isfinite, one))]
        if width < 1 or height < 1 or not (curve or spans) or not (math.isfinite(high - low) and high > low):
            return painted(self, [(paragraph(clean(self.nothing), width, height), "rangeband--axis")])
        axis, gutter = height >= ROWS_FOR_AXIS, GUTTER if width >= GUTTER_FROM else 0
        plot = Plot(low, high, width - gutter, height - (2 if axis else 0))
        plot.spans(spans)
        plot.line(self.now, NOW, "rangeband--now")
        plot.line(self.end, END, "rangeband--end")
        plot.curve(curve)
        rows: list[list[_Cell]] = [
            [(_share_label(place, plot.height) if gutter else "", "rangeband--axis"), *row]
            for place, row in enumerate(plot.rows)
        ]
        if axis:
            rows += _axis(plot, [(at, clean(text)) for at, text in self.ticks], " " * gutter)
        pieces: list[_Cell] = []
        for place, row in enumerate(rows):
            pieces += [("\n", "")] if place else []
            pieces += joined(row)
        return painted(self, pieces)


def usable(curve: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Give the points that can be drawn, in the order of time."""
    known = [(at, min(1.0, max(0.0, share))) for at, share in curve if math.isfinite(at) and math.isfinite(share)]
    return sorted(known, key=lambda point: point[0])


def _share_label(place: int, height: int) -> str:
    """Name the top, the middle and the bottom of the scale."""
    if place == 0:
        return "100 % "
    if place == height - 1:
        return "  0 % "
    return " 50 % " if height % 2 and place == height // 2 else " " * GUTTER


def _axis(plot: Plot, ticks: Iterable[tuple[float, str]], indent: str) -> list[list[_Cell]]:
    wanted = [(cell_of(at, plot.low, plot.high, plot.width), text) for at, text in ticks if plot.low <= at <= plot.high]
    figures, ticked = labels(plot.width, wanted)
    line = "".join("┴" if cell in ticked else "─" for cell in range(plot.width))
    return [[(indent + line, "rangeband--axis")], [(indent + figures, "rangeband--axis")]]


class Plot:
    """The cells between the axes; later drawings cover earlier ones.

    Args:
        low: The time at the left edge.
        high: The time at the right edge, above it.
        width: Cells, 1 or more.
        height: Rows, 1 or more.
    """

    def __init__(self, low: float, high: float, width: int, height: int) -> None:
        self.low, self.high, self.width, self.height = low, high, max(1, width), max(1, height)
        self.rows: list[list[_Cell]] = [[(" ", "")] * self.width for _ in range(self.height)]

    def spans(self, spans: Sequence[Span]) -> None:
        """Draw in each row the range that held when so much was done."""
        if not spans:
            return
        for place, row in enumerate(self.rows):
            share = (self.height - place - 0.5) / self.height
            one = spans[max(0, bisect_right(spans, share, key=lambda span: span.share) - 1)]
            if one.high < self.low or one.low > self.high:
                continue
            for cell in range(self._cell(one.low), self._cell(one.high) + 1):
                row[cell] = (BAND, "rangeband--span")
            if self.low <= one.middle <= self.high:
                row[self._cell(one.middle)] = (MIDDLE, "rangeband--middle")

    def line(self, at: float | None, sign: str, part: str) -> None:
        """Draw a line from top to bottom where a time is."""
        if at is None or not self.low <= at <= self.high:
            return
        for row in self.rows:
            row[self._cell(at)] = (sign, part)

    def curve(self, points: Sequence[tuple[float, float]]) -> None:
        """Draw the share done in dots, two by four to a cell, without a gap from the first point to the last."""
        if not points:
            return
        cells: dict[tuple[int, int], int] = {}
        former: int | None = None
        high = self.height * 4 - 1
        first, last = (cell_of(at, self.low, self.high, self.width * 2) for at in (points[0][0], points[-1][0]))
        for column in range(first, last + 1):
            at = self.low + (column + 0.5) / (self.width * 2) * (self.high - self.low)
            level = round(_share_at(points, at) * high)
            former = level if former is None else former
            for dot in range(min(level, former), max(level, former) + 1):
                row = high - dot
                place = (row // 4, column // 2)
                cells[place] = cells.get(place, 0) | _DOTS[row % 4][column % 2]
            former = level
        for (row, cell), dots in cells.items():
            self.rows[row][cell] = (chr(_BRAILLE + dots), "rangeband--curve")

    def _cell(self, at: float) -> int:
        return cell_of(at, self.low, self.high, self.width)


def _share_at(points: Sequence[tuple[float, float]], at: float) -> float:
    """Give the share at a time; before the first point and behind the last as there."""
    place = bisect_right(points, at, key=lambda point: point[0])
    if place in {0, len(points)}:
        return points[max(0, place - 1)][1]
    (before, low), (after, high) = points[place - 1], points[place]
    return low + (high - low) * (at - before) / (after - before)
