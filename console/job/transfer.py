"""How far something long is that is counted in bytes: a log that is caught up, its past, a file that is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

SURE_S = 1.0
"""Seconds after which a rate can be told: the first bytes wait for the way there and back."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """Bytes on their way.

    Attributes:
        done: Bytes that have come.
        total: Bytes that there are.
        since: When it began.
        at: The moment of these figures.
        begun: Bytes that had come before it began: a log is often read on from its middle.
    """

    done: int
    total: int
    since: datetime
    at: datetime
    begun: int = 0

    @property
    def took_s(self) -> float:
        """Seconds since it began."""
        return max(0.0, (self.at - self.since).total_seconds())

    @property
    def rate(self) -> float | None:
        """Bytes a second, on average since it began; None while that can't be told."""
        moved = self.done - self.begun
        return moved / self.took_s if moved > 0 and self.took_s >= SURE_S else None

    @property
    def left_s(self) -> float | None:
        """Seconds until all has come, at that rate; None while that can't be told."""
        return max(0, self.total - self.done) / self.rate if self.rate else None
