"""What may be off: each says what would settle it, and when to look again."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import TYPE_CHECKING

from console.job.advice_rules.context import sentences
from console.job.advice_rules.failure_rules import errors_rising
from console.job.advice_rules.job_rules import usual_word_s
from console.job.advice_rules.length_rules import completions_capped
from console.job.advice_rules.server_rules import SERVING, at_work
from console.job.events import Source
from console.job.host_state import BAD
from console.job.signs_of_life import agreement, signs
from console.job.snapshot import DatasetState, Judgement, Verdict
from console.job.units import age, duration, percent, plural

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.advice_rules.context import Context
    from console.job.told import Told

_FLIPS = 4
"""Changes between well and ill among the health checks that are kept, from which on health flaps."""

_ILL = 0.3
"""And this share of them must have failed."""

_WORKED = 20
"""Reports over a quarter of an hour that show work going on: the slowest servers print one every half minute."""

_SLIP_LEAST = 3
"""Ranges over the time looked at, at least."""


def log_quiet(ctx: Context) -> Verdict | None:
    """The server's newest report is old, but we have not looked for long enough to say more."""
    quiet_s = ctx.idle_s
    if quiet_s is None or ctx.work_age_s is None or quiet_s < ctx.stall_limit_s or not at_work(ctx):
        return None
    grown_s = ctx.job_grown_s
    if grown_s is not None and grown_s < quiet_s / 2:
        return None
    return Verdict(
        Judgement.WATCH,
        "log_quiet",
        f"Keep an eye on it: the server's newest report of work is {duration(quiet_s)} old.",
        sentences(
            ctx.load_sentence(),
            "A report is due; whether the silence is the server's shows with the next one.",
            agreement(signs(ctx)),
        ),
        next_look=ctx.now + timedelta(seconds=ctx.limits.settle_s),
    )


def log_of_another(ctx: Context) -> Verdict | None:
    """The log tells of the server's end, and yet a server answers or serves."""
    state = ctx.state.server
    at = ctx.server_time(state.trouble_at if state.phase == "dead" else state.stopping_at)
    if state.phase not in {"dead", "draining"} or not ctx.lived_after(at, ctx.limits.life_margin_s):
        return None
    headline = "Keep an eye on it: the log tells of the server's end, but a server answers."
    told = f"The log's end is {age(at, ctx.now)}. Does the server that runs now write to another file? See server.log."
    return Verdict(Judgement.WATCH, "log_quiet", headline, sentences(told, agreement(signs(ctx))), since=at)


def server_unseen(ctx: Context) -> Verdict | None:
    """The job goes on while the server's log can't be read or has stopped: what is known of the server is old."""
    grown_s, quiet_s = ctx.job_grown_s, ctx.work_age_s
    if grown_s is None or quiet_s is None or grown_s > ctx.limits.job_due_s or ctx.server.phase not in SERVING:
        return None
    fact = ctx.state.host.source(Source.SERVER)
    unread = fact is not None and fact.state in BAD
    if quiet_s < ctx.limits.old_s or (not unread and (quiet_s < ctx.limits.job_due_s or grown_s > quiet_s / 2)):
        return None
    why = f"{fact.path}: {fact.reason or fact.state}." if fact is not None and unread else None
    return Verdict(
        Judgement.WATCH,
        "log_quiet",
        f"Keep an eye on it: the job goes on, but the server has not been seen for {duration(quiet_s)}.",
        sentences(
            why or "Does the server write to another file now? See server.log.",
            f"The job's tokens last grew {duration(grown_s)} ago; nothing is concluded from the server's old figures.",
        ),
        next_look=ctx.now + timedelta(seconds=ctx.limits.errors_window_s),
    )


def job_quiet(ctx: Context) -> Verdict | None:
    """The job's next line of progress is long due, by its own usual intervals."""
    run, usual_s, spoke = ctx.current, usual_word_s(ctx), ctx.job_spoke_at
    if run is None or run.state is not DatasetState.RUNNING or usual_s is None or spoke is None:
        return None
    silent_s = ctx.since(spoke)
    if silent_s < max(ctx.limits.job_due_s, ctx.limits.job_due * usual_s) or not _server_worked(ctx):
        return None
    return Verdict(
        Judgement.WATCH,
        "log_quiet",
        f"Keep an eye on it: the job has said nothing for {duration(silent_s)}.",
        sentences(
            f"It usually tells of its progress every {duration(usual_s)}.",
            ctx.load_sentence() if ctx.server.running is not None else None,
            agreement(signs(ctx)),
        ),
        next_look=ctx.now + timedelta(seconds=ctx.limits.errors_window_s),
        since=spoke,
    )


def _server_worked(ctx: Context) -> bool:
    """Whether the server worked on all the while, as far as it is seen: a job can't tell of what was not made."""
    series = ctx.state.server.throughput
    since = ctx.now - ctx.state.server_clock.offset - timedelta(seconds=ctx.limits.job_due_s)
    return series.last is None or len(series.points(since)) >= _WORKED


