"""Several shares below one another, their bars and figures in columns: ranks of a server, GPUs, disks."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from rich.cells import cell_len
from textual.reactive import reactive
from textual.widget import Widget

from widgets.paint import painted
from widgets.plain import clean, column, fit
from widgets.row import BAR_LEAST, BAR_NOTHING, GAP, cells, known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.content import Content
    from textual.geometry import Size

FULL, REST, NOTHING = "━", "─", "┄"
"""The filled part of a bar, its rest, and a bar whose value is not known."""

BAR_MOST = 40
"""Cells of a bar at most: a longer one tells no more, and the figures would stand far from it."""

RAGGED = 5
"""The share of the width that a bar takes, where the figures behind it are of different kinds: one part in so many."""

BESIDE = 44
"""Cells that a row needs when rows stand side by side."""

ROWS = 16
"""Rows below one another, from which on they stand side by side where there is room."""

Level = Literal["", "warn", "danger"]


class GaugeRow(NamedTuple):
    """One share.

    Attributes:
        label: What it is of.
        value: 0 to 1; None when not known.
        figures: Texts behind the bar, most important first; each has a column of its own.
        level: ``warn`` or ``danger`` colours it; the figures must say the same in words or signs.
    """

    label: str
    value: float | None
    figures: tuple[str, ...] = ()
    level: Level = ""


class Shape(NamedTuple):
    """How the rows share a width: cells of the label and of the bar, and of each column of figures that fits."""

    label: int
    bar: int
    figures: tuple[int, ...]


def shape(rows: Sequence[GaugeRow], width: int) -> Shape:
    """Share a width among label, bar and figures: figures give way from the right, then the bar, then the label.

    Args:
        rows: All rows, their texts clean.
        width: Cells.
    """
    label = max((cell_len(row.label) for row in rows), default=0)
    count = max((len(row.figures) for row in rows), default=0)
    wide = [max((cell_len(row.figures[at]) for row in rows if at < len(row.figures)), default=0) for at in range(count)]
    for shown in range(count, -1, -1):
        least = BAR_LEAST if shown > 1 else BAR_NOTHING
        bar = width - label - 1 - sum(GAP + cells_ for cells_ in wide[:shown])
        if bar >= least:
            return Shape(label, min(BAR_MOST, bar), tuple(wide[:shown]))
        if shown == 1 and label + GAP + wide[0] <= width:
            return Shape(label, 0, (wide[0],))
    return Shape(min(label, max(0, width)), 0, ())


def ragged(rows: Sequence[GaugeRow], width: int) -> Shape:
    """Share a width among rows whose figures are of different kinds: bars are alike, and each row takes what fits.

    Args:
        rows: All rows, their texts clean.
        width: Cells.
    """
    label = max((cell_len(row.label) for row in rows), default=0)
    first = max((cell_len(row.figures[0]) for row in rows if row.figures), default=0)
    most = width - label - 1 - GAP - first
    bar = min(BAR_MOST, most, max(BAR_LEAST, width // RAGGED))
    return Shape(min(label, max(0, width)), bar if bar >= BAR_NOTHING else 0, ())


def beside(count: int, width: int) -> int:
    """How many rows stand side by side."""
    return max(1, min(width // BESIDE, -(-count // ROWS)))


class Gauges(Widget):
    """Rows of a label, a bar and figures; as high as it has rows."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "gauges--label",
        "gauges--bar",
        "gauges--rest",
        "gauges--note",
        "gauges--warn",
        "gauges--danger",
    }
    """Parts that CSS can reach."""

    DEFAULT_CSS = """
    Gauges {
        height: auto;
        width: 1fr;
        text-wrap: nowrap;
        & > .gauges--label { color: $foreground; }
        & > .gauges--bar { color: $primary; }
        & > .gauges--rest { color: $foreground 25%; }
        & > .gauges--note { color: $foreground; }
        & > .gauges--warn { color: $text-warning; }
        & > .gauges--danger { color: $text-error; }
    }
    """

    rows: reactive[tuple[GaugeRow, ...]] = reactive[tuple[GaugeRow, ...]](())
    """What is drawn, from the top."""

    def __init__(self, *, aligned: bool = True, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        """Make it.

        Args:
            aligned: Figures stand in columns; else each row has as many as it has room for.
            id: Its id.
        """
        super().__init__(id=id)
        self._aligned = aligned

    def watch_rows(self, before: tuple[GaugeRow, ...], after: tuple[GaugeRow, ...]) -> None:
        """Take more or less room, when there are more or fewer rows."""
        if len(before) != len(after):
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's own
        """Rows that it takes."""
        count = len(self.rows)
        return -(-count // beside(count, width))

    def render(self) -> Content:
        """Draw the rows for the width there is."""
        rows = [
            GaugeRow(clean(row.label), row.value, tuple(clean(each) for each in row.figures), row.level)
            for row in self.rows
        ]
        abreast = beside(len(rows), self.size.width)
        width = (self.size.width - GAP * (abreast - 1)) // abreast
        fitted, high = (shape if self._aligned else ragged)(rows, width), -(-len(rows) // abreast)
        pieces: list[tuple[str, str]] = []
        for line in range(high):
            for place, row in enumerate(rows[line::high]):
                drawn = _pieces(row, fitted, width)
                gap = GAP + width - sum(cell_len(text) for text, _ in drawn)
                pieces += [*drawn, (" " * gap if line + (place + 1) * high < len(rows) else "", "")]
            pieces.append(("\n", ""))
        return painted(self, pieces[:-1])


def _pieces(row: GaugeRow, fitted: Shape, width: int) -> list[tuple[str, str]]:
    """One row."""
    value = known(row.value)
    full, rest = cells(fitted.bar, (value or 0.0, 1.0))
    loud = f"gauges--{row.level}" if row.level else ""
    pieces = [(column(row.label, fitted.label), "gauges--label")]
    if fitted.bar:
        pieces += [
            (" ", ""),
            (FULL * full, loud or "gauges--bar"),
            ((NOTHING if value is None else REST) * rest, "gauges--rest"),
        ]
    room = max(0, width - sum(cell_len(part) for part, _ in pieces))
    text = _columns(row, fitted) if fitted.figures else _fitting(row, room)
    return [*pieces, (fit(text, room), loud or "gauges--note")]


def _columns(row: GaugeRow, fitted: Shape) -> str:
    """The figures, each at the right of its column."""
    figures = (*row.figures, *[""] * len(fitted.figures))
    told = [" " * (GAP + wide - cell_len(text)) + text for wide, text in zip(fitted.figures, figures, strict=False)]
    return "".join(told).rstrip()


def _fitting(row: GaugeRow, room: int) -> str:
    """As many figures as there is room for; the first is cut rather than left out."""
    text = ""
    for place, figure in enumerate(row.figures):
        more = f"{text}{' ' * GAP}{figure}" if figure else text
        if place and cell_len(more) > room:
            break
        text = more
    return text
