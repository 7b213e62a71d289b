"""The job's two logs laid side by side: one list of datasets, nothing counted twice."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.job.dataset_run import DatasetRun
from console.job.snapshot import DatasetState

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.job_state import JobTrail
    from console.job.plan import Plan, PlannedDataset

_RANK = {
    DatasetState.WAITING: 0,
    DatasetState.LOADING: 1,
    DatasetState.RUNNING: 2,
    DatasetState.STOPPED: 3,
    DatasetState.SKIPPED: 4,
    DatasetState.DONE: 5,
    DatasetState.BUDGET_REACHED: 5,
}
"""Which of two states of one dataset is the later one, when their times do not tell."""


def merged(log: JobTrail, progress: JobTrail, plan: Plan) -> tuple[DatasetRun, ...]:
    """Every dataset of the run, in its order: the job's own, else the plan's, else as they appeared."""
    planned = {dataset.name: dataset for dataset in plan.datasets}
    names = [
        *(progress.order or log.order),
        *planned,
        *(run.name for trail in (log, progress) for run in trail.datasets),
    ]
    return tuple(
        _with_plan(_one(log.find(name), progress.find(name)) or DatasetRun(name), planned.get(name))
        for name in dict.fromkeys(names)
    )


def _with_plan(run: DatasetRun, planned: PlannedDataset | None) -> DatasetRun:
    if planned is None:
        return run
    kind, total, budget = (
        run.kind or planned.kind,
        _first(run.total, planned.prompts),
        _first(run.budget, planned.budget),
    )
    if (kind, total, budget) == (run.kind, run.total, run.budget):
        return run
    return replace(run, kind=kind, total=total, budget=budget)


def _one(log: DatasetRun | None, progress: DatasetRun | None) -> DatasetRun | None:
    """One dataset of both logs: absolute figures that only grow, so of two the greater is the newer.

    A log that has not spoken since the other's newest process began tells of a former run and does not count.
    """
    if log is None or progress is None:
        return log or progress
    if _outdated(log, progress):
        return progress
    if _outdated(progress, log):
        return log
    ahead, behind = (progress, log) if progress.done >= log.done else (log, progress)
    later = _later_state(log, progress)
    return replace(
        ahead,
        kind=log.kind or progress.kind,
        state=later.state,
        state_at=later.state_at,
        tokens=_most(log.tokens, progress.tokens) if ahead is log else _first(progress.tokens, log.tokens),
        errors=max(log.errors, progress.errors),
        requests=_first(ahead.requests, behind.requests),
        total=_most(log.total, progress.total),
        budget=_first(ahead.budget, behind.budget),
        concurrency=_first(ahead.concurrency, behind.concurrency),
        max_tokens=_first(ahead.max_tokens, behind.max_tokens),
        mean=ahead.mean if ahead.mean is not None else behind.mean,
        requests_per_s=log.requests_per_s if log.requests_per_s is not None else progress.requests_per_s,
        in_flight=_first(progress.in_flight, log.in_flight),
        prompt_tokens=progress.prompt_tokens,
        lengths=progress.lengths,
        started_at=_latest(log.started_at, progress.started_at),
        first_progress_at=ahead.first_progress_at or behind.first_progress_at,
        updated_at=_latest(log.updated_at, progress.updated_at),
        terms=ahead.terms or behind.terms,
        marks=ahead.marks or behind.marks,
        capped=progress.capped,
        capped_tokens=progress.capped_tokens,
        capped_bits=progress.capped_bits,
        completed=progress.completed,
        trace=max(log.trace, progress.trace, key=lambda trace: len(trace.points)),
    )


def _outdated(one: DatasetRun, other: DatasetRun) -> bool:
    if one.guessed or other.guessed or one.updated_at is None or other.started_at is None:
        return False
    return one.updated_at < other.started_at and one.done > other.done


def _later_state(log: DatasetRun, progress: DatasetRun) -> DatasetRun:
    told = log.state_at is not None and progress.state_at is not None
    if told and not (log.guessed or progress.guessed) and log.state_at != progress.state_at:
        return max((log, progress), key=lambda run: run.state_at or run.updated_at)  # type: ignore[arg-type, return-value]  # both are told
    return max((log, progress), key=lambda run: _RANK[run.state])


def _most(one: int | None, other: int | None) -> int | None:
    return max((figure for figure in (one, other) if figure is not None), default=None)


def _first(one: int | None, other: int | None) -> int | None:
    return one if one is not None else other


def _latest(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((at for at in (one, other) if at is not None), default=None)
