"""A counter that only grows becomes a rate, across restarts of whoever counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from console.job.host_state import came_late

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class CounterRate:
    """A counter, as it was seen.

    ``rate = (v2 - v1) / (t2 - t1)``. A value below the one before shows a new process that counts from 0: what it has
    counted is added to the total, but no rate can be told, for it is not known how long it has run.

    Attributes:
        value: As last seen; None before the first.
        at: When.
        total: What was counted since the first look, over all processes.
        rate: Per second between the last two looks; None without two of one process.
    """

    value: float | None = None
    at: datetime | None = None
    total: float = 0.0
    rate: float | None = None

    def after(self, value: float | None, at: datetime) -> CounterRate:
        """After another look; ``self`` when it is no newer, unless the clock was put back meanwhile.

        Args:
            value: The counter; None when it was not there.
            at: When it was seen.
        """
        if self.at is not None and (at == self.at or came_late(at, self.at)):
            return self
        if value is None:
            return replace(self, value=None, at=at, rate=None)
        if self.value is None or self.at is None:
            return CounterRate(value, at, self.total)
        if value < self.value:
            return CounterRate(value, at, self.total + value)
        grown = value - self.value
        took_s = (at - self.at).total_seconds()
        return CounterRate(value, at, self.total + grown, grown / took_s if took_s > 0 else None)
