"""A server or a job that starts again and again: nobody looks why, and little is made between."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from console.job.advice_rules.context import sentences
from console.job.snapshot import Judgement, Verdict
from console.job.units import count, duration

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.advice_rules.context import Context

_BEFORE_A_JOB = 1
"""So many more starts are needed while no job has begun: whoever tries out a server's settings starts it often."""


def restart_loop(ctx: Context) -> Verdict | None:
    """The server or the job started ``restarts`` times within ``restart_window_s``: after crashes, or with little made.

    It is over when the newest process has worked for ``restart_calm_s``. One restart by the operator is none.
    """
    life, trail = ctx.state.server.life, max(ctx.trails, key=lambda each: len(each.starts))
    if len(life.starts) >= ctx.limits.restarts:
        clock = ctx.state.server_clock
        found = _loop(ctx, "server", [clock.on_our_clock(at) for at in life.starts])
        if found is not None:
            return found
    if len(trail.starts) < ctx.limits.restarts:
        return None
    clock = ctx.state.job_clock
    return _loop(ctx, "job", [clock.on_our_clock(at) for at in trail.starts])


def _loop(ctx: Context, who: str, starts: list[datetime]) -> Verdict | None:
    limits = ctx.limits
    least = limits.restarts + (0 if ctx.begun else _BEFORE_A_JOB)
    window = timedelta(seconds=limits.restart_window_s)
    recent = [at for at in starts if starts[-1] - at <= window]
    if len(recent) < least or ctx.since(starts[-1]) > limits.restart_window_s or _calm(ctx, starts[-1]):
        return None
    after_crashes = [at for at in _revived(ctx, who) if at >= recent[0]]
    if len(after_crashes) >= least:
        recent = after_crashes
    elif len(recent) < limits.restarts_many:
        recent = recent[-least:]
        if _done_since(ctx, recent[0]) > limits.restart_least * (least - 1):
            return None
    made = _done_since(ctx, recent[0])
    span = duration((recent[-1] - recent[0]).total_seconds())
    trouble = ctx.server.trouble if who == "server" else max(ctx.trails, key=lambda each: bool(each.trouble_at)).trouble
    return Verdict(
        Judgement.INTERVENE,
        "restart_loop",
        f"Intervene: the {who} started {len(recent)} times within {span}, and {count(made)} completions came of it.",
        sentences(
            f"Its starts: {', '.join(f'{duration(ctx.since(at))} ago' for at in recent[-4:])}.",
            f"The last word of trouble: {trouble}" if trouble else None,
        ),
        action=f"Stop what starts the {who} again, read the first trouble in its log, and mend that first.",
        since=recent[-1],
    )


def _revived(ctx: Context, who: str) -> list[datetime]:
    """Starts that followed a crash, on the console's clock."""
    if who == "server":
        clock, starts = ctx.state.server_clock, ctx.state.server.life.revived
    else:
        clock, starts = ctx.state.job_clock, max((trail.revived for trail in ctx.trails), key=len)
    return [clock.on_our_clock(at) for at in starts]


def _calm(ctx: Context, start: datetime) -> bool:
    """Whether the newest process has worked for long enough."""
    worked = [at for at in (ctx.server_time(ctx.state.server.progressed_at), ctx.job_spoke_at) if at is not None]
    return bool(worked) and (max(worked) - start).total_seconds() > ctx.limits.restart_calm_s


def _done_since(ctx: Context, at: datetime) -> int:
    """Prompts that were done since then, by the job's counts."""
    since = at - ctx.state.job_clock.offset
    gains = []
    for trail in ctx.trails:
        points = trail.errors.points(since=since)
        before = trail.errors.at_or_before(since)
        known = [point.load for point in ((before,) if before else ()) + tuple(points)]
        gains.append(round(max(known) - known[0]) if known else 0)
    return max(gains)