def health_flapping(ctx: Context) -> Verdict | None:
    """Health fails time after time, or comes and goes, while the server works on."""
    health = ctx.state.host.health
    lives = [seconds for seconds in (ctx.work_unseen_s, ctx.job_grown_s) if seconds is not None]
    in_a_row = health.failures >= ctx.limits.health_failures
    flips = 0 if in_a_row else _flips(health.recent)
    if not (in_a_row or flips) or not lives or ctx.server.phase not in SERVING:
        return None
    what = f"{plural(health.failures, 'health check')} in a row failed"
    if not in_a_row:
        failed = sum(not ok for _, ok in health.recent)
        what = f"{failed} of the last {len(health.recent)} health checks failed"
    return Verdict(
        Judgement.WATCH,
        "health_flapping",
        f"Keep an eye on it: {what}, while the server still works.",
        sentences(
            f"The server last showed work {duration(min(lives))} ago; long prefills can starve health checks.",
            agreement(signs(ctx)),
            ctx.speed_sentence(),
        ),
        next_look=ctx.now + timedelta(seconds=ctx.stall_limit_s),
    )


def _flips(recent: tuple[tuple[datetime, bool], ...]) -> int:
    """How often health changed, if that is often and much of it was ill; else 0."""
    flips = sum(old[1] != new[1] for old, new in itertools.pairwise(recent))
    ill = sum(not ok for _, ok in recent)
    return flips if flips >= _FLIPS and ill >= _ILL * len(recent) else 0


def clock_jump(ctx: Context) -> Verdict | None:
    """A log's clock jumped ahead, or was set back: ages and rates across that moment can't be trusted for a while."""
    found = [
        ("server", ctx.state.server_clock.jumped_at, ctx.state.server_clock.jump_s),
        ("job", ctx.state.job_clock.jumped_at, ctx.state.job_clock.jump_s),
    ]
    if ctx.state.host.link.fact is None:  # in a replay no clock but the logs' own runs, so their figures must tell
        found.append(("server", ctx.server_time(ctx.state.server.life.jumped_at), ctx.state.server.life.jump_s))
    known = [(at, whose, by_s) for whose, at, by_s in found if at is not None and ctx.since(at) < ctx.limits.clock_s]
    if not known:
        return None
    at, whose, by_s = max(known)
    way = "jumped ahead" if by_s > 0 else "was set back"
    return Verdict(
        Judgement.WATCH,
        "clock_jump",
        f"Keep an eye on it: the clock of the {whose}'s log {way} by about {duration(abs(by_s))}.",
        sentences(
            f"That was seen {age(at, ctx.now)}; times before and after it do not fit together.",
            "Speed and the end settle again within a quarter of an hour.",
            ctx.speed_sentence(),
        ),
        since=at,
        next_look=at + timedelta(seconds=ctx.limits.clock_s),
    )


def eta_slipping(ctx: Context) -> Verdict | None:
    """The end moved later over hours, by much more than its former range: the estimate misses something.

    moved > slip x (high - middle)      and      moved > slip_share x time left then
    """
    told = [each for each in ctx.told if ctx.since(each.at) <= ctx.limits.slip_s]
    if len(told) < _SLIP_LEAST or _grew(ctx, told[0].at):
        return None
    first, last = told[0], told[-1]
    if (last.at - first.at).total_seconds() < ctx.limits.slip_s / 2:
        return None
    moved_s = (last.middle - first.middle).total_seconds()
    reach_s = (first.high - first.middle).total_seconds()
    left_s = (first.middle - first.at).total_seconds()
    if moved_s <= ctx.limits.slip * reach_s or moved_s <= ctx.limits.slip_share * left_s or not _keeps_moving(told):
        return None
    more = f" ({percent(moved_s / left_s)} more now)" if left_s > 0.0 else ""
    return Verdict(
        Judgement.WATCH,
        "eta_slipping",
        f"Keep an eye on it: the end moved {duration(moved_s)} later within"
        f" {duration((last.at - first.at).total_seconds())}.",
        sentences(
            f"Then, {duration(left_s)} were left, at most {duration(left_s + reach_s)} with 80 % confidence{more}.",
            "Answers that get longer, or a server that gets slower, would explain it.",
            ctx.speed_sentence(),
        ),
        next_look=ctx.now + timedelta(seconds=ctx.limits.slip_s / 6),
    )


def _grew(ctx: Context, since: datetime) -> bool:
    """Whether the job turned since then to a dataset that neither the plan nor its own list had foretold."""
    foretold = {dataset.name for dataset in ctx.plan.datasets}.union(*(trail.order for trail in ctx.trails))
    began = [ctx.job_time(run.started_at) for run in ctx.runs if run.name not in foretold]
    return any(at is not None and at >= since for at in began)


def _keeps_moving(told: list[Told]) -> bool:
    """Whether the end still moved later in the newest half, rather than once."""
    middle = told[len(told) // 2]
    return told[-1].middle > middle.middle > told[0].middle


RULES = (
    log_of_another,
    log_quiet,
    health_flapping,
    errors_rising,
    completions_capped,
    clock_jump,
    server_unseen,
    job_quiet,
)
"""In the order in which they are asked, before those on speed."""

LATE_RULES = (eta_slipping,)
"""Asked last: what explains it is said first."""
