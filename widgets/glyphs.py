"""The characters that are drawn, where a terminal has no more than ASCII: one table for all that is on the screen.

Widgets draw with lines, blocks, dots and signs of Unicode. Where these can't be shown, ``AsciiFilter`` puts a plain
character into the cell of each, after all is laid out: so every widget is covered, those of Textual and the borders
and scrollbars too, and nothing moves. What a widget tells apart by shape stays apart by shape.
"""

# ruff: noqa: RUF001 - this is a table of characters that may be taken for others

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from textual.filter import LineFilter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.color import Color

SIGNS = {
    # States and places
    "✓": "+",
    "✗": "x",
    "…": "~",
    "·": "-",
    "•": "*",
    "●": "O",
    "○": "o",
    "◆": "*",
    "■": "#",
    "□": ":",
    "▶": ">",
    "▸": ">",
    "►": ">",
    "▷": ">",
    "◀": "<",
    "◂": "<",
    "◄": "<",
    "▲": "^",
    "△": "^",
    "▴": "^",
    "▼": "V",
    "▽": "v",
    "▾": "v",
    "»": "}",
    "«": "{",
    "›": ">",
    "‹": "<",
    # Directions
    "→": ">",
    "←": "<",
    "↑": "^",
    "↓": "v",
    "↗": "/",
    "↘": "\\",
    "↔": "-",
    "↩": "<",
    "⏎": "<",
    # Lines that mean different things on one bar
    "━": "#",
    "═": "=",
    "╍": "~",
    "┅": "~",
    "┄": ".",
    "┈": ":",
    "┊": ";",
    "┃": "I",
    # Words
    "×": "x",
    "±": "+",
    "≤": "<",
    "≥": ">",
    "≈": "~",
    "≠": "!",
    "−": "-",
    "–": "-",
    "—": "-",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "°": "'",
    "µ": "u",
    "μ": "u",
    "∞": "8",
    "Σ": "S",
    "\u00a0": " ",
    "\ufffd": "?",
}
"""What stands for a character of its own meaning; each takes one cell, as the character does."""

HEIGHTS = dict(zip("▁▂▃▄▅▆▇█", "_.,-=+*#", strict=True))
"""Eight heights of a sparkline, from the least."""

SHADES = {"░": ":", "▒": "%", "▓": "@", "▏": "|", "▎": "|", "▍": "|", "▌": "]", "▋": "#", "▊": "#", "▉": "#", "▐": "|"}
"""Shades and parts of a cell from the left."""

EDGES = {"▔": "-", "▀": '"', "▕": "|", "▖": ".", "▗": ".", "▘": "'", "▝": "'", "▚": "\\", "▞": "/"}
"""Parts of a cell that borders and scrollbars are made of; other quarters of blocks are filled."""

_NOT_ASCII = re.compile("[^\x00-\x7f]")

_BRAILLE = 0x2800
_ROWS = (0x01 | 0x08, 0x02 | 0x10, 0x04 | 0x20, 0x40 | 0x80)
"""The dots of each row of a braille cell, from the top."""

_BRAILLE_AS = (" ", "'", "-", "-", ".")
"""A braille cell by where its topmost dot is: none, in the first row, and so on."""


def braille(cell: str) -> str:
    """Give what stands for a cell of dots: where its highest dot is, and whether it is filled below.

    Args:
        cell: One character of U+2800 to U+28FF.
    """
    dots = ord(cell) - _BRAILLE
    rows = [bool(dots & row) for row in _ROWS]
    if not any(rows):
        return " "
    if all(rows):
        return "#"
    if rows[0] and rows[-1]:
        return "|"
    return _BRAILLE_AS[1 + rows.index(True)]


def _box(name: str) -> str:
    """Give what stands for a line of a box, by its name in Unicode."""
    across = any(word in name for word in ("HORIZONTAL", "LEFT", "RIGHT"))
    down = any(word in name for word in ("VERTICAL", "UP", "DOWN"))
    if "DIAGONAL" in name:
        return "/" if "UPPER RIGHT TO LOWER LEFT" in name else "\\" if "UPPER LEFT" in name else "x"
    return "+" if across and down else "-" if across else "|"


@lru_cache(maxsize=4096)
def plain(character: str) -> str:
    """Give the ASCII that stands for one character, as many cells wide; "" for one without a width.

    Accents are left out, what has no likeness becomes a question mark.

    Args:
        character: One character.
    """
    found = SIGNS.get(character) or HEIGHTS.get(character) or SHADES.get(character) or EDGES.get(character)
    if found is not None:
        return found
    if 0x2800 <= ord(character) <= 0x28FF:  # noqa: PLR2004 - Unicode's block of braille patterns
        return braille(character)
    name = unicodedata.name(character, "")
    if name.startswith("BOX DRAWINGS"):
        return _box(name)
    if name.startswith("QUADRANT"):
        return "#"
    cells = cell_len(character)
    base = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return base if base and len(base) == cells else "?" * cells


def ascii_of(text: str) -> str:
    """Give a text in ASCII that takes the same cells.

    Args:
        text: Text without control characters.
    """
    return text if text.isascii() else _NOT_ASCII.sub(lambda found: plain(found[0]), text)


class AsciiFilter(LineFilter):
    """Puts ASCII into the place of all else, when a line is drawn."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's own
        """Give the line in ASCII; a line that is so already costs next to nothing."""
        return [
            segment if segment.text.isascii() else Segment(ascii_of(segment.text), segment.style, segment.control)
            for segment in segments
        ]


def needs_ascii(environ: Mapping[str, str], encoding: str) -> bool:
    """Tell whether the terminal can be expected to show ASCII only.

    That is so when its locale (``LC_ALL``, else ``LC_CTYPE``, else ``LANG``) names another encoding than UTF-8, when
    what is written can't be encoded, and on the Linux console, whose font has neither braille nor most signs. A
    locale that is not set at all says nothing: most terminals of today are UTF-8.

    Args:
        environ: The environment.
        encoding: Of the file that the terminal is written to; "" when it is not known.
    """
    if environ.get("TERM", "") == "linux":
        return True
    if encoding and not _is_utf8(encoding):
        return True
    said = next((environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "")
    return bool(said) and not _is_utf8(said.partition(".")[2] or said)


def _is_utf8(name: str) -> bool:
    return "utf8" in name.lower().replace("-", "").replace("_", "")
