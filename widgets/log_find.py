"""What is looked for in the lines of a log: a pattern, or its absence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

MOST_SPANS = 200
"""Places marked in one line; a line that is cut has at most some hundred words."""


class Finder(Protocol):
    """What a line can be asked: a compiled pattern is one."""

    @property
    def pattern(self) -> str:
        """How it is written."""

    def search(self, string: str, /) -> object | None:
        """Give anything but None when the line passes."""


@dataclass(frozen=True, slots=True)
class Without:
    """Passes the lines in which a pattern is not found.

    Attributes:
        absent: The pattern.
    """

    absent: re.Pattern[str]

    @property
    def pattern(self) -> str:
        """How it is written: the pattern after a ``!``."""
        return f"!{self.absent.pattern}"

    def search(self, string: str, /) -> bool | None:
        """Give True when the pattern is not found."""
        return True if self.absent.search(string) is None else None


def spans(finder: Finder | None, text: str) -> list[tuple[int, int]]:
    """Give where in a text the pattern stands, as pairs of start and end; nothing for an absence."""
    if not isinstance(finder, re.Pattern):
        return []
    found: list[tuple[int, int]] = []
    for match in finder.finditer(text):
        if match.end() > match.start():
            found.append(match.span())
        if len(found) == MOST_SPANS:
            break
    return found


def marked(text: str, finder: Finder | None, part: str, found: str) -> list[tuple[str, str]]:
    """Cut a text into pieces at the places where the pattern stands.

    Args:
        text: Clean text.
        finder: What is looked for; None for nothing.
        part: The component class of the text.
        found: The component class of the places.
    """
    pieces: list[tuple[str, str]] = []
    done = 0
    for start, end in spans(finder, text):
        pieces += [(text[done:start], part), (text[start:end], found)]
        done = end
    return [*pieces, (text[done:], part)]
