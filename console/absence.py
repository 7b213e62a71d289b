"""Whether somebody looks at the console: told by the terminal's focus, by keys and by the mouse. Pure; no clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

UNFOCUSED = timedelta(minutes=5)
"""Who comes back to the terminal after so long is told what happened; a look elsewhere of a minute is no absence."""

UNTOUCHED = timedelta(minutes=15)
"""Who presses the first key after so long is, too: many terminals do not say that they have the focus."""


@dataclass(slots=True)
class Absence:
    """Who looked when.

    Attributes:
        last: When somebody looked last, as far as is known.
        away: From when to when nobody looked the last time; None while there was no such time.
    """

    last: datetime
    away: tuple[datetime, datetime] | None = None
    _blurred: bool = False

    def left(self, at: datetime) -> None:
        """The terminal has lost the focus: up to now somebody was at it."""
        if not self._blurred:
            self._blurred, self.last = True, max(self.last, at)

    def came(self, at: datetime) -> bool:
        """The terminal has the focus again; whether that ends an absence."""
        least = UNFOCUSED if self._blurred else UNTOUCHED
        self._blurred = False
        return self._returned(at, least)

    def touched(self, at: datetime) -> bool:
        """A key was pressed, or the mouse; whether that ends an absence."""
        return self.came(at)

    def _returned(self, at: datetime, least: timedelta) -> bool:
        gone = at - self.last >= least
        if gone:
            self.away = (self.last, at)
        self.last = max(self.last, at)
        return gone
