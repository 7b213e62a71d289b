"""Whether the server is given as much as it can use: by the learned curve of throughput over running requests."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from math import exp
from typing import TYPE_CHECKING

from console.job.advice_rules.context import sentences
from console.job.pace import server_seconds
from console.job.snapshot import DatasetState, Judgement, Verdict
from console.job.step_model import Z_80
from console.job.touching import other_concurrency
from console.job.units import count, duration, percent, plural, rate, share
from console.job.what_if import load

if TYPE_CHECKING:
    from console.job.advice_rules.context import Context
    from console.job.dataset_run import DatasetRun
    from console.job.minutes_bin import Bin
    from console.job.what_if import Load

_STEPS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
"""Concurrencies that are tried, as multiples of the present one."""

_ROOM = 0.9
"""Share of the room in the KV pool that is asked for: full pools retract."""

_ALL = 0.85
"""Share of the requests in flight from which on all of them run: some have just ended."""

_IDLE = 0.5
"""Requests waiting on average below which none does."""

_RAMP_S = 60.0
"""Seconds after a dataset's beginning in which its first requests are still being admitted."""

_OTHER_KIND = 2.5
"""A dataset of long prompts is sent fewer at once for good reasons."""

_LESS = 1.5
"""What is tried to see whether more would help."""


def under_utilised(ctx: Context) -> Verdict | None:
    """Nothing waits, and few of the requests in flight run, or the server stands idle between them: the job is slow.

    SGLang's tuning guide: a queue of 0 all the time often means that the client is too slow.
    """
    run = _settled(ctx, ctx.limits.under_s)
    if run is None or not ctx.in_flight or _tail(run):
        return None
    now_s = server_seconds(ctx.state.server, ctx.state.server_clock, ctx.now)
    bins = ctx.state.server.minutes.bins(now_s - ctx.limits.under_s)
    if not bins or _mean(bins, "queue") > _IDLE:
        return None
    idle = 1.0 - min(1.0, sum([each.wall_s for each in bins]) / ctx.limits.under_s)
    running = _mean(bins, "running")
    if idle >= ctx.limits.idle_share:
        words = f"the server stood idle for {percent(idle)} of the last {duration(ctx.limits.under_s)}"
    elif running < ctx.limits.few_share * ctx.in_flight:
        words = f"{count(running)} of {plural(ctx.in_flight, 'request')} in flight run on average, and none waits"
    else:
        return None
    return Verdict(
        Judgement.WATCH,
        "under_utilised",
        f"Keep an eye on it: {words}.",
        sentences(
            ctx.load_sentence(),
            ctx.speed_sentence(),
            "The job sends too slowly: tokenizing, writing results, or pauses between attempts on its side.",
        ),
        next_look=ctx.now + timedelta(seconds=ctx.limits.under_s),
    )


def concurrency_too_low(ctx: Context) -> Verdict | None:
    """All that is sent runs, most of the KV pool is empty, and more at once would certainly be much faster for hours.

    Certain by the learned curve: the low end of its 80 % range, since far from what was seen the curve is wide.
    """
    run = _settled(ctx, ctx.limits.under_s)
    known = _all_run(ctx) if run is not None and not _tail(run) else None
    left_s = _left_s(ctx, run)
    if run is None or known is None or left_s is None or left_s < ctx.limits.gain_left_s:
        return None
    best = _best(known, run.concurrency or ctx.in_flight or 1)
    cost_min = ctx.cost.minutes(server=False)
    if best is None or cost_min is None or not _worth(ctx, run, best):
        return None
    saved_s = left_s * (1 - 1 / best.low)
    if saved_s < max(ctx.limits.gain_saved_s, ctx.limits.gain_over_cost * cost_min * 60):
        return None
    gain = f"{best.low:.1f} to {best.high:.1f} times the present throughput at {count(best.concurrency)} at once."
    saved = f"{run.name} has {duration(left_s)} left; {duration(saved_s)} of it or more would be saved."
    option = other_concurrency(ctx.cost, more=True, gain=f"{gain} {saved}")
    return Verdict(
        Judgement.INTERVENE,
        "concurrency_too_low",
        f"Intervene: {count(known.running)} requests run where the server could hold {count(known.room)}.",
        sentences(f"More at once would bring {gain}", saved, ctx.load_sentence(), ctx.speed_sentence()),
        action=f"Restart the job with a concurrency of {count(best.concurrency)}. {option.words}",
        options=(option,),
    )


