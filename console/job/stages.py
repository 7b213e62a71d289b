"""The unfinished datasets, as a simulation plays them: what each still needs, and what is believed of its answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from math import hypot, log
from statistics import median, median_low
from typing import TYPE_CHECKING

from console.job.budget_rule import rules_of
from console.job.dataset_run import AT_WORK, FINAL, DatasetRun
from console.job.length_belief import belief
from console.job.length_prior import LengthPrior, prior_of
from console.job.lengths import tokens_in_flight
from console.job.prompts import expected_prompt
from console.job.server_state import ServerState
from console.job.snapshot import DatasetState
from console.job.stage import Stage
from console.job.steady_ages import steady_ages
from console.job.work_left import prompts_left

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from console.job.length_belief import LengthBelief
    from console.job.plan import PlannedDataset

_PLANNED_SPREAD = 0.3
"""Log-standard deviation of a mean that the operator expects."""

_GAP_S = 20.0
"""Seconds between two datasets until it has been seen: prompts are read and tokenized."""

_MOST_GAP_S = 3_600.0

_SIZES = 0.6
"""Log-standard deviation of the number of prompts between datasets, where it is not known."""

_ROUGHLY = 0.03
"""To what a mean that is expected is rounded, as a logarithm: far below how unsure it is."""

_EVER = datetime.fromtimestamp(0, UTC)
"""A time for what does not depend on it."""

_GROUPS = 12
"""Groups of ages of what is in flight: finer ones change nothing."""


_FEWER_OF_LONG = 0.35
"""Requests in flight of the class ``LONG`` beside those of ``SHORT`` where only the latter's are known: long answers
hold more of the pool, and scripts send a quarter to a half as many (32 beside 100 or 150)."""

_LONGER = {"LONG": 0.5, "SHORT": -0.5}
"""Where the classes lie between the two; any other word says nothing."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """What is ahead.

    Attributes:
        stages: The unfinished datasets, the one at work first, the others in their order.
        beliefs: Dataset to what is believed of its answers' lengths.
        unknown: Why no end can be told of the run: a dataset of which neither prompts nor budget are known; else empty.
    """

    stages: tuple[Stage, ...] = ()
    beliefs: Mapping[str, LengthBelief] = field(default_factory=dict)
    unknown: str = ""


def ahead_of(
    runs: Sequence[DatasetRun],
    server: ServerState,
    plan: Mapping[str, PlannedDataset],
    running: float | None,
    now: datetime,
) -> Ahead:
    """What is ahead of the run.

    Args:
        runs: The datasets in order.
        server: The server.
        plan: Dataset to what the config says of it.
        running: Requests that run at once now; None when not known.
        now: The moment, by the job's clock.
    """
    unfinished = [run for run in runs if run.state not in FINAL and not _is_spent(run, runs)]
    unfinished.sort(key=lambda run: run.state not in AT_WORK)
    stages: list[Stage] = []
    beliefs: dict[str, LengthBelief] = {}
    gap_s, rules = _gap_s(runs), rules_of(runs, server.minutes)
    waiting = {run.kind for run in unfinished if run.state is not DatasetState.RUNNING}
    prompts = {kind: expected_prompt(server.minutes, runs, kind) for kind in waiting}
    for place, run in enumerate(unfinished):
        planned = plan.get(run.name)
        means = {name: known.mean for name, known in beliefs.items() if known.source != "prior"}
        prior, limit = _prior(run, runs, planned, means), _limit(run, runs, planned)
        if run.done or run.state in AT_WORK:
            believed = belief(run if run.max_tokens else replace(run, max_tokens=limit), server, prior, now)
        else:
            believed = _before(prior, limit)
        if believed is not None:
            beliefs[run.name] = believed
        if believed is None:
            return Ahead(tuple(stages), beliefs, f"nothing is known of how long the answers of {run.name} are")
        begun = run.state is DatasetState.RUNNING
        stage = Stage(
            run.name,
            begun=begun,
            laws=sorted(believed.draws, key=lambda law: law.mean),
            prompts=prompts_left(run),
            budget=None if run.budget is None else float(max(0, run.budget - (run.tokens or 0))),
            concurrency=_concurrency(run, runs, planned),
            running=running if begun and place == 0 else None,
            prompt=None if begun else prompts[run.kind],
            gap_s=0.0 if begun else gap_s,
            rules=rules,
        )
        if stage.prompts is None and stage.budget is None:
            usual = _usual_prompts(run, runs)
            if usual is None or begun:
                return Ahead(
                    tuple(stages), beliefs, f"neither the number of prompts nor a budget of {run.name} is known"
                )
            unsure = _before(replace(prior, spread=round(hypot(prior.spread, _SIZES), 2)), limit) or believed
            stage = replace(stage, prompts=usual, laws=sorted(unsure.draws, key=lambda law: law.mean))
        stages.append(_as_of_now(stage, run, server) if begun and place == 0 else stage)
    return Ahead(tuple(stages), beliefs)


def _is_spent(run: DatasetRun, runs: Sequence[DatasetRun]) -> bool:
    """Whether all of its prompts are done and another has begun since: not each job says that a dataset has ended."""
    begun = run.started_at
    if begun is None or prompts_left(run) != 0:
        return False
    return any(other.started_at is not None and other.started_at > begun for other in runs)


@lru_cache(maxsize=256)
def _before(prior: LengthPrior, limit: int | None) -> LengthBelief | None:
    """What is believed of a dataset that has not begun."""
    return belief(DatasetRun("", max_tokens=limit), ServerState(), prior, _EVER)


def _prior(
    run: DatasetRun, runs: Sequence[DatasetRun], planned: PlannedDataset | None, means: Mapping[str, float]
) -> LengthPrior:
    """What is expected of a dataset before it tells of itself: the operator's word, else the other datasets."""
    if planned is not None and planned.mean_tokens is not None:
        return LengthPrior(log(planned.mean_tokens), _PLANNED_SPREAD)
    others = [other for other in runs if other.name != run.name]
    found = prior_of(others, run.kind, _limit(run, runs, planned), means, run.total)
    # Rounded, so that what follows from it need not be reckoned anew at each token that is made.
    return LengthPrior(_ROUGHLY * round(found.log_mean / _ROUGHLY), round(found.spread, 2), found.datasets)


