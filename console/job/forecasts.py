"""What was said of the end, and when: so that longwait can be held to its word."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from console.job.told import Told

RUN = ""
"""The name under which the end of the whole run is kept."""

EVERY = timedelta(minutes=15)
"""How often what is said is kept: on a grid of the clock, so that a replay keeps what the console kept."""

_KEPT = 480
"""Forecasts kept of one end: five days of them."""

_MOST = 64
"""Ends kept; the datasets that ended first go first."""


@dataclass(frozen=True, slots=True)
class End:
    """What was told of one end.

    Attributes:
        name: The dataset; ``RUN`` for the whole run.
        told: In the order of time.
        ended_at: When it came; None while it has not.
    """

    name: str
    told: tuple[Told, ...] = ()
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """How often the ranges held.

    Attributes:
        held: Ranges that the end lay in.
        told: Ranges whose end has come.
    """

    held: int = 0
    told: int = 0

    def words(self) -> str:
        """``of 31 ranges, 26 held so far``; empty while no end has come."""
        return f"of {self.told} range{'' if self.told == 1 else 's'}, {self.held} held so far" if self.told else ""


@dataclass(frozen=True, slots=True)
class Forecasts:
    """All that was said of ends.

    Attributes:
        ends: The whole run's and the datasets', in the order in which they were first spoken of.
        due_at: Nothing more is kept before then.
    """

    ends: tuple[End, ...] = ()
    due_at: datetime | None = None

    def due(self, now: datetime) -> bool:
        """Whether it is time to keep what is said."""
        return self.due_at is None or now >= self.due_at

    def of(self, name: str) -> tuple[Told, ...]:
        """What was said of one end, in the order of time."""
        return next((end.told for end in self.ends if end.name == name), ())

    def newest(self) -> dict[str, Told]:
        """Dataset to what was said of its end last."""
        return {end.name: end.told[-1] for end in self.ends if end.name != RUN and end.told and end.ended_at is None}

    def has_ended(self, name: str) -> bool:
        """Whether an end of which something was said has come."""
        return any(end.ended_at is not None for end in self.ends if end.name == name)

    def told(self, now: datetime, ranges: Mapping[str, Told]) -> Forecasts:
        """With what is said now, on the quarter of an hour.

        Args:
            now: The moment.
            ranges: Dataset, or ``RUN``, to the range of its end.
        """
        if not self.due(now):
            return self
        ends = {end.name: end for end in self.ends}
        for name, told in ranges.items():
            known = ends.get(name, End(name))
            if known.ended_at is None:
                kept = (*known.told, told)[-_KEPT:]
                ends[name] = replace(known, told=kept)
        return Forecasts(tuple(ends.values())[-_MOST:], _next(now))

    def ended(self, name: str, at: datetime) -> Forecasts:
        """With an end that has come; the first word of it counts."""
        for place, end in enumerate(self.ends):
            if end.name == name and end.ended_at is None:
                return replace(self, ends=(*self.ends[:place], replace(end, ended_at=at), *self.ends[place + 1 :]))
        return self

    def reopened(self, name: str) -> Forecasts:
        """With an end that was none: what was said of it is judged by the end that comes."""
        ends = tuple(replace(end, ended_at=None) if end.name == name else end for end in self.ends)
        return self if ends == self.ends else replace(self, ends=ends)

    def score(self, name: str | None = None) -> Score:
        """How often the ranges held, of one end or of all that have come."""
        held = told = 0
        for end in self.ends:
            if end.ended_at is None or name not in {None, end.name}:
                continue
            told += len(end.told)
            held += sum(each.holds(end.ended_at) for each in end.told)
        return Score(held, told)


def _next(now: datetime) -> datetime:
    step_s = EVERY.total_seconds()
    return now + timedelta(seconds=step_s - now.timestamp() % step_s)
