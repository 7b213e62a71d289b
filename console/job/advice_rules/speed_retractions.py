"""Requests taken out of the running batch for want of KV cache: normal now and then, bad when throughput falls with it.

SGLang's tuning guide calls about one a minute fine. Each costs a second prefill; when they feed on themselves,
throughput can collapse for good (sglang #26248).
"""

from __future__ import annotations

from datetime import timedelta
from math import inf
from typing import TYPE_CHECKING

from console.job.advice_rules.context import sentences
from console.job.pace import server_seconds
from console.job.pace_retractions import made_share
from console.job.snapshot import Judgement, Verdict
from console.job.units import percent, rate

if TYPE_CHECKING:
    from console.job.advice_rules.context import Context
    from console.job.limits import Limits
    from console.job.pace import Pace
    from console.job.pace_retractions import Retractions

_FILLING_S = 600.0
"""Seconds after a dataset's beginning in which its batch is young and makes more."""

_HOLD = 1.06
"""Over half an hour the share may be this much above its threshold: a fall that has lasted wavers about it."""

_MANY = 1.5
"""Times the rate of thrashing from which on retractions alone may explain what a dataset makes less than before."""


def retraction_thrash(ctx: Context) -> Verdict | None:
    """Retractions have risen, and throughput fell with them and stays down, by both windows."""
    pace = ctx.pace
    found = pace.retractions if pace else None
    if pace is None or found is None or not _risen(found, found.quiet_per_min, ctx.limits, ctx.limits.thrash_per_min):
        return None
    share = _fallen(ctx, pace, found)
    if share is None:
        return None
    return Verdict(
        Judgement.INTERVENE,
        "retraction_thrash",
        f"Intervene: {found.per_min:.1f} requests a minute are retracted, and throughput fell to {percent(share)}.",
        sentences(
            _often(found),
            f"{rate(pace.made)} over the last 5 min; the prefills of retracted requests are done again and again.",
            ctx.load_sentence(),
        ),
        action="Restart the job with fewer requests at once, by a quarter to begin with, or the server with a higher"
        f" schedule-conservativeness. {ctx.restart_job().words}",
        options=(ctx.restart_job(), ctx.restart_server()),
    )


def retractions(ctx: Context) -> Verdict | None:
    """Retractions are many and have risen; while throughput holds, there is nothing to do."""
    pace = ctx.pace
    found = pace.retractions if pace else None
    if (
        pace is None
        or found is None
        or not _risen(found, found.usual_per_min, ctx.limits, ctx.limits.retractions_per_min)
    ):
        return None
    holds = (pace.ratio_net or pace.ratio_fast) >= ctx.limits.throughput_holds
    if holds and (found.usual_per_min is None or found.per_min < ctx.limits.retractions_many):
        return None  # a young batch retracts until the server knows how long answers are
    held = "Throughput holds" if holds else "It costs speed"
    return Verdict(
        Judgement.WATCH,
        "retractions",
        f"Keep an eye on it: the server retracts {found.per_min:.1f} requests a minute for want of KV cache.",
        sentences(
            _often(found),
            f"{held}: {rate(pace.made)} over the last 5 min, where {rate(pace.expected)} is expected.",
            ctx.load_sentence(),
        ),
        next_look=ctx.now + timedelta(seconds=ctx.limits.throughput_low_s),
    )


def _risen(found: Retractions, usual: float | None, limits: Limits, many: float) -> bool:
    return found.per_min > many and found.per_min >= limits.retractions_rise * (usual or 0.0)


def _fallen(ctx: Context, pace: Pace, found: Retractions) -> float | None:
    """The share of the throughput that is left, where it has fallen far, by both windows; None where it has not.

    Of what is expected of the load, or of what the dataset made before: retractions shrink the batch, and less is then
    expected. Longer answers are retracted more and make less, too, so against what was before more has to be lost, more
    be retracted, and either a good part of the time must have gone into computing prompts again, or each running
    request be thrown out every other minute. Where that has gone on for half an hour, a dataset that began with it or
    just before has no better time to be compared with: then what was made in the twelve hours before counts.
    """
    fallen, limits = [], ctx.limits
    fast, net = pace.ratio_net_fast, pace.ratio_net
    if net is not None and fast is not None and fast <= limits.throughput_less:
        fallen.append((net, limits.thrash_share))
        if pace.ratio_net_slow is not None:
            # What has lasted for half an hour is not over with five better minutes: thrashing comes in waves.
            fallen.append((pace.ratio_net_slow, limits.thrash_share * _HOLD))
    many = found.per_min >= _MANY * limits.thrash_per_min
    wasted = (net or 0.0) <= limits.throughput_less * (pace.ratio_quarter or 0.0)
    beginnings: list[float] = []
    minutes, now_s = ctx.state.server.minutes, server_seconds(ctx.state.server, ctx.state.server_clock, ctx.now)
    if many and (wasted or found.churn >= limits.thrash_churn) and ctx.sent_s is not None:
        beginnings.append(now_s - ctx.sent_s + _FILLING_S)
    if many and min(found.churn, found.churn_before) >= limits.thrash_churn:
        beginnings.append(-inf)
    shares = [made_share(minutes, now_s, since_s) for since_s in beginnings]
    fallen += [(max(made), limits.thrash_made) for made in shares if made]
    return min((share for share, limit in fallen if share <= limit), default=None)


def _often(found: Retractions) -> str:
    before = "" if found.usual_per_min is None else f", {found.usual_per_min:.1f} before"
    return f"{found.per_min:.1f} requests a minute over the last quarter of an hour{before}; about one is fine."