def compute_limited(ctx: Context) -> Verdict | None:
    """All that is sent runs, the KV pool has room, and yet more at once would bring little: the GPU is busy."""
    run = _settled(ctx, ctx.limits.under_s)
    known = _all_run(ctx) if run is not None and not _tail(run) else None
    if known is None or known.room is None or known.room < _LESS * known.running:
        return None
    gain, sd = known.gain(_LESS * known.running)
    high = gain * exp(Z_80 * sd)
    if gain > ctx.limits.gain_little or high > 1 + 2 * (ctx.limits.gain_little - 1):
        return None
    return Verdict(
        Judgement.WAIT,
        "compute_limited",
        f"Don't intervene: the GPU is the limit at {rate(ctx.server.gen_throughput)}; more at once would bring little.",
        sentences(
            f"Half as many again would bring {percent(gain - 1)}, at most {percent(high - 1)} (80 % range).",
            ctx.load_sentence(),
            ctx.trust_sentence(),
        ),
        next_look=ctx.ends.get(run.name) if run else None,
    )


def admission_hint(ctx: Context) -> str | None:
    """A word for the next run where requests wait although the pool is not full: the server admits cautiously."""
    usage = ctx.server.token_usage
    if not ctx.server.queue or usage is None or not ctx.limits.kv_full <= usage < _ROOM:
        return None
    return (
        f"Token usage {share(usage)} with requests waiting is cautious admission; for the next run, a lower"
        " schedule-conservativeness (SGLang) would fill the rest. No reason to touch this one."
    )


@dataclass(frozen=True, slots=True)
class _Gain:
    """A concurrency, and throughput there over the present one: the middle and its 80 % range."""

    concurrency: int
    low: float
    middle: float
    high: float


def _worth(ctx: Context, run: DatasetRun, best: _Gain) -> bool:
    """Whether the gain is large enough for what was sent at once: less for an odd one out than for a choice."""
    present = run.concurrency or ctx.in_flight or 1
    odd = any(
        other.concurrency >= present * ctx.limits.odd_one * (1.0 if other.kind == run.kind else _OTHER_KIND)
        for other in ctx.runs
        if other.concurrency is not None
    )
    return best.low >= (ctx.limits.gain_sure if odd else ctx.limits.gain_plain) and (
        odd or present <= ctx.limits.few_at_once
    )


def _best(known: Load, present: int) -> _Gain | None:
    """The concurrency that certainly brings most."""
    found = []
    for step in _STEPS:
        sent = round(present * step)
        if known.room is None or sent > _ROOM * known.room:
            break
        gain, sd = known.gain(known.at(sent)[0])
        reach = exp(Z_80 * sd)
        found.append(_Gain(sent, gain / reach, gain, gain * reach))
    return max(found, key=lambda each: each.low, default=None)


def _settled(ctx: Context, after_s: float) -> DatasetRun | None:
    """The dataset at work, once its requests have been under way for so long."""
    run, sent_s = ctx.current, ctx.sent_s
    return run if run is not None and sent_s is not None and sent_s >= after_s else None


def _tail(run: DatasetRun) -> bool:
    """Whether the dataset has no more requests to send than are in flight."""
    if run.state is not DatasetState.RUNNING or run.requests is None or run.concurrency is None:
        return False
    return run.requests - run.done_run - run.errors <= run.concurrency


def _all_run(ctx: Context) -> Load | None:
    """The load of the last half hour, when nothing waits and all that is in flight runs."""
    if ctx.server.queue or not ctx.server.running or not ctx.in_flight:
        return None
    if ctx.server.running < _ALL * ctx.in_flight:
        return None
    now_s = server_seconds(ctx.state.server, ctx.state.server_clock, ctx.now)
    known = load(ctx.state.server, now_s, now_s - (ctx.sent_s or 0.0) + _RAMP_S)
    return known if known is not None and known.queued < _IDLE else None


def _left_s(ctx: Context, run: DatasetRun | None) -> float | None:
    end = ctx.ends.get(run.name) if run is not None else None
    return None if end is None else (end - ctx.now).total_seconds()


def _mean(bins: list[Bin], name: str) -> float:
    """The mean over time of a figure of the bins, summed over ranks."""
    reported = [each for each in bins if each.span_s]
    seconds = sum([each.wall_s for each in reported])
    return (
        sum([(each.mean(getattr(each, name)) or 0.0) * each.wall_s for each in reported]) / seconds if seconds else 0.0
    )
