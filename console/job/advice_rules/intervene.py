"""What a person must do now. A full KV cache and a long queue are never among it: they are good while tok/s holds."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from console.job.advice_rules.context import sentences
from console.job.events import Source
from console.job.snapshot import DatasetState, Judgement, Verdict
from console.job.units import age, duration, plural, rate

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.advice_rules.context import Context

_SERVING = frozenset({"", "ready"})


def server_down(ctx: Context) -> Verdict | None:
    """The server has died or is going down, or its health fails while nothing else shows that it lives."""
    reason = _death(ctx) or _told_to_end(ctx) or _unanswered(ctx)
    if reason is None or (ctx.begun and not ctx.unfinished):
        return None
    words, since = reason
    evidence = sentences(words, ctx.server.trouble or None, _last_work(ctx), _sentence(ctx.health_words()))
    return Verdict(
        Judgement.INTERVENE,
        "server_down",
        "Intervene: the server is down, and the job can't go on without it.",
        tuple(dict.fromkeys(evidence)),
        action=f"Start the server again, then the job if it has ended. {ctx.kept_and_lost()}",
        since=since,
    )


_Reason = tuple[str, "datetime | None"]
"""Why, as a sentence, and since when."""


def _death(ctx: Context) -> _Reason | None:
    state = ctx.state.server
    if state.phase != "dead" or state.trouble_at is None:
        return None
    at = ctx.server_time(state.trouble_at)
    if ctx.lived_after(at, ctx.limits.life_margin_s):
        return None
    return f"The server's log tells of its end {age(at, ctx.now)}; nothing came after it.", at


def _told_to_end(ctx: Context) -> _Reason | None:
    state = ctx.state.server
    if state.phase != "draining" or state.stopping_at is None:
        return None
    at = ctx.server_time(state.stopping_at)
    if ctx.lived_after(at, ctx.limits.drain_s):
        return None
    return f"The server was told to end {age(at, ctx.now)}.", at


def _unanswered(ctx: Context) -> _Reason | None:
    """Health fails time after time although the server has served, and it shows no work meanwhile."""
    health, server = ctx.state.host.health, ctx.state.server
    served = server.ever_ready or health.ok_at is not None
    if health.failing_since is None or not served or server.phase not in _SERVING:
        return None
    failing_s = ctx.since(health.failing_since)
    refused = health.probe is not None and "refused" in health.probe.error.lower()
    enough = health.failures >= ctx.limits.health_failures and failing_s >= ctx.limits.health_failing_s
    if not (enough or (refused and health.failures > 1)):
        return None
    lives = [seconds for seconds in (ctx.work_unseen_s, ctx.job_grown_s) if seconds is not None]
    if lives and min(lives) < failing_s:
        return None
    words = (
        f"{plural(health.failures, 'health check')} in a row failed, the first {age(health.failing_since, ctx.now)}."
    )
    return words, health.failing_since


def job_dead(ctx: Context) -> Verdict | None:
    """The job's process is gone, or said that it failed, and work is left."""
    gone = ctx.job.alive is False and ctx.job.finished not in {"done", "stopped"} and not _spoke_after_the_look(ctx)
    failed = ctx.job.finished == "failed" and not ctx.job.alive
    if not (gone or failed) or not ctx.begun or (ctx.runs and not ctx.unfinished):
        return None
    trail = max((ctx.state.log, ctx.state.progress), key=lambda each: each.trouble_at is not None)
    since = ctx.state.host.process.gone_since
    return Verdict(
        Judgement.INTERVENE,
        "job_dead",
        f"Intervene: the job has ended before its end; {plural(len(ctx.unfinished), 'dataset')} left.",
        sentences(
            f"Its process is gone, first missed {age(since, ctx.now)}." if since else "It said that it failed.",
            f"Its last word of trouble: {trail.trouble}" if trail.trouble else None,
            _last_work(ctx),
        ),
        action=f"Start the job again. {ctx.kept_and_lost()}",
        since=since,
    )


