"""How one line shares its width between a label, a bar and figures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from widgets.plain import fit

if TYPE_CHECKING:
    from collections.abc import Sequence

BAR_LEAST = 8
"""Cells below which a bar says nothing that the figure beside it does not; figures give way before it gets shorter."""

BAR_NOTHING = 3
"""Cells below which no bar is drawn at all."""

LABEL_LEAST = 3
"""Cells of a label below which it is no longer known again; the state's sign gives way to it."""

GAP = 2
"""Cells between two figures."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line, planned.

    Attributes:
        label: The label, cut when it had to be.
        word: The word after the label, its short form, or "" when there was no room.
        bar: Cells for the bar, 0 for none.
        figures: The figures that fit, most important first.
    """

    label: str
    word: str
    bar: int
    figures: tuple[str, ...]


def plan(width: int, label: str, word: str, figures: Sequence[str], short: str = "") -> Row:
    """Share the width of a line.

    The bar shrinks first, then figures go from the right, then the word becomes short, then the bar goes, then the
    label is cut.

    Args:
        width: Cells in the line.
        label: Clean text at the left.
        word: Clean text after the label.
        figures: Clean texts at the right, from the most to the least important.
        short: What stands for the word where there is no room for it.
    """
    figures = tuple(figure for figure in figures if figure)
    for count in range(len(figures), 1, -1):
        bar = _left(width, (label, word), figures[:count])
        if bar >= BAR_LEAST:
            return Row(label, word, bar, figures[:count])
    for state in (word, short, ""):
        bar = _left(width, (label, state), figures[:1])
        if bar >= BAR_NOTHING:
            return Row(label, state, bar, figures[:1])
    return _squeezed(width, label, short, figures[:1])


def _left(width: int, head: Sequence[str], figures: Sequence[str]) -> int:
    """Cells left for a bar when these texts and the gaps between them stand in the line."""
    heads = sum(cell_len(text) + 1 for text in head if text)
    tail = sum(cell_len(figure) + GAP for figure in figures) - (GAP - 1 if figures else 0)
    return width - heads - tail


def _squeezed(width: int, label: str, short: str, figures: tuple[str, ...]) -> Row:
    """Plan a line that has no room for a bar: the short word and the figure stay as long as they can."""
    figure = fit(figures[0], width) if figures else ""
    kept = (figure,) if figure else ()
    room = _left(width, (short,), kept)
    if room >= min(LABEL_LEAST, cell_len(label)):
        return Row(fit(label, room), short, 0, kept)
    return Row(fit(label, max(0, _left(width, (), kept))), "", 0, kept)


def cells(width: int, ends: Sequence[float]) -> tuple[int, ...]:
    """Turn shares into whole cells of a bar.

    A cell is filled when all of it is: ``floor(width * end)``, so a bar is full only when the whole is done.

    Args:
        width: Cells of the bar.
        ends: Where each part ends, as shares of the whole; clipped to 0..1 and to the part before.

    Returns:
        Cells of each part, in order; their sum is at most the width.
    """
    counts: list[int] = []
    taken = 0
    for end in ends:
        # The small term mends products such as 0.29 * 100 = 28.999999999999996.
        reached = max(taken, math.floor(width * min(1.0, max(0.0, end)) + 1e-9))
        counts.append(reached - taken)
        taken = reached
    return tuple(counts)


def percent(share: float) -> str:
    """Give a share as whole percent, rounded down, so that "100%" is said of the whole only."""
    return f"{math.floor(share * 100 + 1e-9)}%"


def known(value: float | None) -> float | None:
    """Give the value when it is a finite number, else None."""
    return value if value is not None and math.isfinite(value) else None


def place_of(share: float | None, width: int) -> int | None:
    """The cell that a place lies in; None when it is not known, or there is no cell."""
    value = known(share)
    if value is None or width < 1:
        return None
    return min(width - 1, int(min(1.0, max(0.0, value)) * width))
