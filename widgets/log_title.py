"""What the upper edge of a log says: its name, whether it follows, which lines are shown, and what is looked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from widgets.plain import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from widgets.log_find import Finder

EDGES = 4
"""Cells of the border's upper edge that its title leaves free."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a log shows.

    Attributes:
        title: What log it is.
        held: Lines that wait below while it holds still; None while it follows.
        count: Lines that are shown.
        kept: Lines in memory.
        hit: How many of the lines found stand at the cursor or before it.
        hits: Lines in which what is looked for was found.
    """

    title: str
    held: int | None
    count: int
    kept: int
    hit: int
    hits: int


def titled(shown: Shown, filtered: Finder | None, only: str, search: Finder | None) -> str:
    """Give the title.

    Args:
        shown: What is shown.
        filtered: Only lines in which this is found are shown; None for all.
        only: Words for a choice of lines; empty for none.
        search: What is looked for; None for nothing.
    """
    return joined((clean(shown.title), _state(shown.held), *_choices(shown, filtered, only, search)))


def with_note(title: str, notes: Iterable[str], room: int) -> str:
    """Give the title with the first of the notes that fits behind it.

    Args:
        title: The title, clean.
        notes: The same said in ever fewer words.
        room: Cells there are.
    """
    titles = (joined((title, clean(note))) for note in notes)
    return next((each for each in titles if cell_len(each) <= room), title)


def joined(parts: Iterable[str]) -> str:
    """Put the parts that say something side by side."""
    return " · ".join(part for part in parts if part)


def _state(held: int | None) -> str:
    if held is None:
        return "following"
    lines = f"{held:,} line{'' if held == 1 else 's'} held back" if held else "paused"
    return f"{lines}, End: follow"


def _choices(shown: Shown, filtered: Finder | None, only: str, search: Finder | None) -> Iterator[str]:
    """Say which lines are shown, and how many are found."""
    some = f" {shown.count:,} of {shown.kept:,}"
    if filtered is not None:
        yield f"/{clean(filtered.pattern)}/{some}"
    if only:
        yield clean(only) + (some if filtered is None else "")
    if search is not None:
        yield f"'{clean(search.pattern)}' {shown.hit:,} of {shown.hits:,}"
