"""What a screen holds, as a small text file: the characters of each row, and the style of each run of cells.

A picture (SVG) would be a hundred kilobytes with random names inside; this is five, says the same, and can be read in a
review. The file's first part is the screen as text, its second the runs, as ``COUNT NAME`` pairs without the blank
(``12a3b``), its third what each name stands for, in the order in which they occur.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from rich.cells import cell_len

if TYPE_CHECKING:
    from pathlib import Path

    from rich.color import Color
    from rich.style import Style

    from console.app import LongwaitApp

BARE = "-"
"""The style of cells without one."""

MARKS = ("bold", "dim", "italic", "underline", "reverse", "strike")
"""What a style may be beside its two colours."""

STYLES, NAMES = "=== styles ===", "=== names ==="
"""What parts the file."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a screen holds.

    Attributes:
        rows: The text of each row, without the blanks at its end.
        runs: For each row, how many cells follow one another in which style.
    """

    rows: tuple[str, ...]
    runs: tuple[tuple[tuple[int, str], ...], ...]

    def text(self) -> str:
        """Write it down."""
        names: dict[str, str] = {}
        for row in self.runs:
            for _, style in row:
                names.setdefault(style, _name(len(names)))
        styles = ["".join(f"{count}{names[style]}" for count, style in row) for row in self.runs]
        told = [f"{name} {style}" for style, name in names.items()]
        return "\n".join([*self.rows, STYLES, *styles, NAMES, *told]) + "\n"


def drawn(app: LongwaitApp) -> Drawn:
    """Give what is on the screen now."""
    strips = app.screen._compositor.render_strips()[: app.size.height]
    rows, runs = [], []
    for strip in strips:
        cells = [(_words(segment.style), cell_len(segment.text)) for segment in strip if segment.text]
        rows.append("".join(segment.text for segment in strip).rstrip())
        runs.append(tuple((sum(n for _, n in run), style) for style, run in groupby(cells, key=lambda cell: cell[0])))
    return Drawn(tuple(rows), tuple(runs))


def read(path: Path) -> Drawn:
    """Read what was written down."""
    lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    styles, names = lines.index(STYLES), lines.index(NAMES)
    known = dict(line.split(" ", 1) for line in lines[names + 1 :])
    runs = (re.findall(r"(\d+)([a-z]+)", line) for line in lines[styles + 1 : names])
    return Drawn(tuple(lines[:styles]), tuple(tuple((int(count), known[name]) for count, name in row) for row in runs))


def differences(was: Drawn, now: Drawn) -> list[str]:
    """Say which rows differ, and how; nothing when none does."""
    if len(was.rows) != len(now.rows):
        return [f"{len(was.rows)} rows were kept, {len(now.rows)} are drawn"]
    told = []
    for number, (old, new) in enumerate(zip(was.rows, now.rows, strict=True), 1):
        if old != new:
            told += [f"row {number} was  {old}", f"row {number} is   {new}"]
        if was.runs[number - 1] != now.runs[number - 1]:
            told.append(f"row {number} {_first_change(was.runs[number - 1], now.runs[number - 1])}")
    return told


def _first_change(old: tuple[tuple[int, str], ...], new: tuple[tuple[int, str], ...]) -> str:
    """Say where the styles of a row first part, for rows that differ."""
    wide = [[style for count, style in row for _ in range(count)] for row in (old, new)]
    for column, (one, other) in enumerate(zip(*wide, strict=False)):
        if one != other:
            return f"column {column + 1}: style was {one}, is {other}"
    return f"was {len(wide[0])} cells wide, is {len(wide[1])}"


def _name(number: int) -> str:
    """Give the number as letters: a to z, ba, bb."""
    most, least = divmod(number, 26)
    return (_name(most) if most else "") + chr(ord("a") + least)


def _words(style: Style | None) -> str:
    """Give a style in words; links, and what Textual hangs on for the mouse, are not looks."""
    if style is None:
        return BARE
    marks = [mark for mark in MARKS if getattr(style, mark)]
    colours = [_colour(style.color), f"on {_colour(style.bgcolor)}"]
    return " ".join([*colours, *marks])


def _colour(colour: Color | None) -> str:
    if colour is None or colour.is_default:
        return "default"
    return colour.triplet.hex if colour.triplet is not None else colour.name
