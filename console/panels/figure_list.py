"""Figures as a list: labels at the left, texts beside them in lines that fit, their sources behind them."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from textual.content import Content

from widgets.plain import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from console.panels.dataset_words import Figure

LABEL = 11
"""Cells of the labels' column."""

NARROWEST = 24
"""Cells of a text below which its label stands above it."""


def laid_out(said: Iterable[Figure], width: int) -> Content:
    """Lay figures as a list: labels at the left, texts beside them in lines that fit, their source behind them, dim.

    Args:
        said: The figures.
        width: Cells there are.
    """
    indent = LABEL if width >= LABEL + NARROWEST else 0
    pieces: list[tuple[str, str]] = []
    for one in said:
        source = f" · {one.source}" if one.source else ""
        whole = _BEFORE_UNIT.sub(_HARD, clean(f"{one.text}{source}"))
        lines = [line.replace(_HARD, " ") for line in textwrap.wrap(whole, max(1, width - indent))] or [""]
        label = clean(one.label)
        pieces.append(("\n" if pieces else "", ""))
        pieces.append((f"{label:<{indent}}" if indent else f"{label}\n", "bold $text-warning" if one.alert else "bold"))
        pieces += _dimmed(lines, len(clean(one.text)), " " * indent, alert=one.alert)
    return Content.assemble(*[(text, style) for text, style in pieces if text])


_HARD = "\u00a0"
"""A blank at which no line is broken."""

_BEFORE_UNIT = re.compile(r"(?<=[0-9]) (?=(?:s|min|h|d|k|M|G|tok|%|of)\b|%)")
"""The blank between a figure and its unit, which belong together."""


def _dimmed(lines: Sequence[str], plain: int, indent: str, *, alert: bool) -> Iterable[tuple[str, str]]:
    """Give wrapped lines as pieces; what lies behind the first ``plain`` characters of their text is drawn dim.

    A line's end stands for one character: the blank at which it was broken.
    """
    passed = 0
    for place, line in enumerate(lines):
        if place:
            yield f"\n{indent}", ""
        here = min(len(line), max(0, plain - passed))
        yield line[:here], "$text-warning" if alert else ""
        yield line[here:], "$text-muted"
        passed += len(line) + 1
