"""Completions that do not end by themselves: nearly all of them run into the length limit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from math import ceil
from typing import TYPE_CHECKING

from console.job.advice_rules.context import sentences
from console.job.dataset_run import NEWEST_ENDS
from console.job.marks import latest
from console.job.snapshot import DatasetState, Judgement, Verdict
from console.job.units import count, duration, percent, tokens

if TYPE_CHECKING:
    from console.job.advice_rules.context import Context
    from console.job.dataset_run import DatasetRun

_LEAST_BEFORE = 50
"""Completions before that say what was usual: the first of a batch are its shortest, whatever comes."""

_ROUNDED = 0.05
"""Share of the limit that rounding may leave open of a mean."""

_RISEN = 0.3
"""A share that was at least this much lower before has risen."""


@dataclass(frozen=True, slots=True)
class _Capped:
    """How completions end.

    Attributes:
        seen: Completions that show it.
        share: Of these, the share at the limit; of a mean, its share of the limit.
        risen: It was clearly lower before.
        wasted: Tokens of completions at the limit.
        words: What was seen.
    """

    seen: int
    share: float
    risen: bool
    wasted: float
    words: str


def runaway_completions(ctx: Context) -> Verdict | None:
    """Nearly all completions end at the length limit: as soon as a share that was lower shows it, else after more.

    A small limit is meant to cut: there, only a share that rises counts. The last requests of a dataset are its
    longest, and are not judged.
    """
    found = _judged(ctx, sure=False)
    if found is not None and not found[1].risen:
        found = _judged(ctx, sure=True)
    if found is None:
        return None
    run, capped = found
    return Verdict(
        Judgement.INTERVENE,
        "runaway_completions",
        f"Intervene: nearly all completions of {run.name} run into the limit of {count(run.max_tokens)} tokens.",
        _evidence(ctx, run, capped),
        action="Stop the job and look at the newest results: a wrong chat template or stop token, or a model that"
        f" repeats itself. {ctx.restart_job().words}",
        options=(ctx.restart_job(),),
    )


def completions_capped(ctx: Context) -> Verdict | None:
    """Likewise while too few show it to be sure."""
    found = _judged(ctx, sure=False)
    if found is None:
        return None
    run, capped = found
    return Verdict(
        Judgement.WATCH,
        "runaway_completions",
        f"Keep an eye on it: new completions of {run.name} run into the limit of {count(run.max_tokens)} tokens.",
        _evidence(ctx, run, capped),
        next_look=ctx.now + timedelta(seconds=ctx.limits.errors_window_s),
    )


def _judged(ctx: Context, *, sure: bool) -> tuple[DatasetRun, _Capped] | None:
    run, limits = ctx.current, ctx.limits
    if run is None or run.state is not DatasetState.RUNNING or not run.max_tokens or run.done_run < limits.capped_least:
        return None
    if not run.capped_bits and (run.mean is None or len(run.completed) >= limits.capped_least):
        return None
    left = None if run.requests is None else run.requests - run.done_run - run.errors
    if left is not None and run.concurrency is not None and left <= run.concurrency:
        return None
    least = limits.capped_sure if sure else limits.capped_least
    capped = _by_ends(run, least) or _by_means(run, run.max_tokens, least, limits.capped_share)
    if capped is None or capped.share < limits.capped_share:
        return None
    if not capped.risen and _others_end(ctx, run, limits.capped_share):
        capped = replace(capped, risen=True)
    return (run, capped) if capped.risen or run.max_tokens > limits.capped_small else None


def _others_end(ctx: Context, run: DatasetRun, near: float) -> bool:
    """Whether the completions of every other dataset that is well known ended by themselves, far below this limit.

    A limit that cuts what other datasets need is meant to cut.
    """
    shares = [
        other.tokens / other.done / min(other.max_tokens, run.max_tokens or other.max_tokens)
        for other in ctx.runs
        if other.name != run.name and other.tokens and other.max_tokens and other.done >= 2 * _LEAST_BEFORE
    ]
    return bool(shares) and max(shares) < near - _RISEN


def _by_ends(run: DatasetRun, least: int) -> _Capped | None:
    """By single completions, whose ends are told: of the newest ones, and of all before."""
    known = len(run.completed)
    if known < least:
        return None
    newest = min(known, NEWEST_ENDS)
    at_limit = run.capped_bits.bit_count()
    before = known - newest
    former = (run.capped - at_limit) / before if before >= _LEAST_BEFORE else None
    # A row of them that has only begun is shorter than what is remembered: all of it and ``least`` must show it.
    if run.capped < least * 0.9:
        return None
    share = at_limit / newest
    words = f"{count(at_limit)} of the newest {count(newest)} completions ended at the limit."
    return _Capped(known, share, former is not None and former < share - _RISEN, float(run.capped_tokens), words)


def _by_means(run: DatasetRun, limit: int, least: int, near: float) -> _Capped | None:
    """By the means of the progress lines: the mean of the newest completions can't come near the limit otherwise."""
    # A mean is printed to one token: what that leaves open of the newest ones grows with all that were done before.
    newest = latest(run.marks, max(least, ceil(run.done_run / (_ROUNDED * limit))))
    # Of a first batch the short ones end first, so what ends after them is long whatever comes: all of it must show it.
    first_batch = newest is not None and run.done_run - newest.done < (run.concurrency or 0)
    if newest is None or newest.mean is None or first_batch:
        if run.done_run < least or run.mean is None or (len(run.marks) > 1 and not first_batch):
            return None
        share, done, former = run.mean / limit, run.done_run, None
    else:
        before = run.done_run - newest.done
        rounding = 0.0 if run.tokens_run is not None else (run.done_run + before) / 2 / newest.done
        share, done = min(1.0, newest.mean / limit) - rounding / limit, newest.done
        made = (run.mean or 0.0) * run.done_run - newest.mean * done
        former = made / before / limit if before >= _LEAST_BEFORE else None
    risen = former is not None and former < near - _RISEN
    words = (
        f"The newest {count(done)} completions have a mean of {count(share * limit)} tokens, {percent(share)} of it."
    )
    return _Capped(done, share, risen, share * limit * done, words)


def _evidence(ctx: Context, run: DatasetRun, capped: _Capped) -> tuple[str, ...]:
    made = ctx.server.usual_throughput or ctx.server.gen_throughput
    hours = f" ({duration(capped.wasted / made)} of work)" if made else ""
    return sentences(
        capped.words,
        "Before that, completions ended by themselves." if capped.risen else None,
        f"Made of them in {run.name} so far: {tokens(capped.wasted)} tokens{hours}, of which little can be used.",
        ctx.speed_sentence(),
    )
