"""A short history as a sparkline, with its newest value in words."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.reactive import reactive
from textual.widget import Widget

from widgets.paint import painted
from widgets.plain import UNKNOWN, clean, fit
from widgets.row import known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.content import Content

BLOCKS = "▁▂▃▄▅▆▇█"
"""The eight heights; a gap is a space, so the least value is not drawn as nothing."""

SPARK_LEAST = 4
"""Cells below which a sparkline is left out, so that the figure has the room."""

LIMITS_FROM = 60
"""Cells from which on the least and the greatest value are written too."""


def spark(values: Sequence[float | None], width: int, floor: float | None = 0.0) -> str:
    """Draw values, oldest first, as a line of blocks.

    More values than cells are averaged in ``width`` spans of equal length; fewer stand at the right. A span without
    a value is a gap. The scale goes from ``floor`` (or the least value, when that is lower) to the greatest value;
    a history without any height is drawn at half height, or at the bottom when it is all at the floor.

    Args:
        values: The values; None, NaN and infinities are gaps.
        width: Cells to fill; the answer has exactly so many.
        floor: The scale's bottom, so that small changes of a large value look small; None for the least value.
    """
    if width < 1:
        return ""
    spans = _spans([known(value) for value in values], width)
    seen = [value for value in spans if value is not None]
    if not seen:
        return " " * width
    low, high = min(seen), max(seen)
    bottom = low if floor is None else min(low, floor)
    # Flat at the floor (all zero) must look low; flat elsewhere has no scale to be high or low on.
    middle = BLOCKS[0] if floor is not None else BLOCKS[3]
    drawn = (" " if v is None else middle if high == bottom else _block(v, bottom, high) for v in spans)
    return "".join(drawn).rjust(width)


def _block(value: float, bottom: float, high: float) -> str:
    """Give the block for a value on a scale; halved first, so that the widest scale does not overflow."""
    share = (value / 2 - bottom / 2) / (high / 2 - bottom / 2) if high / 2 > bottom / 2 else 1.0
    return BLOCKS[min(len(BLOCKS) - 1, max(0, math.floor(share * len(BLOCKS))))]


def _spans(values: list[float | None], width: int) -> list[float | None]:
    """Average values in so many spans, when there are more values than that."""
    count = len(values)
    if count <= width:
        return values
    edges = [index * count // width for index in range(width + 1)]
    return [_mean(values[start:end]) for start, end in itertools.pairwise(edges)]


def _mean(values: list[float | None]) -> float | None:
    """Give the mean of the values there are; None without any."""
    seen = [value for value in values if value is not None]
    return math.fsum(value / len(seen) for value in seen) if seen else None


def _short(value: float) -> str:
    """Write a limit in few cells: three significant digits, thousands as k, M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 10:
            return f"{value / size:,.0f}{letter}"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"  # noqa: PLR2004 - digits


class Trend(Widget):
    """A label, a sparkline, the newest value with its unit, and the limits of the history where there is room."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"trend--label", "trend--line", "trend--now", "trend--limits"}
    """Parts that CSS can reach."""

    DEFAULT_CSS = """
    Trend {
        height: 1;
        width: 1fr;
        text-wrap: nowrap;
        & > .trend--label { color: $foreground; }
        & > .trend--line { color: $primary; }
        & > .trend--now { color: $foreground; text-style: bold; }
        & > .trend--limits { color: $foreground-muted; }
    }
    """

    label: reactive[str] = reactive("")
    """What is drawn; may be empty."""

    values: reactive[tuple[float | None, ...]] = reactive[tuple[float | None, ...]](())
    """The history, oldest first; None where nothing is known."""

    unit: reactive[str] = reactive("")
    """The unit of the values."""

    now: reactive[str] = reactive("")
    """The newest value as text, without its unit; when empty, ``--``."""

    floor: reactive[float | None] = reactive[float | None](0.0)
    """The scale's bottom; None for the least value shown."""

    between: reactive[tuple[float, float] | None] = reactive[tuple[float, float] | None](None)
    """The least and the greatest of what the values are means of; None: of the values themselves."""

    def __init__(
        self,
        label: str = "",
        values: tuple[float | None, ...] = (),
        *,
        unit: str = "",
        now: str = "",
        floor: float | None = 0.0,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the name that all Textual widgets have for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.label, self.unit, self.now, self.floor = label, unit, now, floor
        self.values = values

    def _limits(self) -> str:
        """Write the least and the greatest value of the history; "" without one."""
        seen = [value for value in map(known, self.between or self.values) if value is not None]
        return f"{_short(min(seen))}..{_short(max(seen))}" if seen else ""

    def render(self) -> Content:
        """Draw the line for the width there is: the newest value first of all, then the line, then the limits."""
        width = self.size.width
        now = fit(f"{clean(self.now) or UNKNOWN} {clean(self.unit)}".rstrip(), width)
        limits = self._limits() if width >= LIMITS_FROM else ""
        label = clean(self.label)
        room = width - sum(cell_len(text) + 1 for text in (label, now, limits) if text)
        if room < SPARK_LEAST:
            label = fit(label, max(0, width - cell_len(now) - 1))
            return painted(self, [(label, "trend--label"), (" " if label else "", ""), (now, "trend--now")])
        line = spark(self.values, room, self.floor)
        pieces = [(label, "trend--label"), (" " if label else "", ""), (line, "trend--line"), (" ", "")]
        return painted(self, [*pieces, (now, "trend--now"), (f" {limits}" if limits else "", "trend--limits")])
