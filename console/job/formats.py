"""What a line format is: data, with its own samples.

A list of formats is tried in order; the first that makes something of a line has it. Adding a shape is adding an entry,
and one test runs every sample of every list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable

    from console.job.events import Event

QUIET: tuple[Event, ...] = ()
"""What a known line gives that says nothing to act on."""


@dataclass(frozen=True, slots=True)
class Format:
    """One shape of line.

    Attributes:
        name: What it is called in tests and reports.
        needle: Text that every such line holds; a substring test spares the pattern for all others. Empty: none.
        pattern: Searched in the line without its stamp; named groups feed ``make``.
        make: The events that a match means; ``QUIET`` for a known line that says nothing, None when it is not one after
            all.
        samples: Lines of this shape.
    """

    name: str
    needle: str
    pattern: re.Pattern[str]
    make: Callable[[re.Match[str]], tuple[Event, ...] | None]
    samples: tuple[str, ...]

    def read(self, text: str) -> tuple[Event, ...] | None:
        """The events of a line of this shape; None for any other line."""
        if self.needle not in text:
            return None
        found = self.pattern.search(text)
        return None if found is None else self.make(found)


def quiet(_: re.Match[str]) -> tuple[Event, ...]:
    """For shapes that are known and say nothing to act on."""
    return QUIET


def first(formats: Iterable[Format], text: str) -> tuple[Format, tuple[Event, ...]] | None:
    """The first format that knows the line, and what it makes of it."""
    for shape in formats:
        events = shape.read(text)
        if events is not None:
            return shape, events
    return None


def always(*events: Event) -> Callable[[re.Match[str]], tuple[Event, ...]]:
    """A ``make`` for shapes that mean the same whatever figures they hold."""

    def make(_: re.Match[str]) -> tuple[Event, ...]:
        return events

    return make