def _limit(run: DatasetRun, runs: Sequence[DatasetRun], planned: PlannedDataset | None) -> int | None:
    """New tokens of one request at most: its own, the plan's, else that of a dataset of its class."""
    own = run.max_tokens or (planned.max_tokens if planned else None)
    return own or next((other.max_tokens for other in runs if other.kind == run.kind and other.max_tokens), None)


def _concurrency(run: DatasetRun, runs: Sequence[DatasetRun], planned: PlannedDataset | None) -> int | None:
    """Requests in flight at most: its own, the plan's, that of its class, else a guess by that of the other class."""
    own = run.concurrency or (planned.concurrency if planned else None)
    known = own or next(
        (each.concurrency for each in reversed(runs) if each.kind == run.kind and each.concurrency), None
    )
    other = next((each for each in runs if each.concurrency), None)
    if known or other is None or other.concurrency is None:
        return known
    apart = _LONGER.get(run.kind.upper(), 0.0) - _LONGER.get(other.kind.upper(), 0.0)
    guess: float = other.concurrency * _FEWER_OF_LONG**apart
    return max(1, round(guess))


def _usual_prompts(run: DatasetRun, runs: Sequence[DatasetRun]) -> int | None:
    """How many prompts a dataset may have of which that is not known: as many as others, of its class if there are."""
    alike = [other.total for other in runs if other.total and other.kind == run.kind]
    known = alike or [other.total for other in runs if other.total]
    return median_low(known) if known else None


def _gap_s(runs: Sequence[DatasetRun]) -> float:
    """Seconds between turning to a dataset and its first requests, the median of those seen."""
    seen = [(run.started_at - run.announced_at).total_seconds() for run in runs if run.started_at and run.announced_at]
    usual = [gap for gap in seen if 0.0 <= gap <= _MOST_GAP_S]
    return median(usual) if usual else _GAP_S


def _as_of_now(stage: Stage, run: DatasetRun, server: ServerState) -> Stage:
    """The dataset at work moved on from its newest progress line to now, by what the server's log shows since."""
    if run.updated_at is None:
        return stage
    known = [(age, number) for age, number in server.flight.in_flight() if age is not None]
    if known:
        ended = server.flight.ended(run.updated_at)
        tokens = sum(length for _, length in ended)
        return replace(
            stage,
            prompts=None if stage.prompts is None else max(0, stage.prompts - len(ended)),
            budget=None if stage.budget is None else max(0.0, stage.budget - tokens),
            made=sum(age * number for age, number in known),
            ages=_grouped(known),
            queued=server.log_queue(),
        )
    return _by_sums(stage, run, server, run.updated_at.timestamp())


def _by_sums(stage: Stage, run: DatasetRun, server: ServerState, told_s: float) -> Stage:
    """The same where single requests are not known: what is in flight is laid out as in a steady state."""
    since = sum([each.made for each in server.minutes.bins(told_s)])
    made, running = tokens_in_flight(server, run), server.log_running()
    if made is None or not running:
        return replace(stage, made=(made or 0.0) + since)
    law = stage.laws[len(stage.laws) // 2]
    count = running if stage.prompts is None else min(running, int(stage.prompts))
    ages = steady_ages(law, count, made)
    # What was made since the progress line belongs to answers that ended since, as many as it is means long.
    ended = since / (law.mean or 1.0)
    return replace(
        stage,
        prompts=None if stage.prompts is None else max(float(count), stage.prompts - ended),
        budget=None if stage.budget is None else max(0.0, stage.budget - since),
        made=sum([age * number for age, number in ages]),
        ages=ages,
        queued=server.log_queue(),
    )


def _grouped(ages: Sequence[tuple[float, int]]) -> tuple[tuple[float, int], ...]:
    """Ages of requests in flight in at most ``_GROUPS`` groups of neighbours, each with its mean."""
    rising = sorted(ages)
    size = max(1, -(-sum(number for _, number in rising) // _GROUPS))
    groups: list[tuple[float, int]] = []
    total, count = 0.0, 0
    for age, number in rising:
        total, count = total + age * number, count + number
        if count >= size:
            groups.append((total / count, count))
            total, count = 0.0, 0
    return (*groups, (total / count, count)) if count else tuple(groups)
