"""How what was told at a moment of the past turned out, as far as it is known now. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.job.units import duration

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from console.job.snapshot import Snapshot

_SAME_S = 60.0
"""Ends within a minute of one another are told as the same: a clock is shown to the minute."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an end that was told.

    Attributes:
        name: The dataset; empty for the whole run.
        low: Early end of the range that was told.
        told: Its middle.
        high: Its late end.
        came: When the end came; None while it has not.
        now_told: The middle that is told now; None when none is, or the end has come.
    """

    name: str
    low: datetime | None
    told: datetime
    high: datetime | None
    came: datetime | None = None
    now_told: datetime | None = None

    @property
    def held(self) -> bool | None:
        """Whether the range held; None while that is not known."""
        if self.came is None or self.low is None or self.high is None:
            return None
        return self.low <= self.came <= self.high

    @property
    def is_news(self) -> bool:
        """Whether the end has come, or another one is told now."""
        moved = self.now_told is not None and abs((self.now_told - self.told).total_seconds()) >= _SAME_S
        return self.came is not None or moved

    @property
    def words(self) -> str:
        """How it turned out, without times of day: ``held, 12 min later than told``; empty when it is not known."""
        end = self.came or self.now_told
        if end is None:
            return ""
        moved_s = (end - self.told).total_seconds()
        later = f"{duration(abs(moved_s))} {'later' if moved_s > 0 else 'earlier'} than told then"
        moved = "as told then" if abs(moved_s) < _SAME_S else later
        if self.came is None:
            return f"now told {moved}" if moved != "as told then" else "still told so"
        return {True: f"the range held; {moved}", False: f"outside of the range; {moved}", None: moved}[self.held]


def outcomes(then: Snapshot, now: Snapshot) -> Iterator[Outcome]:
    """What became of the ends that were told: the run's first, then those of datasets of which there is news.

    Args:
        then: The reading of the past.
        now: What is known now.
    """
    if then.eta.at is not None and then.eta.at > then.at:
        over = now.verdict.cause == "finished" and now.eta.at is not None
        came = now.eta.at if over else None
        yield Outcome("", then.eta.low, then.eta.at, then.eta.high, came, None if over else now.eta.at)
    ended = {span.name: span.ended_at for span in now.course.spans}
    told = {view.name: view.eta for view in now.datasets}
    for view in then.datasets:
        if view.eta is not None and view.eta > then.at:
            came = ended.get(view.name)
            came = came if came is not None and came > then.at else None
            now_told = told.get(view.name) if came is None else None
            outcome = Outcome(view.name, view.eta_low, view.eta, view.eta_high, came, now_told)
            if outcome.is_news:
                yield outcome
