"""A server that is down, or that stands still. No sign counts alone; see ``console.job.signs_of_life``."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from console.job.advice_rules.context import sentences
from console.job.advice_rules.failure_rules import fails_at_once
from console.job.events import Source
from console.job.signs_of_life import agreement, signs
from console.job.snapshot import DatasetState, Judgement, Verdict
from console.job.units import age, duration, plural, rate

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.advice_rules.context import Context

SERVING = frozenset({"", "ready"})
"""Phases in which a server is expected to work."""

_UNREACHED = re.compile(
    r"[Cc]onnection (?:refused|error|failed|reset|aborted)|ConnectError|ReadError|RemoteProtocolError|disconnected"
    r"|unreachable|attempts failed"
)
"""How a job says that it does not reach the server."""


def server_down(ctx: Context) -> Verdict | None:
    """The server has died or is going down, or its health fails while nothing else shows that it lives."""
    reason = _death(ctx) or _told_to_end(ctx) or _unanswered(ctx) or _missed_by_job(ctx)
    if reason is None or (ctx.begun and not ctx.unfinished):
        return None
    words, since = reason
    evidence = sentences(words, ctx.server.trouble or None, last_work(ctx), agreement(signs(ctx)))
    return Verdict(
        Judgement.INTERVENE,
        "server_down",
        "Intervene: the server is down, and the job can't go on without it.",
        tuple(dict.fromkeys(evidence)),
        action=f"Start the server again, then the job if it has ended. {ctx.restart_job().words}",
        since=since,
        options=(ctx.restart_server(),),
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
    """Health fails time after time although the server has served, and it shows no work meanwhile.

    Who answers with an error (503) is there: that takes ``health_busy_s``, for long prefills starve the check.
    """
    health, server, limits = ctx.state.host.health, ctx.state.server, ctx.limits
    served = server.ever_ready or health.ok_at is not None
    if health.failing_since is None or not served or server.phase not in SERVING:
        return None
    failing_s = ctx.since(health.failing_since)
    answered = health.probe is not None and health.probe.status is not None
    refused = health.probe is not None and "refused" in health.probe.error.lower()
    least_s = limits.health_busy_s if answered else limits.health_failing_s
    enough = health.failures >= limits.health_failures and failing_s >= least_s
    if not (enough or (refused and health.failures > 1)) or _shows_work(ctx, failing_s):
        return None
    words = (
        f"{plural(health.failures, 'health check')} in a row failed, the first {age(health.failing_since, ctx.now)}."
    )
    return words, health.failing_since


def _shows_work(ctx: Context, within_s: float) -> bool:
    lives = [seconds for seconds in (ctx.work_unseen_s, ctx.job_grown_s) if seconds is not None]
    return bool(lives) and min(lives) < within_s


def _missed_by_job(ctx: Context) -> _Reason | None:
    """The job says that it does not reach the server, no health check says otherwise, and the server shows no work."""
    trail = max(ctx.trails, key=lambda each: (each.trouble_at is not None, each.updated_at is not None))
    health = ctx.state.host.health
    at = ctx.job_time(trail.trouble_at)
    if at is None or ctx.state.server.phase not in SERVING or trail.server in {"back", "fails"}:
        return None
    heard = trail.server == "gone" or bool(_UNREACHED.search(trail.trouble))
    since = ctx.job_time(trail.server_since) if trail.server == "gone" else at
    if not heard or since is None or ctx.since(at) > ctx.limits.trouble_s:
        return None
    if health.ok_at is not None and health.ok_at >= at:
        return None
    quiet = ctx.work_age_s is None or ctx.work_age_s >= ctx.limits.settle_s
    worked = ctx.server_time(ctx.state.server.progressed_at)
    if not quiet or (worked is not None and (worked - at).total_seconds() > 1.0):
        return None
    return f"The job does not reach the server: {trail.trouble}", since


def server_stalled(ctx: Context) -> Verdict | None:
    """Requests are in flight, the server holds some, and for long it has made nothing, although its log is followed.

    A health check that answers counts for little: vLLM's is a flag, and SGLang's may be answered by the tokenizer.
    """
    quiet_s, unseen_s = ctx.idle_s, ctx.work_unseen_s
    if quiet_s is None or unseen_s is None or not at_work(ctx) or not is_watched(ctx):
        return None
    grown_s = ctx.job_grown_s
    if quiet_s < ctx.stall_limit_s or unseen_s < ctx.limits.settle_s or (grown_s is not None and grown_s < quiet_s / 2):
        return None
    if fails_at_once(ctx):
        return None
    held = plural(ctx.server.running or 0, "running request")
    return Verdict(
        Judgement.INTERVENE,
        "server_stalled",
        f"Intervene: the server holds {held} and has made no token for {duration(quiet_s)}.",
        sentences(
            ctx.load_sentence(),
            f"Its last report of work is {duration(quiet_s)} old; over {duration(ctx.stall_limit_s)} is not usual.",
            _whose_silence(ctx, quiet_s),
            agreement(signs(ctx)),
        ),
        action=f"Restart the server, then the job if it has ended. {ctx.restart_server().words}",
        since=ctx.now - timedelta(seconds=quiet_s),
        options=(ctx.restart_server(), ctx.restart_job()),
    )


def _whose_silence(ctx: Context, quiet_s: float) -> str:
    """A job that ended without a word leaves a server idle: where its process was not asked, that may be so too."""
    spoke_s = ctx.since(ctx.job_spoke_at) if ctx.job_spoke_at else 0.0
    if ctx.job.alive is None and spoke_s >= quiet_s / 2:
        return f"The job has said nothing for {duration(spoke_s)} either; whether it still runs was not asked."
    return "The server's log is followed: the silence is the server's."


def at_work(ctx: Context) -> bool:
    """Whether the server should be making tokens: the job has requests in flight, and it holds some of them.

    One whose last requests ran out while the job holds many is idle: that is the job's fault. Without a word of the
    job, only a queue shows that there is work.
    """
    server = ctx.server
    if server.phase not in SERVING or ctx.job.alive is False or not server.running:
        return False
    if not ctx.begun:
        return bool(server.queue)
    if ctx.current is None or ctx.current.state is not DatasetState.RUNNING or ctx.in_flight == 0:
        return False
    return not ctx.drained or ctx.in_flight is None or ctx.in_flight <= server.running


def is_watched(ctx: Context) -> bool:
    """The server's log is followed, or its metrics page is fresh; and the link, where there is one, is up."""
    if ctx.link.state not in {"", "up"}:
        return False
    fact = ctx.state.host.source(Source.SERVER)
    page_at = ctx.state.server.metrics.at
    if page_at is not None and ctx.since(page_at) < ctx.limits.old_s:
        return True
    unread = fact is not None and fact.state in {"missing", "unreadable"}
    return ctx.state.server.reported_at is not None and not unread


def last_work(ctx: Context) -> str | None:
    """When the server last showed work, as a sentence."""
    if ctx.work_age_s is None:
        return None
    made = f" ({rate(ctx.server.gen_throughput)})" if ctx.server.gen_throughput else ""
    return f"The server last showed work {duration(ctx.work_age_s)} ago{made}."
