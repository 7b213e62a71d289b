"""What a job does when a dataset's budget is used up: four ways are common, and each ends at another time.

    foresees    starts no more once what is finished and what is expected of what is in flight reach the budget;
                what is in flight is finished: made in all = budget
    averages    the same, but takes each answer in flight for as long as the mean; of those that run at a chance moment
                the long ones are the more, ``E[L^2] / E[L]`` long on average, so it goes beyond the budget
    finishes    starts no more once what is finished reaches it; what is in flight is finished, beyond the budget
    drops       ends at once, and what is in flight is lost

A dataset that has ended by its budget tells which: by the tokens that it has beyond it, and by whether the batch was
still full when it ended.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from console.job.snapshot import DatasetState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from console.job.dataset_run import DatasetRun
    from console.job.minutes import Minutes


class BudgetRule(StrEnum):
    """How a dataset ends by its budget."""

    FORESEES = "foresees"
    AVERAGES = "averages"
    FINISHES = "finishes"
    DROPS = "drops"


_LIKELY = (BudgetRule.FORESEES, BudgetRule.AVERAGES, BudgetRule.FINISHES, BudgetRule.DROPS)
"""What is expected before it has been seen."""

_FINISHED = 0.75
"""Answers of mean length beyond the budget, as a share of those that were in flight, also of those that waited in the
server: as many are a batch that was finished beyond it, which makes about one mean of each."""

_AVERAGED = 0.2
"""Likewise, as a share of those that ran: as many are what comes of taking long answers for mean ones. Lengths whose
standard deviation is 0.7 to 1.2 of their mean give 0.5 to 1.4."""

_LOOK_BACK_S = 600.0
"""Seconds before a dataset's end in which its batch is looked at."""

_LAST_S = 60.0
"""And in which it is still full when all was dropped."""

_STILL_FULL = 0.7
"""Share of the usual running requests from which on a batch is full."""


def rules_of(runs: Iterable[DatasetRun], minutes: Minutes) -> tuple[BudgetRule, ...]:
    """The ways that are possible, equally likely: several until a dataset ends by its budget, then what it showed."""
    seen = [_rule_of(run, minutes) for run in runs if run.state is DatasetState.BUDGET_REACHED]
    shown = [rule for rule in seen if rule is not None]
    return (max(BudgetRule, key=shown.count),) if shown else _LIKELY


def _rule_of(run: DatasetRun, minutes: Minutes) -> BudgetRule | None:
    if run.budget is None or not run.tokens or not run.done or run.state_at is None:
        return None
    end_s = run.state_at.timestamp()
    loads = [
        (each.time_s, running) for each in minutes.bins(end_s - _LOOK_BACK_S) if each.time_s < end_s
        if (running := each.mean(each.running)) is not None
    ]  # fmt: skip
    ran = max((running for _, running in loads), default=float(run.concurrency or 0))
    if not ran:
        return None
    beyond = (run.tokens - run.budget) * run.done / run.tokens
    if beyond > _FINISHED * max(ran, run.concurrency or 0):
        return BudgetRule.FINISHES
    if beyond > _AVERAGED * ran:
        return BudgetRule.AVERAGES
    if not loads or run.started_at is None or end_s - run.started_at.timestamp() < _LOOK_BACK_S:
        return None
    last = min((running for at_s, running in loads if end_s - at_s <= _LAST_S), default=0.0)
    return BudgetRule.DROPS if last >= _STILL_FULL * ran else BudgetRule.FORESEES
