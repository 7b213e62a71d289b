"""One scheduler's requests in flight, as kept between chunks of its log; ``console.job.flight_draft`` folds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from console.job.flight_batch import Batch
from console.job.flight_crowd import Crowd
from console.job.flight_pace import Pace

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.server_events import Retraction, ServerLoad, ServerPrefill

CLOSELY = 640
"""Departures of a data set that are told apart: its law of lengths is then known to some hundredths, and the job's own
sums tell the rest."""


class Joining(NamedTuple):
    """Requests admitted since the newest decode line.

    Attributes:
        at: When.
        requests: How many.
        prompt: Prompt tokens of each.
        made: Tokens that each had made before, when it comes back after a retraction.
    """

    at: datetime
    requests: int
    prompt: float
    made: float = 0.0


class Ended(NamedTuple):
    """A request that left, or several at once.

    Attributes:
        time_s: When, seconds since the epoch: the time of the decode line after it.
        tokens: What it had made; the mean of several.
        sure: It is known which one left; else only what it and its companions had made together.
        apart: It was told apart by what it held; else its tokens are a guess.
        requests: How many.
    """

    time_s: float
    tokens: float
    sure: bool
    apart: bool = True
    requests: int = 1


class RankFlight(NamedTuple):
    """What is known of one scheduler.

    Attributes:
        at: Time of the newest line.
        told: The lines of that second, so that one read again is known.
        loaded_at: Time of the newest decode line.
        held: Tokens that it said are held; None when it did not say, or when that can't be built on.
        clock: Tokens that a request running since the beginning has made.
        pace: How many of them an interval between decode lines has.
        batch: Requests of known age.
        crowd: Those that are not told apart any more.
        unknown: Requests that run but whose age is not known.
        joining: Admitted since the newest decode line.
        entered: Their number while they are not told apart.
        cached: Cached prompt tokens among these.
        carried: Prompt tokens of a request whose last chunk is still to come.
        chunk: The largest prefill so far: what a chunk that was cut off measures.
        dated: Admissions are printed at all.
        left: Departures that are still to be told apart; none any more at 0.
        since: When telling apart began.
        last_ages: Ages of the requests in flight when it ended; empty while it goes on.
    """

    at: datetime | None = None
    told: tuple[ServerLoad | ServerPrefill | Retraction, ...] = ()
    loaded_at: datetime | None = None
    held: int | None = None
    clock: float = 0.0
    pace: Pace = Pace()
    batch: Batch = Batch()
    crowd: Crowd = Crowd()
    unknown: int = 0
    joining: tuple[Joining, ...] = ()
    entered: int = 0
    cached: int = 0
    carried: float = 0.0
    chunk: int = 0
    dated: bool = False
    left: int = CLOSELY
    since: datetime | None = None
    last_ages: tuple[float, ...] = ()

    def ages(self) -> list[float]:
        """Tokens made by each request of known age, those included that were thrown out and wait."""
        clock = self.clock
        ages = self.batch.ages(clock) + [group.made for group in self.joining for _ in range(group.requests)]
        return ages + [max(0.0, clock - birth) for birth in self.crowd.births]
