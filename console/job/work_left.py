"""How many prompts a dataset still needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.job.dataset_run import DatasetRun


def prompts_left(run: DatasetRun) -> int | None:
    """Prompts that the dataset still needs; the process's own count where it gave one."""
    if run.requests is not None:
        return max(0, run.requests - run.done_run - run.errors)
    return None if run.total is None else max(0, run.total - run.done)
