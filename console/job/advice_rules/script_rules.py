"""A job that is not the one that was planned: by what it prints as it begins a dataset, or by its script's digest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.job.advice_rules.context import sentences
from console.job.dataset_run import FINAL
from console.job.snapshot import DatasetState, Judgement, Verdict
from console.job.units import age, count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.job.advice_rules.context import Context
    from console.job.dataset_run import DatasetRun
    from console.job.plan import PlannedDataset

_SETTLED_S = 5.0
"""The lines with which a process begins a dataset come within this: the budget stands in the last of them."""

_ABOUT = 0.1
"""Numbers of prompts this close are the same: lines may be rejected, and repeat one another."""

_SAME = 0.01
"""Budgets this close are the same: one may be printed as what is left of it."""


def wrong_script(ctx: Context) -> Verdict | None:
    """What the running job said of itself contradicts the plan."""
    found = [*_digest(ctx), *_left_out(ctx), *_terms(ctx)]
    if not found:
        return None
    since = ctx.job_time(ctx.current.started_at) if ctx.current else None
    began = f"This process began {ctx.current.name} {age(since, ctx.now)}." if ctx.current and since else None
    return Verdict(
        Judgement.INTERVENE,
        "wrong_script",
        f"Intervene: the job that runs is not the one that was planned: {found[0]}.",
        sentences(*(f"{words[:1].upper()}{words[1:]}." for words in found), began),
        action="Put the right script or settings in place and restart the job, or correct the plan in the config."
        f" {ctx.restart_job().words}",
        since=since,
        options=(ctx.restart_job(),),
    )


def _digest(ctx: Context) -> Iterator[str]:
    wanted, runs = ctx.plan.script_sha256, ctx.job.script_sha256
    if wanted and runs and ctx.job.alive and wanted.lower() != runs.lower():
        yield f"its script's SHA-256 begins with {runs[:12]}, where {wanted[:12].lower()} is planned"


def _left_out(ctx: Context) -> Iterator[str]:
    """Planned datasets that the newest process does not mean to do, by its own list."""
    order = next((trail.order for trail in reversed(ctx.trails) if trail.order), ())
    planned = [dataset.name for dataset in ctx.plan.datasets]
    states = {run.name: run.state for run in ctx.runs}
    missing = [name for name in planned if order and name not in order and states.get(name) not in FINAL]
    if missing and any(name in order for name in planned):
        yield f"its list leaves out {', '.join(missing)}"


def _terms(ctx: Context) -> Iterator[str]:
    run = ctx.current
    if run is None or run.state is not DatasetState.RUNNING or run.terms is None or (ctx.sent_s or 0.0) < _SETTLED_S:
        return
    planned = next((dataset for dataset in ctx.plan.datasets if dataset.name == run.name), None)
    yield from _budget(run, planned)
    if planned is None:
        return
    does = run.done_before + run.terms.requests
    if planned.prompts is not None and abs(does - planned.prompts) > _ABOUT * planned.prompts:
        yield f"{run.name} has {count(does)} prompts for it, where {count(planned.prompts)} are planned"
    for what, wanted, said in (
        ("concurrency", planned.concurrency, run.terms.concurrency),
        ("max_tokens", planned.max_tokens, run.terms.max_tokens),
    ):
        if wanted is not None and said is not None and wanted != said:
            yield f"{run.name} runs with {what} {count(said)}, where {count(wanted)} is planned"


def _budget(run: DatasetRun, planned: PlannedDataset | None) -> Iterator[str]:
    wanted = planned.budget if planned is not None else None
    said = run.terms.budget if run.terms is not None else None
    if said is None and wanted is not None:
        yield f"it named no token budget for {run.name}, where {count(wanted)} is planned"
    elif said is None and run.budget is not None:
        yield f"it named no token budget for {run.name}, where a former process kept to {count(run.budget)}"
    elif said is not None and wanted is not None and abs(said - wanted) > _SAME * wanted:
        yield f"{run.name} has a token budget of {count(said)}, where {count(wanted)} is planned"
