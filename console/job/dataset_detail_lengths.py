"""How long one dataset's completions are, and how far those in flight have come: counted in bins of equal ratio."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log
from typing import TYPE_CHECKING

from console.job.dataset_run import FINAL
from console.job.snapshot import DatasetState

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from console.job.dataset_run import DatasetRun
    from console.job.server_state import ServerState

RATIO = 1.05**4
"""Each bin ends at so many times its beginning: twelve bins for each tenfold, and four of those in which exact lengths
are counted."""

_STEP = log(RATIO)

_AT_CAP = 0.98
"""A length that is reconstructed from the server's log is good to some decode steps: from this share of the cap on it
was cut there."""

_SLACK_S = 2.0
"""The server shows the end of a request up to this much later than the job, whose stamps are whole seconds."""


@dataclass(frozen=True, slots=True)
class LengthBin:
    """Requests of about one length.

    Attributes:
        low: Where the bin begins, tokens.
        high: Where it ends.
        finished: Completions in it.
        flying: Requests in flight that have come so far.
    """

    low: float
    high: float
    finished: float
    flying: float


@dataclass(frozen=True, slots=True)
class Lengths:
    """What is known of single lengths.

    Attributes:
        bins: From the least length to the greatest, without a gap; empty where nothing is known.
        source: ``progress`` (exact), ``server`` (reconstructed from the server's log) or empty.
        counted: Completions in the bins.
        capped: Of ``judged`` completions, those that ended at the length cap; None when that can't be told.
        judged: Completions of which it is known whether they did.
        capped_tokens: Tokens of those at the cap; None when not known.
        ages: Tokens that each request in flight has made, ascending, as far as known.
        ageless: Requests in flight of which it is not known.
    """

    bins: tuple[LengthBin, ...] = ()
    source: str = ""
    counted: int = 0
    capped: int | None = None
    judged: int = 0
    capped_tokens: int | None = None
    ages: tuple[float, ...] = ()
    ageless: int = 0


def lengths_of(run: DatasetRun, server: ServerState) -> Lengths:
    """Count what is known of a dataset's lengths.

    ``progress.jsonl`` tells them exactly, those of former processes included. Otherwise the server's log tells them as
    far as it lets requests be told apart, which are the first some hundred of a dataset.

    Args:
        run: The dataset.
        server: The server, with what it has in flight: that is the dataset's while it is at work.
    """
    ages, ageless = _in_flight(run, server)
    flying = [(age, 1.0) for age in ages]
    if run.lengths.size:
        finished = [(length, float(count)) for length, count in run.lengths.lengths()]
        if run.lengths.cut:
            finished.append((float(run.max_tokens or _longest(finished)), float(run.lengths.cut)))
        capped, judged, tokens = _capped(run)
        bins = _binned(finished, flying)
        return Lengths(bins, "progress", run.lengths.size, capped, judged, tokens, ages, ageless)
    known = _departed(run, server)
    if not known:
        return Lengths(_binned((), flying), "server" if flying else "", ages=ages, ageless=ageless)
    counted = round(sum(count for _, count in known))
    cap = run.max_tokens
    cut = None if cap is None else round(sum(count for length, count in known if length >= _AT_CAP * cap))
    tokens = None if cut is None or cap is None else cut * cap
    return Lengths(_binned(known, flying), "server", counted, cut, counted, tokens, ages, ageless)


def _longest(finished: Iterable[tuple[float, float]]) -> float:
    """Where those cut are drawn when the cap is not known: at the longest of the others."""
    return max((length for length, _ in finished), default=1.0)


def _capped(run: DatasetRun) -> tuple[int, int, int | None]:
    """Completions at the cap, of how many, and their tokens: the newest process's, else all that are counted."""
    if run.tokens_run is not None and run.done_run:
        return run.capped, run.done_run, run.capped_tokens
    return run.lengths.cut, run.lengths.size, run.lengths.cut * run.max_tokens if run.max_tokens else None


def _in_flight(run: DatasetRun, server: ServerState) -> tuple[tuple[float, ...], int]:
    """Tokens made by each request in flight, and how many there are beside these."""
    if run.state is not DatasetState.RUNNING:
        return (), 0
    flying = server.flight.in_flight()
    ages = sorted(age for age, count in flying if age is not None for _ in range(count))
    return tuple(ages), sum(count for age, count in flying if age is None)


def _departed(run: DatasetRun, server: ServerState) -> list[tuple[float, float]]:
    """Requests that the server's log shows as ended while the dataset was at work, where they can be told apart."""
    if run.started_at is None:
        return []
    until = _end_s(run.state_at) if run.state in FINAL else inf
    return [
        (one.tokens, float(one.requests))
        for one in server.flight.departed(run.started_at)
        if one.apart and one.time_s <= until
    ]


def _end_s(at: datetime | None) -> float:
    return inf if at is None else at.timestamp() + _SLACK_S


def _binned(finished: Iterable[tuple[float, float]], flying: Iterable[tuple[float, float]]) -> tuple[LengthBin, ...]:
    """Counts by length, all bins between the first and the last that are not empty."""
    ended, flown = _places(finished), _places(flying)
    places = [*ended, *flown]
    if not places:
        return ()
    return tuple(
        LengthBin(
            exp(place * _STEP) if place else 0.0,
            exp((place + 1) * _STEP),
            ended.get(place, 0.0),
            flown.get(place, 0.0),
        )
        for place in range(min(places), max(places) + 1)
    )


def _places(lengths: Iterable[tuple[float, float]]) -> dict[int, float]:
    found: dict[int, float] = {}
    for length, count in lengths:
        place = int(log(length) / _STEP + 1e-9) if length > 1.0 else 0
        found[place] = found.get(place, 0.0) + count
    return found
