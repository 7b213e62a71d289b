"""A dataset that goes on beyond its token budget: by more than what was in flight when it was met can explain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.job.advice_rules.context import sentences
from console.job.snapshot import DatasetState, Judgement, Verdict
from console.job.units import count, duration, percent, plural, tokens

if TYPE_CHECKING:
    from console.job.advice_rules.context import Context
    from console.job.dataset_run import DatasetRun


def over_budget(ctx: Context) -> Verdict | None:
    """The job goes on with a dataset whose budget is met.

    When a budget is met, at most ``concurrency`` requests are in flight, and they may end. So it goes on when it
    began a dataset whose budget had been met; when it has none although one is planned; when more than ``concurrency``
    completions came since; when what is in flight does not shrink as they come; or when the excess is more than that
    many of the longest completions.
    """
    run = ctx.current
    if run is None or run.state is not DatasetState.RUNNING or not run.budget:
        return None
    if (run.tokens or 0) <= run.budget + _rounding(run, run.done_run):
        return None
    why = _goes_on(ctx, run, run.budget)
    if why is None:
        return None
    over = (run.tokens or 0) - run.budget
    return Verdict(
        Judgement.INTERVENE,
        "over_budget",
        f"Intervene: {run.name} is {tokens(over)} tokens over its budget, and the job goes on with it.",
        sentences(
            f"{count(run.tokens)} of {count(run.budget)} tokens made ({percent((run.tokens or 0) / run.budget)}).",
            why,
            _waste(ctx, run, over),
        ),
        action="Stop the job and start it with a script that keeps to the budget; datasets whose budget is met are then"
        f" skipped. {ctx.restart_job().words}",
        options=(ctx.restart_job(),),
    )


def _goes_on(ctx: Context, run: DatasetRun, budget: int) -> str | None:
    """Why it is sure that the job goes on, as a sentence; None when requests in flight may explain the excess."""
    if run.terms is not None and (run.tokens_before or 0) >= budget:
        sent = plural(run.terms.requests, "request")
        return f"It had {count(run.tokens_before)} tokens when this process began to send {sent} of it."
    if run.terms is not None and run.terms.budget is None:
        return "The process named no token budget for it when it began."
    if run.concurrency is None:
        over = (run.tokens or 0) / budget - 1
        return "That is more than what was in flight can explain." if over > ctx.limits.over_margin else None
    return _too_many(ctx, run, budget, run.concurrency)


def _too_many(ctx: Context, run: DatasetRun, budget: int, concurrency: int) -> str | None:
    """Why so many completions, or so many tokens, can't be of the requests that were in flight."""
    met = (mark for mark in run.marks if (mark.tokens or 0) >= budget + _rounding(run, mark.done))
    since = next((run.done_run - mark.done for mark in met), 0)
    if since > concurrency:
        most = plural(concurrency, "request")
        return f"{count(since)} completions came since the budget was met, where at most {most} were in flight."
    if since >= ctx.limits.over_least and _still_full(ctx, concurrency, since):
        held = plural((ctx.server.running or 0) + (ctx.server.queue or 0), "request")
        return f"{count(since)} completions came since, and the server still holds {held}: new ones are sent."
    if run.max_tokens and (run.tokens or 0) - budget > concurrency * run.max_tokens:
        return f"{count(concurrency)} requests of {count(run.max_tokens)} tokens can't explain that."
    return None


def _rounding(run: DatasetRun, done: int) -> float:
    """Tokens that a count may be too high by: where single completions are not told, it is ``done`` printed means.

    The mean is printed to one token. After 300,000 completions that is more than a whole batch makes.
    """
    return 0.0 if run.tokens_run is not None else done / 2


def _still_full(ctx: Context, concurrency: int, since: int) -> bool:
    """Whether the server holds more than what can be left of the requests that were in flight; by a fresh report.

    Where other clients use the same server nothing can be said, nor where it is not known when the job said what.
    """
    server = ctx.server
    if ctx.job_times_guessed or server.running is None or ctx.work_age_s is None or ctx.work_age_s > ctx.limits.old_s:
        return False
    held, margin = server.running + (server.queue or 0), max(5.0, ctx.limits.over_margin * concurrency)
    return concurrency - since + margin < held <= concurrency + margin


def _waste(ctx: Context, run: DatasetRun, over: int) -> str:
    """What is wasted so far, and what would be."""
    made = ctx.server.usual_throughput or ctx.server.gen_throughput
    hours = f" ({duration(over / made)} of work)" if made else ""
    left = max(0, (run.requests or 0) - run.done_run - run.errors)
    mean = run.mean or 0.0
    more = f"; {plural(left, 'prompt')} left would make {tokens(left * mean)} more" if left and mean else ""
    return f"Wasted so far: {tokens(over)} tokens{hours}{more}."
