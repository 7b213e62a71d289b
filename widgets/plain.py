"""Text from anywhere, made safe for one line of a screen: no control codes, no markup, a known width in cells."""

from __future__ import annotations

import re
from functools import lru_cache
from textwrap import wrap

from rich.cells import cell_len, set_cell_size

UNKNOWN = "--"
"""How a value that is not known is drawn."""

LINE_LIMIT = 2_000
"""Characters kept of one line: several screens wide, and a bound on memory and on the time to draw."""

TAB = "    "
"""What a tab becomes: the column that it meant is lost after a stamp is put before the line."""

_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)"  # OSC, DCS and kin, up to their end
    r"|\x1b[ -/]*[0-~]"  # two-character escapes
)
"""Terminal control sequences (ECMA-48), which are dropped whole so that no debris of them is shown."""

_JOINERS = re.compile("[\u200b-\u200d\u2060\ufe00-\ufe0f\ufeff]")
"""Marks without a width whose effect differs between terminals: dropped, or columns would not line up."""

_BREAKS = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""What ends a line somewhere; within one line a space stands for it."""

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls (C0, C1), marks that turn the direction of writing, and half characters that no terminal can be sent."""


def clean(text: str, limit: int = LINE_LIMIT) -> str:
    """Give one line of text that can neither drive the terminal nor shift what stands beside it.

    Args:
        text: Any text.
        limit: Characters to look at; the rest is cut first, so that the cost is bounded.

    Returns:
        The text without control sequences, tabs and line ends as spaces, other unsafe characters as U+FFFD. When
        the text was cut, its last character is an ellipsis.
    """
    cut = text if len(text) <= limit else text[: max(0, limit - 1)] + "…"
    if cut.isascii() and cut.isprintable():
        return cut
    safe = _BREAKS.sub(" ", _JOINERS.sub("", _SEQUENCE.sub("", cut))).replace("\t", TAB)
    return _UNSAFE.sub("\ufffd", safe)


@lru_cache(maxsize=512)
def measured(text: str) -> tuple[str, int]:
    """Give the cleaned text and its width in cells, remembering the latest answers for redraws."""
    safe = clean(text)
    return safe, cell_len(safe)


def widest(text: str) -> int:
    """Give an upper bound for the cells of a text without measuring it: a pass over each line would cost at append."""
    length = min(len(text), LINE_LIMIT)
    return length * (len(TAB) if "\t" in text[:LINE_LIMIT] else 1 if text.isascii() else 2)


def fit(text: str, cells: int) -> str:
    """Cut a clean text to a width, an ellipsis in its last cell when something was cut.

    Args:
        text: A text without control characters.
        cells: The width there is, 0 or more.
    """
    if cell_len(text) <= cells:
        return text
    if cells < 1:
        return ""
    return set_cell_size(text, cells - 1).rstrip() + "…"


def paragraph(text: str, cells: int, rows: int) -> str:
    """Break a clean text into rows of a width, at blanks where it can be; what is too much is cut with an ellipsis."""
    if cells < 1 or rows < 1:
        return ""
    lines = wrap(text, cells, break_long_words=True)
    kept = [fit(line, cells) for line in lines[:rows]]
    if len(lines) > rows:
        kept[-1] = fit(f"{kept[-1]} {lines[rows]}", cells)
    return "\n".join(kept)


def column(text: str, cells: int) -> str:
    """Cut or pad a clean text to exactly so many cells."""
    return set_cell_size(fit(text, cells), max(0, cells))
