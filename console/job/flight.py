"""What the server has in flight and what has ended, reconstructed from its log; no request ids are needed.

``Flight`` is frozen; ``FlightDraft`` folds runs of reports into it. How it is reckoned: ``console.job.flight_draft``.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from console.job.flight_draft import RankDraft
from console.job.flight_rank import Ended, RankFlight
from console.job.rank_report import STALE_RANK

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.server_events import Retraction, ServerLoad, ServerPrefill

_CHUNK = 64
"""Ended requests per chunk: one more copies a chunk, not all."""

_CHUNKS = 8_192 // _CHUNK
"""Chunks kept; the oldest go."""

_STEP_S = 60.0
"""Width of the grid on which the tokens made are kept, seconds."""

_TOGETHER = timedelta(seconds=60)
"""All schedulers turn to a data set within this time, of each other and of the job's word that it has begun."""

_MARKS = 4_096
"""Points of it that are kept: 68 hours of work."""


@dataclass(frozen=True, slots=True)
class Flight:
    """The requests of all schedulers.

    Attributes:
        ranks: Rank to what is known of it, in the order in which they appeared.
        chunks: Full chunks of records of ended requests, oldest first.
        tail: The newest such records.
        count: Requests that ended since the beginning, forgotten ones included.
        made: Tokens made since the beginning.
        marks: Seconds since the epoch and the tokens made until then, at most one for each minute.
    """

    ranks: tuple[tuple[str, RankFlight], ...] = ()
    chunks: tuple[tuple[Ended, ...], ...] = ()
    tail: tuple[Ended, ...] = ()
    count: int = 0
    made: float = 0.0
    marks: tuple[tuple[float, float], ...] = ()

    def in_flight(self) -> tuple[tuple[float | None, int], ...]:
        """What runs or was thrown out and waits: tokens made so far, and by how many; None where that is not known."""
        fresh = self._fresh()
        ages = [(age, 1) for rank in fresh for age in rank.ages()]
        unknown = sum([rank.unknown for rank in fresh])
        return (*ages, (None, unknown)) if unknown else tuple(ages)

    def _fresh(self) -> list[RankFlight]:
        """The schedulers that still report: one whose last request has ended says no more."""
        heard = [rank.at for _, rank in self.ranks if rank.at is not None]
        newest = max(heard, default=None)
        return [rank for _, rank in self.ranks if newest and rank.at and newest - rank.at <= STALE_RANK]

    def departed(self, since: datetime | None = None) -> list[Ended]:
        """The requests that ended after ``since``, oldest first, as far as kept."""
        if since is None:
            return [one for chunk in (*self.chunks, self.tail) for one in chunk]
        least = since.timestamp()
        found: list[Ended] = []
        for chunk in (*self.chunks, self.tail):
            if chunk and chunk[-1].time_s > least:
                found.extend(chunk if chunk[0].time_s > least else [one for one in chunk if one.time_s > least])
        return found

    def ended(self, since: datetime | None = None) -> list[tuple[float, float]]:
        """The times (seconds since the epoch) and tokens of the requests that ended after ``since``."""
        return [(one.time_s, one.tokens) for one in self.departed(since) for _ in range(one.requests)]

    def quality(self, since: datetime | None = None) -> float | None:
        """Share of the departures told apart after ``since`` of which it is sure which left; None without any."""
        known = [one for one in self.departed(since) if one.apart]
        return sum([one.sure for one in known]) / len(known) if known else None

    def generated(self, since: datetime) -> float | None:
        """Tokens made after ``since``, to a minute's worth; None when that lies before all that is kept."""
        place = bisect_left(self.marks, (since.timestamp(),))
        if place == len(self.marks):
            return 0.0 if self.marks else None
        if place == 0:
            return self.made if len(self.marks) < _MARKS // 2 else None
        (early, before), (late, after) = self.marks[place - 1], self.marks[place]
        share = (since.timestamp() - early) / (late - early)
        return self.made - before - share * (after - before)

    def told_apart(self, since: datetime) -> tuple[list[Ended], list[float]]:
        """Requests that ended after ``since`` and were told apart, and how far those in flight had come then.

        The first some hundred of a data set: together they tell of its lengths without bias. Later ones are only
        counted, and the ages are those of the moment at which that began.
        """
        begun = [rank.since for _, rank in self.ranks if rank.since is not None]
        begin = max([since, *[at for at in begun if at - since > _TOGETHER]])
        ended = [one for one in self.departed(begin) if one.apart]
        ages: list[float] = []
        fresh = self._fresh()
        for _, rank in self.ranks:
            ages += rank.last_ages if rank.left <= 0 else rank.ages() if rank in fresh else []
        return ended, ages

    def usual_prompt(self, since: datetime) -> float | None:
        """Mean prompt, tokens, of the first some hundred requests of a data set that began then; None when unknown."""
        prompts = [
            rank.batch.prompt
            for _, rank in self.ranks
            if rank.batch.prompt and rank.since is not None and rank.since >= since - _TOGETHER
        ]
        return sum(prompts) / len(prompts) if prompts else None

    def forgot(self) -> bool:
        """Whether ended requests were dropped for want of space."""
        return len(self.chunks) == _CHUNKS

    def only_counts(self) -> bool:
        """Whether some requests are not told apart any more."""
        return any(rank.left <= 0 for _, rank in self.ranks)

    def restarted(self) -> Flight:
        """After a new start of the server: nothing is in flight any more."""
        return replace(self, ranks=())

    def loaded(self, event: ServerLoad, at: datetime) -> Flight:
        """With one decode line more."""
        draft = FlightDraft(self)
        draft.load(event, at)
        return draft.freeze()

    def prefilled(self, event: ServerPrefill, at: datetime) -> Flight:
        """With one prefill line more."""
        draft = FlightDraft(self)
        draft.prefill(event, at)
        return draft.freeze()

    def retracted(self, event: Retraction, at: datetime) -> Flight:
        """With requests thrown out of the running batch."""
        draft = FlightDraft(self)
        draft.rank(event.rank).retracted(event, at)
        return draft.freeze()


