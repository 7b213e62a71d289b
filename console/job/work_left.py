"""Tokens that a dataset still needs, with a range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.job.dataset_run import FINAL, DatasetRun
from console.job.lengths import own_mean, pooled_mean, tokens_in_flight
from console.job.snapshot import DatasetState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.lengths import MeanLength
    from console.job.server_state import ServerState


@dataclass(frozen=True, slots=True)
class Work:
    """Tokens still to be made for a dataset.

    Attributes:
        name: The dataset.
        tokens: The middle.
        low: Low end of an 80 % range.
        high: High end.
        begun: Its requests have been sent; the range of one not begun is wide.
        mean: Expected length of its completions, tokens; None when not known.
    """

    name: str
    tokens: float
    low: float
    high: float
    begun: bool
    mean: float | None = None


@dataclass(frozen=True, slots=True)
class UnknownWork:
    """A dataset of which it can't be said what it needs, and why."""

    name: str
    why: str


def work_left(runs: Sequence[DatasetRun], server: ServerState) -> tuple[Work | UnknownWork, ...]:
    """What each unfinished dataset still needs: the one at work first, the others in their order.

        left = min(budget - tokens, prompts left x mean completion)

    with whichever of the two is known, and the whole budget when no mean is known yet.
    """
    unfinished = [run for run in runs if run.state not in FINAL]
    unfinished.sort(key=lambda run: run.state not in {DatasetState.RUNNING, DatasetState.LOADING})
    return tuple(_left(run, _mean(run, runs, server)) for run in unfinished)


def _mean(run: DatasetRun, runs: Sequence[DatasetRun], server: ServerState) -> MeanLength | None:
    prior = pooled_mean((other for other in runs if other.name != run.name), run.kind)
    in_flight = tokens_in_flight(server, run) if run.state is DatasetState.RUNNING else None
    return own_mean(run, in_flight, prior) if run.done else prior


def prompts_left(run: DatasetRun) -> int | None:
    """Prompts that the dataset still needs; the process's own count where it gave one."""
    if run.requests is not None:
        return max(0, run.requests - run.done_run - run.errors)
    return None if run.total is None else max(0, run.total - run.done)


def _left(run: DatasetRun, mean: MeanLength | None) -> Work | UnknownWork:
    prompts = prompts_left(run)
    budget = None if run.budget is None else float(max(0, run.budget - (run.tokens or 0)))
    begun = run.done > 0 and run.state in {DatasetState.RUNNING, DatasetState.LOADING}
    if prompts == 0:
        return Work(run.name, 0.0, 0.0, 0.0, begun=begun)
    if prompts is None or mean is None:
        if budget is None:
            return UnknownWork(run.name, _why(run, prompts))
        # The prompts may end before the budget does: how much before is not known.
        return Work(run.name, budget, budget * 0.5, budget, begun=begun)
    cap = float("inf") if budget is None else budget
    low, middle, high = (min(cap, prompts * each) for each in (mean.low, mean.tokens, mean.high))
    return Work(run.name, middle, low, high, begun=begun, mean=mean.tokens)


def _why(run: DatasetRun, prompts: int | None) -> str:
    if prompts is None:
        return f"neither the number of prompts nor a budget of {run.name} is known"
    if run.done and run.tokens is None:
        return "the job's log gives no token counts, and counts of requests alone mislead while answers grow"
    return "no completion has been seen yet, so no mean length is known"
