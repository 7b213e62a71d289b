"""How long the prompts of a dataset are, by what the server computed while it was at work.

SGLang prints each admission; vLLM prints only how many prompt tokens it computes. While a batch is full, one request
comes for each that ends, so that

    prompt = prompt tokens / (tokens made / mean length + how many more run at the end than at first)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.job.dataset_run import FINAL

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from console.job.dataset_run import DatasetRun
    from console.job.minutes import Minutes
    from console.job.minutes_bin import Bin

_TOLD = 20
"""Completions from which on a dataset's mean length says how many there were."""

_NEWEST = 3
"""Datasets that tell of those to come: the newest of a class, the one at work among them."""


def mean_prompt(minutes: Minutes, run: DatasetRun) -> float | None:
    """Prompt tokens that the server computed for a request of a dataset on average; None when that is not known."""
    if run.started_at is None or run.done_run < _TOLD:
        return None
    end = run.state_at if run.state in FINAL else None
    return _of(_within(minutes.bins(run.started_at.timestamp()), end), run)


def expected_prompt(minutes: Minutes, runs: Sequence[DatasetRun], kind: str) -> float | None:
    """The same of a dataset that has not begun, by those of its class, else by any; None when none has told.

    Args:
        minutes: What the server did.
        runs: The datasets in order.
        kind: Class of the dataset in question.
    """
    told = [run for run in runs if run.started_at is not None and run.done_run >= _TOLD]
    chosen = ([run for run in told if run.kind == kind] or told)[-_NEWEST:]
    found = [each for run in chosen if (each := mean_prompt(minutes, run)) is not None]
    return sum(found) / len(found) if found else None


def _within(bins: Sequence[Bin], end: datetime | None) -> list[Bin]:
    until_s = float("inf") if end is None else end.timestamp()
    return [each for each in bins if each.good_s and each.time_s < until_s]


def _of(bins: Sequence[Bin], run: DatasetRun) -> float | None:
    admitted = float(sum([each.admitted for each in bins]))
    if not admitted:
        tokens = (run.tokens or 0) - (run.tokens_before or 0)
        if tokens <= 0 or not bins:
            return None
        first, last = (each.mean(each.running) or 0.0 for each in (bins[0], bins[-1]))
        admitted = sum([each.made for each in bins]) * run.done_run / tokens + max(0.0, last - first)
    return sum([each.prompt_tokens for each in bins]) / admitted if admitted else None
