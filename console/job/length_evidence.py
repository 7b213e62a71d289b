"""What there is to know a dataset's lengths by: the best of five sources, brought into one form.

    progress  exact lengths of ``progress.jsonl``
    flight    lengths reconstructed from the server's log, made to agree with the job's own count and sum
    counts    how the job's counts grew while the batch was young, and their sums since
    totals    completions, their sum, and tokens made in all: what was made and is not finished is in flight
    prior     nothing yet

Where ages of requests in flight are not known one by one, they are laid out like those of a steady state.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log, sqrt
from typing import TYPE_CHECKING

from console.job.batch_clock import words_of
from console.job.length_cohorts import cohorts
from console.job.length_data import LengthData, data_of
from console.job.length_law import LONGEST
from console.job.length_prior import LengthPrior, prior_of
from console.job.lengths import tokens_in_flight
from console.job.snapshot import DatasetState

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.dataset_run import DatasetRun
    from console.job.server_state import ServerState

_SHAPE_WEIGHT = 25.0
"""Requests that a parametric law counts for beside those seen: by some hundreds, what was seen decides."""

_TOTALS_WEIGHT = 1e9
"""Where single lengths are not known, only a law's mean is learned, not its form."""

_FORMER = 20
"""Completions of former processes from which on their mean says something."""

_AGREE = 0.5
"""The server's log must show this share of the completions that the job counts, and not more than twice as many; else
it is not whole, or is of another job."""

_SLACK_S = 2.0
"""A request that the server shows as ended is counted by the job so much later at most."""

_LEAST_OFF = 5
"""They may differ by so many in any case."""

_MOST_SCALED = 1.6
"""Lengths are not stretched by more than this to agree with the job's sum."""

_TRUST = 0.5
"""What one request counts for. Fitted laws are never quite the true one, a data set's first prompts are not quite like
its last, and which request ended is not always told right: counted in full, ranges hold too seldom. The share was
found by simulation, with laws and servers of many kinds."""

_VAGUE = 0.25
"""The same where only the job's counts tell of lengths: who ended when is shared out, not seen."""

_STEADY = (0.053, 0.17, 0.31, 0.47, 0.69, 0.99, 1.39, 2.05, 3.1)
"""Ages in a steady state as parts of their mean: the middles of nine equal shares of an exponential law."""

_ROUGH = 0.2
"""What a guess at the tokens in flight adds to the uncertainty of the mean (of its log)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a dataset's lengths.

    Attributes:
        data: Lengths and ages.
        prior: What is expected of the mean otherwise.
        weight: Requests that a parametric law counts for.
        source: See the module.
        later: How many more finished than are in ``data``, and their mean in tokens; None when none did.
    """

    data: LengthData
    prior: LengthPrior
    weight: float
    source: str
    later: tuple[int, float] | None = None


def evidence(run: DatasetRun, server: ServerState, prior: LengthPrior | None, now: datetime) -> Evidence | None:
    """Gather it; None when nothing at all is known."""
    if prior is None and not run.done and run.max_tokens is None:
        return None
    cap = run.max_tokens or LONGEST
    expected, weight = _with_former(run, prior or prior_of((), run.kind, run.max_tokens))
    at_work = run.state is DatasetState.RUNNING and run.started_at is not None and run.started_at <= now
    ages = _ages(server) if at_work else []
    if run.lengths.size:
        if at_work and not ages:
            ages = _guessed(run, server, run.tokens_run or 0)[0]
        lengths = [(length, count * _TRUST) for length, count in run.lengths.lengths()]
        ages = [(age, count * _TRUST) for age, count in ages]
        return Evidence(data_of(cap, lengths, ages, run.lengths.cut * _TRUST), expected, weight, "progress")
    if not run.done_run or run.tokens is None:
        return Evidence(data_of(cap, (), ages), expected, weight, "flight" if ages else "prior")
    made = run.tokens - (run.tokens_before or 0)
    if ages and (found := _by_flight(run, server, (cap, made, expected, weight))):
        return found
    return _by_totals(run, server, (cap, made, expected), at_work=at_work)


def _with_former(run: DatasetRun, prior: LengthPrior) -> tuple[LengthPrior, float]:
    """What former processes made of the dataset, as an expectation: its weight grows with their completions.

    Those that were in flight when a process ended were lost, long ones above all, so it is off by some hundredths.
    """
    count, tokens = run.done_before, run.tokens_before
    if count < _FORMER or not tokens or run.lengths.size > count // 2:
        return prior, _SHAPE_WEIGHT
    own = 1 / count + (0.5 * min(1.0, (run.concurrency or 50) / count)) ** 2
    sharp, wide = 1 / own, 1 / prior.spread**2
    middle = (sharp * log(tokens / count) + wide * prior.log_mean) / (sharp + wide)
    return LengthPrior(middle, 1 / sqrt(sharp + wide), prior.datasets), _SHAPE_WEIGHT + count


