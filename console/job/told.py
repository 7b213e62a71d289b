"""What was told of the end, and when: so that a slipping end can be seen, and ranges can be scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Told:
    """One range for an end, as it was told.

    Attributes:
        at: When it was told.
        low: Its early end.
        middle: Its middle.
        high: Its late end.
    """

    at: datetime
    low: datetime
    middle: datetime
    high: datetime

    def holds(self, end: datetime) -> bool:
        """Whether the end that came lies in the range."""
        return self.low <= end <= self.high