class FlightDraft:
    """A flight that changes in place; ``freeze`` gives what one event after the other would have given.

    Args:
        flight: What is known.
    """

    __slots__ = ("_chunks", "_count", "_due_s", "_flight", "_made", "_marks", "_new_marks", "_ranks", "_tail")

    def __init__(self, flight: Flight) -> None:
        self._flight = flight
        self._ranks: dict[str, RankDraft] = {}
        self._chunks, self._tail, self._count, self._made = flight.chunks, list(flight.tail), flight.count, flight.made
        self._marks = flight.marks
        self._new_marks: list[tuple[float, float]] = []
        self._due_s = flight.marks[-1][0] + _STEP_S if flight.marks else 0.0

    def rank(self, name: str) -> RankDraft:
        """A scheduler's working copy."""
        draft = self._ranks.get(name)
        if draft is None:
            known = next((rank for other, rank in self._flight.ranks if other == name), None)
            draft = self._ranks[name] = RankDraft(known or RankFlight())
        return draft

    def load(self, event: ServerLoad, at: datetime) -> None:
        """A decode line."""
        rank = self._ranks.get(event.rank) or self.rank(event.rank)
        rank.load(event, at)
        self._collect(rank, at)

    def prefill(self, event: ServerPrefill, at: datetime) -> None:
        """A prefill line."""
        rank = self._ranks.get(event.rank) or self.rank(event.rank)
        rank.prefill(event, at)
        if rank.ended:
            self._collect(rank, at)

    def freeze(self) -> Flight:
        """The flight as it stands."""
        if not self._ranks:
            return self._flight
        known = dict(self._flight.ranks)
        known.update({name: draft.freeze() for name, draft in self._ranks.items()})
        marks = (*self._marks, *self._new_marks)[-_MARKS:] if self._new_marks else self._marks
        return Flight(tuple(known.items()), self._chunks, tuple(self._tail), self._count, self._made, marks)

    def _collect(self, rank: RankDraft, at: datetime) -> None:
        """Take in what a scheduler has made and ended."""
        self._made += rank.made
        rank.made = 0.0
        time_s = at.timestamp()
        if time_s >= self._due_s:
            self._new_marks.append((time_s, self._made))
            self._due_s = time_s + _STEP_S
        if rank.ended:
            self._count += sum([one.requests for one in rank.ended])
            self._tail += rank.ended
            rank.ended = []
            while len(self._tail) > _CHUNK:
                self._chunks = (*self._chunks, tuple(self._tail[:_CHUNK]))[-_CHUNKS:]
                del self._tail[:_CHUNK]
