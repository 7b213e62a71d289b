"""The end by counts of requests alone: all there is where a job tells of no tokens and no server is seen.

    left = requests left / (requests done / time taken), times 1 to 1.9, the middle 1.25

Such a rate runs ahead of itself: the first to end are the short ones, and the last long ones end alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.job.dataset_run import FINAL
from console.job.simulate import Span
from console.job.snapshot import DatasetState
from console.job.work_left import prompts_left

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.dataset_run import DatasetRun

_LEAST = 5
"""Fewer completions say nothing of a rate."""

_LOW, _MIDDLE, _HIGH = 1.0, 1.25, 1.9


def by_counts(runs: Sequence[DatasetRun]) -> Span | None:
    """Seconds from the newest count until the run's end; None while too little is known.

    Args:
        runs: The datasets in order.
    """
    left = [prompts_left(run) for run in runs if run.state not in FINAL]
    at_work = next((run for run in runs if run.state is DatasetState.RUNNING), None)
    if at_work is None or at_work.done_run < _LEAST or any(each is None for each in left):
        return None
    began = at_work.started_at or (at_work.marks[0].at if at_work.marks else None)
    if began is None or at_work.updated_at is None or at_work.updated_at <= began:
        return None
    seconds = sum(each or 0 for each in left) * (at_work.updated_at - began).total_seconds() / at_work.done_run
    return Span(_LOW * seconds, _MIDDLE * seconds, _HIGH * seconds)
