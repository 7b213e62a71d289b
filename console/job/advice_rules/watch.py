"""What may be off: each says what would settle it, and when to look again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from console.job.advice_rules.context import sentences
from console.job.series import median_of
from console.job.snapshot import DatasetState, Judgement, Verdict
from console.job.units import age, duration, percent, plural, rate

if TYPE_CHECKING:
    from console.job.advice_rules.context import Context


def log_quiet(ctx: Context) -> Verdict | None:
    """The server's newest report is old, but we have not looked for long enough to say more."""
    quiet_s = ctx.work_age_s
    working = ctx.current is not None and ctx.current.state is DatasetState.RUNNING and ctx.in_flight != 0
    if quiet_s is None or quiet_s < ctx.stall_limit_s or not working or not ctx.server.running:
        return None
    grown_s = ctx.job_grown_s
    if grown_s is not None and grown_s < quiet_s / 2:
        return None
    return Verdict(
        Judgement.WATCH,
        "log_quiet",
        f"Keep an eye on it: the server's newest report of work is {duration(quiet_s)} old.",
        sentences(ctx.load_sentence(), "A report is due; whether the silence is the server's shows with the next one."),
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
    return Verdict(Judgement.WATCH, "log_quiet", headline, sentences(told, ctx.health_words()), since=at)


def health_flapping(ctx: Context) -> Verdict | None:
    """Health fails time after time while the server works on."""
    health = ctx.state.host.health
    lives = [seconds for seconds in (ctx.work_unseen_s, ctx.job_grown_s) if seconds is not None]
    if health.failures < ctx.limits.health_failures or not lives or ctx.server.phase not in {"", "ready"}:
        return None
    return Verdict(
        Judgement.WATCH,
        "health_flapping",
        f"Keep an eye on it: {plural(health.failures, 'health check')} in a row failed, while the server still works.",
        sentences(
            f"The server last showed work {duration(min(lives))} ago; long prefills can starve health checks.",
            ctx.speed_sentence(),
        ),
        next_look=ctx.now + timedelta(seconds=ctx.stall_limit_s),
    )


def errors_rising(ctx: Context) -> Verdict | None:
    """Requests fail for good, more than a few in the last ten minutes."""
    trail = max(
        (ctx.state.log, ctx.state.progress), key=lambda each: each.errors.last.value if each.errors.last else 0.0
    )
    last = trail.errors.last
    if last is None:
        return None
    began = ctx.now - timedelta(seconds=ctx.limits.errors_window_s) - ctx.state.job_clock.offset
    before = trail.errors.at_or_before(began)
    new = round(last.value - (before.value if before and before.value <= last.value else 0.0))
    if new < ctx.limits.errors_new or datetime.fromtimestamp(last.time_s, UTC) < began:
        return None
    run = ctx.current
    window = duration(ctx.limits.errors_window_s)
    ratio = (
        f"{percent(run.errors / (run.errors + run.done_run))} of the requests of {run.name} so far."
        if run and run.errors
        else None
    )
    return Verdict(
        Judgement.WATCH,
        "errors_rising",
        f"Keep an eye on it: {plural(new, 'request')} failed for good in the last {window}.",
        sentences(
            ratio, f"The job's last word of trouble: {trail.trouble}" if trail.trouble else None, ctx.speed_sentence()
        ),
        next_look=ctx.now + timedelta(seconds=ctx.limits.errors_window_s),
    )


def throughput_low(ctx: Context) -> Verdict | None:
    """Tokens a second have been well below what the same number of running requests usually makes, for minutes.

    Two windows must agree: the last five minutes by their median, and the newest figure.
    """
    usual, made, series = ctx.server.usual_throughput, ctx.server.gen_throughput, ctx.state.server.throughput
    if usual is None or made is None or series.last is None or not ctx.server.running:
        return None
    last = datetime.fromtimestamp(series.last.time_s, UTC)
    recent = series.points(since=last - timedelta(seconds=ctx.limits.throughput_low_s))
    middle = median_of(recent, least=5)
    low = ctx.limits.throughput_low * usual
    if middle is None or middle >= low or made >= low:
        return None
    return Verdict(
        Judgement.WATCH,
        "throughput_low",
        f"Keep an eye on it: {rate(middle)} for {duration(ctx.limits.throughput_low_s)}, where {rate(usual)} is usual.",
        sentences(
            ctx.load_sentence(), "A GPU that throttles, a neighbour on the host or retractions would explain it."
        ),
        next_look=ctx.now + timedelta(seconds=ctx.limits.throughput_low_s),
    )


RULES = (log_of_another, log_quiet, health_flapping, errors_rising, throughput_low)
"""In the order in which they are asked."""
