"""Tokens a second below what is expected at the present load, and stays there.

Expected is what this server made at such a load before (``console.job.pace``), so a dataset's switch, its tail, a
prefill burst and longer prompts are no fall. Windows of five minutes and of a quarter of an hour must agree.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import log
from typing import TYPE_CHECKING

from console.job.advice_rules import speed_load, speed_retractions
from console.job.advice_rules.context import sentences
from console.job.snapshot import Judgement, Verdict
from console.job.units import age, duration, percent, rate

if TYPE_CHECKING:
    from console.job.advice_rules.context import Context
    from console.job.change import Change
    from console.job.pace import Pace

_SETTLED_S = 600.0
"""Seconds before or after a dataset's beginning from which on a fall is not of that beginning."""

_HOLD = 1.06
"""The shorter windows of a fall that has lasted may be this much above its threshold: they waver about it."""

_MARGIN, _DOUBTS, _NEW_S = 0.25, 6.0, 1800.0
"""How far down (log), beyond so many standard deviations of what is expected, a fall that came with a new load must be,
and for how many seconds, to be no mistake of the model's."""


def throughput_collapsed(ctx: Context) -> Verdict | None:
    """Throughput fell to two thirds of what is expected or less and stays down: something is wrong with the server.

    A load that the run had not seen in its first hours is judged by the model alone; then a fall that came with the
    dataset's beginning is only watched.
    """
    pace = ctx.pace
    change = pace.change if pace else None
    if pace is None or change is None or not _far_down(ctx, pace, change) or not _sure(ctx, pace, change):
        return None
    since = _since(ctx, change)
    return Verdict(
        Judgement.INTERVENE,
        "throughput_collapsed",
        f"Intervene: {percent(_ratio(pace))} of the tok/s that this load should give; it fell {age(since, ctx.now)}.",
        sentences(
            _made(pace),
            _kind(pace, change),
            _costs(ctx, pace),
            ctx.load_sentence(),
            "It is not the load: fewer running requests, longer answers and prefills are taken into account.",
        ),
        action="Look at the GPUs (nvidia-smi -q -d PERFORMANCE: clocks, throttling, temperature), for other processes"
        " on them, and for errors in the server's log. If nothing explains it, restart the server. "
        f"{ctx.restart_server().words}",
        since=since,
        options=(ctx.restart_server(),),
    )


def _far_down(ctx: Context, pace: Pace, change: Change) -> bool:
    """Far down for ten minutes, or well down for an hour and a half."""
    limits, quarter = ctx.limits, pace.ratio_quarter or 1.0
    lasted_s = ctx.now.timestamp() - _since(ctx, change).timestamp()
    deep = max(quarter, pace.ratio_fast) <= limits.throughput_collapsed and lasted_s >= limits.throughput_collapsed_s
    sunk = (pace.ratio_long or 1.0) <= limits.throughput_sunk
    return deep or (sunk and max(pace.ratio_slow or 1.0, pace.ratio_fast) <= limits.throughput_sunk * _HOLD)


def _sure(ctx: Context, pace: Pace, change: Change) -> bool:
    """No chance, and no mistake of the model about a load that is new and came with the fall."""
    lasted_s = ctx.now.timestamp() - _since(ctx, change).timestamp()
    apart = ctx.sent_s is not None and abs(lasted_s - ctx.sent_s) > _SETTLED_S
    beyond = log(_ratio(pace)) < -_MARGIN - _DOUBTS * pace.sd and lasted_s >= _NEW_S
    return change.sure >= ctx.limits.collapse_sure and (pace.familiar or apart or beyond)


def throughput_low(ctx: Context) -> Verdict | None:
    """Throughput is below what is expected: by a fifth over both windows, or by less over hours (cumulative sum)."""
    pace = ctx.pace
    if pace is None or pace.change is None or _ratio(pace) > ctx.limits.throughput_less:
        return None
    since = _since(ctx, pace.change)
    return Verdict(
        Judgement.WATCH,
        "throughput_low",
        f"Keep an eye on it: {rate(pace.made)}, {percent(_ratio(pace))} of what is expected at this load.",
        sentences(
            _made(pace),
            _kind(pace, pace.change),
            _costs(ctx, pace),
            ctx.load_sentence(),
            "A GPU that throttles or a neighbour on the host would explain it (nvidia-smi).",
        ),
        since=since,
        next_look=ctx.now + timedelta(seconds=ctx.limits.throughput_low_s),
    )


def _ratio(pace: Pace) -> float:
    """The share of what is expected that has lasted."""
    return pace.change.ratio if pace.change else pace.ratio_quarter or pace.ratio_fast


def _since(ctx: Context, change: Change) -> datetime:
    at = datetime.fromtimestamp(change.since_s, UTC)
    return (ctx.server_time(at) if ctx.state.server.ranks else None) or at


def _made(pace: Pace) -> str:
    share = f", give or take {percent(pace.sd)}" if pace.sd < 1 else ""
    return f"{rate(pace.made)} over the last 5 min, where {rate(pace.expected)} is expected for what runs{share}."


def _kind(pace: Pace, change: Change) -> str:
    low = percent(pace.ratio_quarter) if pace.ratio_quarter is not None else percent(change.ratio)
    if change.kind == "ramp":
        return f"It has fallen slowly; over the last quarter of an hour it was {low} of what is expected."
    return f"It fell at once; over the last quarter of an hour it was {low} of what is expected."


def _costs(ctx: Context, pace: Pace) -> str | None:
    """What it costs: at this speed the time left is longer by ``1 - ratio`` of itself."""
    end = max(ctx.ends.values(), default=None)
    if end is None or end <= ctx.now:
        return None
    left_s = (end - ctx.now).total_seconds()
    owed_s = left_s * (1 - min(1.0, _ratio(pace)))
    return f"Of the {duration(left_s)} left at this speed, {duration(owed_s)} are owed to it."


INTERVENE_RULES = (speed_retractions.retraction_thrash, throughput_collapsed, speed_load.concurrency_too_low)
"""In the order in which they are asked: retractions explain a collapse."""

WATCH_RULES = (throughput_low, speed_retractions.retractions, speed_load.under_utilised)
"""Likewise; throughput that fell says more than the retractions that may come with it."""

WAIT_RULES = (speed_load.compute_limited,)
"""To be asked before ``concurrency_limited``, which holds for the same load while more would be faster."""
