"""What a widget has drawn, as plain text: with all its parts, also those that are scrolled out of sight."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.geometry import Region

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.widget import Widget

MOST_ROWS = 5_000
"""Rows of one part that are taken: a bound on the time that copying a long list takes."""

_BAR = re.compile("[═━╍┅─┄┃▁▂▃▄▅▆▇█░▒▓\u2800-\u28ff]{2,}|(?<= )[┃│](?= )")
"""What draws a bar or a course: nothing that a sentence could say."""

Placed = tuple[int, int, str]
"""Row, first cell, and the text that stands there."""


def drawn(widget: Widget, first: int = 0, last: int = MOST_ROWS) -> tuple[str, ...]:
    """Give the rows of a widget as text, without its border, its scrollbars and empty rows at either end.

    Args:
        widget: One that has been laid out; another gives nothing.
        first: The first row of what it holds that is taken, 0 for the uppermost.
        last: One past the last row that is taken.
    """
    rows: dict[int, list[tuple[int, str]]] = {}
    for y, x, text in _parts(widget, 0, 0):
        if first <= y < last:
            rows.setdefault(y, []).append((x, text))
    if not rows:
        return ()
    lines = [_row(sorted(rows.get(y, ()))) for y in range(min(rows), max(rows) + 1)]
    indent = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return _trimmed(line[indent:] for line in lines)


def _parts(widget: Widget, top: int, left: int) -> Iterable[Placed]:
    """Give the texts of a widget, or of the widgets within it."""
    inside = [child for child in widget.children if child.display and child.visible]
    if not inside:
        yield from _own(widget, top, left)
        return
    for child in inside:
        where = child.virtual_region
        if where.area:
            yield from _parts(child, top + where.y, left + where.x)


def _own(widget: Widget, top: int, left: int) -> Iterable[Placed]:
    """Give the rows that a widget draws itself."""
    space = widget.gutter
    size = widget.content_size
    if not size.area:
        return
    whole = Region(0, 0, size.width + space.width, min(MOST_ROWS, size.height) + space.height)
    strips = widget.render_lines(whole)
    for y in range(space.top, min(len(strips), space.top + size.height)):
        text = strips[y].crop(space.left, space.left + size.width).text.rstrip()
        if text:
            yield top + y, left + space.left, text


def _row(texts: Iterable[tuple[int, str]]) -> str:
    """Put texts into one row, each from its cell on."""
    line = ""
    for x, text in texts:
        line += " " * max(x - cell_len(line), 1 if line else 0) + text
    return line.rstrip()


def _trimmed(lines: Iterable[str]) -> tuple[str, ...]:
    rows = list(lines)
    while rows and not rows[0]:
        rows.pop(0)
    while rows and not rows[-1]:
        rows.pop()
    return tuple(rows)


def without_bars(row: str) -> str:
    """Give a drawn row as words and figures: without bars, and one space where there were several."""
    return " ".join(_BAR.sub(" ", row).split())
