"""Datasets as the screen shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.job.mean_trend import trend_of
from console.job.snapshot import DatasetState, DatasetView, Trend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.dataset_run import DatasetRun
    from console.job.length_belief import LengthBelief
    from console.job.told import Told


_BY_BUDGET = frozenset({DatasetState.BUDGET_REACHED, DatasetState.SKIPPED})
"""States of a dataset that needs no more of its prompts; of one whose prompts are all done the share is the whole."""


def dataset_view(run: DatasetRun, end: Told | None = None, believed: LengthBelief | None = None) -> DatasetView:
    """One dataset; its mean is that of the newest process, or of all when that has made nothing yet.

    Args:
        run: What is known of it.
        end: When it will be done; None when that can't be told.
        believed: How long its completions are; None when nothing is known beside the finished ones.
    """
    return DatasetView(
        name=run.name,
        kind=run.kind,
        state=run.state,
        done=run.done,
        done_before=run.done_before,
        total=run.total,
        in_flight=in_flight(run),
        errors=run.errors,
        tokens=run.tokens,
        budget=run.budget,
        mean_completion_tokens=_mean(run),
        requests_per_s=run.requests_per_s,
        concurrency=run.concurrency,
        max_tokens=run.max_tokens,
        eta=end.middle if end else None,
        eta_low=end.low if end else None,
        eta_high=end.high if end else None,
        expected_completion_tokens=believed.mean if believed else _mean(run),
        updated_at=run.updated_at,
        budget_share=budget_share(run, believed),
        mean_trend=trend_of(run.marks) if run.state is DatasetState.RUNNING else Trend.UNKNOWN,
    )


def budget_share(run: DatasetRun, believed: LengthBelief | None = None) -> float | None:
    """Share of its prompts that are done when the budget ends the dataset; None where the prompts end first.

    ``(done + (budget - tokens) / mean length of those to come) / prompts``. Of one that has ended, the share that is
    done.

    Args:
        run: The dataset.
        believed: How long its completions are; without it the finished ones stand for all.
    """
    if not run.total or not run.budget:
        return None
    if run.state in _BY_BUDGET:
        done = float(run.done)
    else:
        mean = believed.mean if believed else _mean(run)
        if not mean:
            return None
        done = run.done + max(0, run.budget - (run.tokens or 0)) / mean
    return done / run.total if 0 < done < run.total else None


def in_flight(run: DatasetRun) -> int | None:
    """Requests sent and not answered: by heartbeat, else as many as the job may send of those that are left."""
    if run.state is not DatasetState.RUNNING:
        return None
    if run.in_flight is not None:
        return run.in_flight
    if run.concurrency is None or run.requests is None:
        return None
    return min(run.concurrency, max(0, run.requests - run.done_run - run.errors))


def _mean(run: DatasetRun) -> float | None:
    if run.mean is not None:
        return run.mean
    return run.tokens / run.done if run.tokens and run.done else None


def sent_together(sent: Sequence[tuple[int, int | None]]) -> int:
    """Requests in flight of all datasets at work: the tail of one may overlap the next.

    Together they are no more than the greatest concurrency, for the next one only fills the places that are free, and
    one that has just begun is taken for full until it tells.

    Args:
        sent: For each, its requests in flight and its concurrency; None where that is not known, and then the sum
            stands.
    """
    total = sum(flying for flying, _ in sent)
    limits = [limit for _, limit in sent if limit]
    return min(total, max(limits)) if limits and len(limits) == len(sent) else total
