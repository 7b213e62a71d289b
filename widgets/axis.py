"""Scales for charts: where values stand on a row of cells, and which labels fit below it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

GAP = 2
"""Cells between two labels at least."""


def cell_of(value: float, low: float, high: float, width: int) -> int:
    """Give the cell in which a value lies; values outside lie in the first or the last.

    Args:
        value: The value; on a scale of logarithms, its logarithm, like the limits.
        low: The left edge of the first cell.
        high: The right edge of the last.
        width: Cells, 1 or more.
    """
    if value <= low or not high > low:
        return 0
    return width - 1 if value >= high else min(width - 1, math.floor((value - low) / (high - low) * width))


def short(value: float) -> str:
    """Give a figure in at most four characters, as axes have it: ``950``, ``1k``, ``2.5k``, ``10M``."""
    for scale, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= scale * 0.9995:
            return f"{value / scale:.3g}{sign}"
    return f"{value:.3g}"


def decades(low: float, high: float) -> list[float]:
    """Give the round figures of a scale of logarithms: 1, 2 and 5 times the powers of ten, the powers first.

    Args:
        low: Where the scale begins, above 0.
        high: Where it ends.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    found = [factor * 10.0**power for factor in (1, 5, 2) for power in range(first, last + 1)]
    return [value for value in found if low <= value <= high]


def labels(width: int, wanted: Iterable[tuple[int, str]]) -> tuple[str, list[int]]:
    """Write as many labels as fit below an axis, the first ones first; each is centred on its cell.

    Args:
        width: Cells of the axis.
        wanted: Cell and label, the most important first.

    Returns:
        The row, and the cells that have a label, ascending.
    """
    taken: list[tuple[int, int, str]] = []
    marked: list[int] = []
    for cell, text in wanted:
        size = cell_len(text)
        if not 0 <= cell < width or size > width:
            continue
        start = min(width - size, max(0, cell - size // 2))
        if all(start >= end + GAP or start + size + GAP <= begin for begin, end, _ in taken):
            taken.append((start, start + size, text))
            marked.append(cell)
    return _written(sorted(taken), width), sorted(set(marked))


def _written(taken: Sequence[tuple[int, int, str]], width: int) -> str:
    row, at = "", 0
    for begin, end, text in taken:
        row += " " * (begin - at) + text
        at = end
    return row + " " * (width - at)