def _ages(server: ServerState) -> list[tuple[float, float]]:
    """Ages of requests in flight; none when most of them are not known."""
    flying = server.flight.in_flight()
    known = [(age, float(count)) for age, count in flying if age is not None]
    unknown = sum([count for age, count in flying if age is None])
    return known if len(known) > unknown else []


def _by_flight(run: DatasetRun, server: ServerState, known: tuple[int, int, LengthPrior, float]) -> Evidence | None:
    """By the requests that the server's log lets tell apart, made to agree with what the job says.

    None when there are none, or when the two logs do not tell of the same requests.
    """
    if run.started_at is None:
        return None
    cap, made, prior, weight = known
    flight, done = server.flight, run.done_run
    ended, ages = flight.told_apart(run.started_at)
    until = run.updated_at.timestamp() + _SLACK_S if run.updated_at is not None else inf
    seen = sum([one.requests for one in flight.departed(run.started_at) if one.time_s <= until])
    if not ended or not ages or (not _agree(seen, done) and not flight.forgot()):
        return None
    counted = [one.tokens for one in ended if one.time_s <= until]
    whole, later = sum(counted), None
    scale = 1.0
    if done > len(counted) + _LEAST_OFF and flight.only_counts():
        later = (done - len(counted), max(0.0, made - whole) / (done - len(counted)))
    elif counted and whole:
        scale = min(_MOST_SCALED, max(1 / _MOST_SCALED, (made / done) / (whole / len(counted))))
    lengths = [(one.tokens * scale, _TRUST) for one in ended]
    data = data_of(cap, lengths, [(age, _TRUST) for age in ages])
    later = None if later is None else (round(later[0] * _TRUST), later[1])
    return Evidence(data, prior, weight, "flight", later)


def _agree(seen: int, done: int) -> bool:
    return _AGREE * done - _LEAST_OFF <= seen <= done / _AGREE + _LEAST_OFF


def _by_totals(run: DatasetRun, server: ServerState, known: tuple[int, int, LengthPrior], *, at_work: bool) -> Evidence:
    """By sums alone: finished ones and those in flight are laid out as in a steady state."""
    cap, made, prior = known
    if at_work and (found := _by_cohorts(run, server, cap, prior)):
        return found
    mean = made / run.done_run
    ages, rough = _guessed(run, server, made) if at_work else ([], False)
    parts = sum(_STEADY)
    lengths = [(mean * part * len(_STEADY) / parts, run.done_run / len(_STEADY)) for part in _STEADY]
    data = data_of(cap, lengths, ages)
    if rough:
        # The data then count for fewer requests: as many as give the same uncertainty.
        share = 1 / (1 + data.ended * _ROUGH**2)
        data = data_of(cap, [(x, count * share) for x, count in lengths], [(age, count * share) for age, count in ages])
    return Evidence(data, prior, _TOTALS_WEIGHT, "totals")


def _by_cohorts(run: DatasetRun, server: ServerState, cap: int, prior: LengthPrior) -> Evidence | None:
    """By how the job's counts grew while the batch was young; None when that tells too little."""
    if run.started_at is None:
        return None
    found = cohorts(words_of(run, server.minutes.bins(run.started_at.timestamp())))
    if found is None:
        return None
    ended, alive = ([(tokens, count * _VAGUE) for tokens, count in part] for part in (found.ended, found.alive))
    later = None if found.later is None else (max(1, round(found.later[0] * _VAGUE)), found.later[1])
    return Evidence(data_of(cap, ended, alive), prior, _SHAPE_WEIGHT, "counts", later)


def _guessed(run: DatasetRun, server: ServerState, made: int) -> tuple[list[tuple[float, float]], bool]:
    """Ages of requests in flight by their sum, and whether that sum is a guess.

    The sum is what the pool holds less the prompts; else what was made since the dataset began less what is finished;
    else, with ``u`` completions for each request that runs, by the exponential law of a batch that began at once:
    ``sum = finished tokens x (1 / (1 - (1 - exp(-u)) / u) - 1)``.
    """
    page = server.metrics.page
    running = server.log_running() or (page.running if page else 0) or run.in_flight or run.concurrency
    if run.requests is not None:
        running = min(running or 0, max(0, run.requests - run.done_run - run.errors))
    if not running:
        return [], False
    total, rough = tokens_in_flight(server, run), False
    if total is None and server.flight.ranks and run.started_at is not None:
        generated = server.flight.generated(run.started_at)
        total = None if generated is None else max(0.0, generated - made)
    if total is None:
        rough, turns = True, max(0.05, run.done_run / running)
        total = made * (1 / (1 - (1 - exp(-turns)) / turns) - 1)
    count, parts = running / len(_STEADY), sum(_STEADY)
    return [(total * part / parts / count, count) for part in _STEADY], rough
