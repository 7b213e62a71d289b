"""The lines of one chunk of a log, parsed: what they say, when, and how many nobody understood."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.job.events import Stamped, Unparsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime


class Reading:
    """What one chunk of a log says.

    Args:
        at: The time of the line before it.

    Attributes:
        at: The time of its newest line.
        told: All events, in the order of their lines.
        unknown: The text of those that no format understood.
        places: Where, among the lines, the time changes; begins with 0.
        times: The time of the lines from each of these places on.
        blank: Lines without text.
        unread: Lines of which something was not understood.
    """

    def __init__(self, at: datetime) -> None:
        self.at = at
        self.told: list[Stamped] = []
        self.unknown: list[str] = []
        self.places, self.times = [0], [at]
        self.blank = self.unread = 0

    def lines(
        self, lines: Iterable[tuple[int, str]], parse: Callable[[str, datetime], list[Stamped]], seen_at: datetime
    ) -> None:
        """Parse lines.

        Args:
            lines: Each with its place; what is left out is known to say nothing: it is as old as the line before.
            parse: Gives what a line says.
            seen_at: When they came.
        """
        for place, text in lines:
            told = parse(text, seen_at)
            if not told:
                self.blank += not text.strip()
                continue
            stamped = told[0]
            if len(told) > 1 or stamped.guessed or type(stamped.event) is Unparsed:
                at = self._several(told, seen_at)
            else:
                self.told.append(stamped)
                at = stamped.at
            if at is not self.at:
                self.places.append(place)
                self.times.append(at)
                self.at = at

    def _several(self, told: list[Stamped], seen_at: datetime) -> datetime:
        """Keep what one line says; gives its time."""
        self.told.extend(told)
        unknown = [stamped.event.text for stamped in told if isinstance(stamped.event, Unparsed)]
        self.unknown.extend(unknown)
        self.unread += bool(unknown)
        return next((stamped.at for stamped in reversed(told) if not stamped.guessed), seen_at)
