"""Things that are told one by one and must be counted once, against time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.job.series import Series

if TYPE_CHECKING:
    from collections.abc import Hashable
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Tally:
    """A count that grows by one for each new thing.

    A log that is read twice tells the same again: what is older than the newest was counted, and of the newest moment
    the things are remembered.

    Attributes:
        series: The count against time; its load is what else was done by then, for a share.
        at: The newest moment.
        here: What was told of that moment.
    """

    series: Series = field(default_factory=lambda: Series(step_s=10.0, limit=1024))
    at: datetime | None = None
    here: frozenset[Hashable] = frozenset()

    def add(self, at: datetime, key: Hashable, beside: float = 0.0) -> Tally:
        """One more.

        Args:
            at: When.
            key: Which; the same one at the same moment counts once.
            beside: What was done by then.
        """
        if self.at is not None and (at < self.at or (at == self.at and key in self.here)):
            return self
        here = frozenset({key}) if at != self.at else self.here | {key}
        return Tally(self.series.add(at, self.count + 1, beside), at, here)

    @property
    def count(self) -> float:
        """How many so far."""
        last = self.series.last
        return last.value if last else 0.0