def _spoke_after_the_look(ctx: Context) -> bool:
    """Whether the job wrote something since its process was missed: it was started meanwhile; the next look decides."""
    looked = ctx.state.host.process.at
    words = [ctx.job_time(trail.updated_at) for trail in (ctx.state.log, ctx.state.progress)]
    last = max((at for at in words if at is not None), default=None)
    return looked is not None and last is not None and (looked - last).total_seconds() < ctx.limits.look_doubt_s


def server_stalled(ctx: Context) -> Verdict | None:
    """Requests are in flight, the server holds some, and for long it has made nothing, although its log is followed.

    A health check that answers counts for little: vLLM's is a flag, and SGLang's may be answered by the tokenizer.
    """
    quiet_s, unseen_s = ctx.work_age_s, ctx.work_unseen_s
    if quiet_s is None or unseen_s is None or not _at_work(ctx) or not _watched(ctx):
        return None
    grown_s = ctx.job_grown_s
    if quiet_s < ctx.stall_limit_s or unseen_s < ctx.limits.settle_s or (grown_s is not None and grown_s < quiet_s / 2):
        return None
    held = plural(ctx.server.running or 0, "running request")
    return Verdict(
        Judgement.INTERVENE,
        "server_stalled",
        f"Intervene: the server holds {held} and has made no token for {duration(quiet_s)}.",
        sentences(
            ctx.load_sentence(),
            f"Its last report of work is {duration(quiet_s)} old; over {duration(ctx.stall_limit_s)} is not usual.",
            "The link is up and the server's log is followed: the silence is the server's.",
            _sentence(ctx.health_words()),
        ),
        action=f"Restart the server, then the job if it has ended. {ctx.kept_and_lost()}",
        since=ctx.now - timedelta(seconds=quiet_s),
    )


def _at_work(ctx: Context) -> bool:
    running = ctx.current is not None and ctx.current.state is DatasetState.RUNNING and ctx.in_flight != 0
    return running and bool(ctx.server.running) and ctx.server.phase in _SERVING and ctx.job.alive is not False


def _watched(ctx: Context) -> bool:
    """The server's log is followed, or its metrics page is fresh; and the link, where there is one, is up."""
    if ctx.link.state not in {"", "up"}:
        return False
    fact = ctx.state.host.source(Source.SERVER)
    page_at = ctx.state.server.metrics.at
    if page_at is not None and ctx.since(page_at) < ctx.limits.old_s:
        return True
    unread = fact is not None and fact.state in {"missing", "unreadable"}
    return ctx.state.server.reported_at is not None and not unread


def job_stalled(ctx: Context) -> Verdict | None:
    """The server has nothing to do, by a fresh metrics page, while the job holds requests in flight."""
    seen = ctx.state.server.metrics
    if seen.page is None or seen.at is None or ctx.since(seen.at) > ctx.limits.old_s or not ctx.in_flight:
        return None
    idle = seen.page.running == 0 and seen.page.queue == 0
    ages = [seconds for seconds in (ctx.work_age_s, ctx.job_grown_s) if seconds is not None]
    if not idle or not ages or min(ages) < ctx.limits.idle_s:
        return None
    return Verdict(
        Judgement.INTERVENE,
        "job_stalled",
        f"Intervene: the job waits for {plural(ctx.in_flight, 'request')} that the server does not have.",
        sentences(
            f"The server has been idle for {duration(min(ages))}: 0 run, 0 wait.",
            _sentence(ctx.health_words()),
        ),
        action=f"Restart the job. {ctx.kept_and_lost()}",
    )


def _last_work(ctx: Context) -> str | None:
    if ctx.work_age_s is None:
        return None
    made = f" ({rate(ctx.server.gen_throughput)})" if ctx.server.gen_throughput else ""
    return f"The server last showed work {duration(ctx.work_age_s)} ago{made}."


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


RULES = (server_down, job_dead, server_stalled, job_stalled)
"""In the order in which they are asked: a dead server explains a dead job."""
