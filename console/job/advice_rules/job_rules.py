"""A job that is dead, or that stands still. A replay and a host that is not asked know it from the logs alone."""

from __future__ import annotations

import itertools
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING

from console.job.advice_rules.context import IN_TRANSIT, sentences
from console.job.advice_rules.server_rules import SERVING, last_work
from console.job.signs_of_life import agreement, signs
from console.job.snapshot import DatasetState, Judgement, Verdict
from console.job.units import age, duration, plural

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.advice_rules.context import Context
    from console.job.job_state import JobTrail


def job_dead(ctx: Context) -> Verdict | None:
    """The job's process is gone, or said that it failed, or its log ends as a process dies; and work is left."""
    if not ctx.begun or (ctx.runs and not ctx.unfinished):
        return None
    gone = ctx.job.alive is False and ctx.job.finished not in {"done", "stopped"} and not _spoke_after_the_look(ctx)
    failed = ctx.job.finished == "failed" and not ctx.job.alive
    ended_at = None if gone or failed or ctx.job.alive else _ended_by_its_log(ctx) or _missed_beats(ctx)
    if not (gone or failed or ended_at):
        return None
    trail = _troubled(ctx)
    since = ctx.state.host.process.gone_since if gone else ended_at
    how = "It said that it failed."
    if gone:
        how = f"Its process is gone, first missed {age(since, ctx.now)}."
    elif ended_at:
        worked = ctx.work_age_s is not None and ctx.since(ended_at) - ctx.work_age_s > ctx.limits.ending_s
        since_then = "it has sent nothing since" if worked else "the server has had nothing to do since"
        how = f"Its log ends {age(ended_at, ctx.now)}, and {since_then}."
    return Verdict(
        Judgement.INTERVENE,
        "job_dead",
        f"Intervene: the job has ended before its end; {plural(len(ctx.unfinished), 'dataset')} left.",
        sentences(how, f"Its last word of trouble: {trail.trouble}" if trail.trouble else None, last_work(ctx)),
        action=f"Start the job again. {ctx.restart_job().words}",
        since=since,
        options=(ctx.restart_job(),),
    )


def _spoke_after_the_look(ctx: Context) -> bool:
    """Whether the job wrote something since its process was missed: it was started meanwhile; the next look decides."""
    looked, last = ctx.state.host.process.at, ctx.job_spoke_at
    return looked is not None and last is not None and (looked - last).total_seconds() < ctx.limits.look_doubt_s


def _troubled(ctx: Context) -> JobTrail:
    """The log with the newest line of trouble."""
    return max(ctx.trails, key=lambda each: each.trouble_at.timestamp() if each.trouble_at else 0.0)


def _ended_by_its_log(ctx: Context) -> datetime | None:
    """When the job's log ended with trouble, if it did: nothing came after it, and the server has nothing to do.

    A line by which a process dies (a traceback's last, an exit code) needs a moment of silence while the server is
    idle; any other trouble, and a server that still works on what it was sent, needs more.
    """
    trail = _troubled(ctx)
    at, spoke = ctx.job_time(trail.trouble_at), ctx.job_spoke_at
    if at is None or spoke is None or trail.server in {"gone", "fails"}:
        return None
    # A line without a stamp is dated by the one before it, so that a last word elsewhere may be a little newer.
    if (spoke - at).total_seconds() > ctx.limits.ending_s:
        return None
    silent_s = ctx.since(max(at, spoke))
    idle = _idle(ctx) or (trail.trouble_ends and _dwindles(ctx))
    least_s = ctx.limits.ending_s if idle else _due_s(ctx)
    if (trail.trouble_ends or _stopped_with_it(ctx, at)) and silent_s >= least_s:
        return at
    return at if idle and silent_s >= ctx.limits.trouble_s else None


def _dwindles(ctx: Context) -> bool:
    """Whether the server holds clearly fewer requests than the job has places, though there is more to send."""
    run, server = ctx.current, ctx.server
    if run is None or not run.concurrency or not ctx.sends_on or server.running is None or ctx.job_times_guessed:
        return False
    if (ctx.sent_s or 0.0) < ctx.limits.ramp_s:
        return False
    held = server.running + (server.queue or 0)
    return held < run.concurrency - max(IN_TRANSIT, ctx.limits.over_margin * run.concurrency)


def _stopped_with_it(ctx: Context, at: datetime) -> bool:
    """Whether the server ran out of work just as the job wrote its last line: what was in flight was given up."""
    worked = ctx.server_time(ctx.state.server.progressed_at)
    return worked is not None and abs((worked - at).total_seconds()) <= ctx.limits.ending_s


def _missed_beats(ctx: Context) -> datetime | None:
    """When a job that speaks by the clock spoke last, if it is missed and the server has nothing to do either.

    A job whose server hangs goes on to say how far it is; one that died says nothing. A job that speaks by counts is
    silent in both cases, so it is missed only when the server's requests ran out. While a server starts, all wait.
    """
    if ctx.server.phase not in SERVING or ctx.job_times_guessed or not (ctx.job_keeps_time or ctx.drained):
        return None
    beat_s, spoke, limits = ctx.job_beat_s, ctx.job_spoke_at, ctx.limits
    if beat_s is None or spoke is None or beat_s > limits.beat_s or ctx.current is None or ctx.link.state != "":
        return None
    if ctx.current.state is not DatasetState.RUNNING or ctx.since(spoke) < max(limits.beats * beat_s, limits.ending_s):
        return None
    idle_s = ctx.idle_s
    return spoke if idle_s is None or idle_s >= max(limits.old_s, ctx.stall_limit_s / 2) else None


def _idle(ctx: Context) -> bool:
    """Whether the server has shown no work for a moment, or has run out of it."""
    if ctx.work_age_s is None or ctx.drained:
        return True
    intervals = ctx.state.server.intervals_s
    usual = 2 * median(intervals) if intervals else 0.0
    return ctx.work_age_s >= max(ctx.limits.ending_s, min(2 * ctx.limits.ending_s, usual))


def _due_s(ctx: Context) -> float:
    """Seconds of silence that are too long for a job that has just said that it dies, while the server works on."""
    usual = usual_word_s(ctx)
    return max(ctx.limits.trouble_s, 3 * usual if usual is not None else 0.0)


def usual_word_s(ctx: Context) -> float | None:
    """Seconds between the job's words of progress, usually; None of fewer than three."""
    run = ctx.current
    if run is None or len(run.marks) < 4:  # noqa: PLR2004 -- three intervals have a middle
        return None
    times = [mark.at for mark in run.marks[-12:]]
    return median([(new - old).total_seconds() for old, new in itertools.pairwise(times)])


def job_stalled(ctx: Context) -> Verdict | None:
    """The server has nothing to do while the job holds requests in flight, or never comes to the next dataset."""
    idle_s = _waits_in_vain(ctx)
    if idle_s is not None:
        return _stalled(
            ctx,
            f"Intervene: the job waits for {plural(ctx.in_flight or 0, 'request')} that the server does not have.",
            f"The server has been idle for {duration(idle_s)}: its last requests ran out.",
            idle_s,
        )
    run, limits = ctx.current, ctx.limits
    spoke_s = ctx.since(ctx.job_spoke_at) if ctx.job_spoke_at else 0.0
    resting = ctx.work_age_s is None or ctx.work_age_s > limits.idle_s
    if run is not None and run.state is DatasetState.LOADING and resting and spoke_s > limits.loading_s:
        words = f"The prompts of {run.name} have been loading since {duration(spoke_s)}, and the server is idle."
        return _stalled(ctx, f"Intervene: the job has not begun {run.name}.", words, spoke_s)
    begun = any(each.state is not DatasetState.WAITING for each in ctx.runs)
    if run is None and begun and ctx.unfinished and resting and spoke_s > limits.switch_s:
        words = f"The job has said nothing for {duration(spoke_s)}, and the server is idle."
        return _stalled(ctx, f"Intervene: the job has not turned to {ctx.unfinished[0].name}.", words, spoke_s)
    return None


def _waits_in_vain(ctx: Context) -> float | None:
    """Seconds for which the job has waited for requests that the server does not have; None when it does not."""
    run = ctx.current
    if run is None or run.state is not DatasetState.RUNNING or not ctx.in_flight or ctx.server.phase not in SERVING:
        return None
    if ctx.link.state not in {"", "up"}:
        return None
    seen = ctx.state.server.metrics
    page = seen.page if seen.at is not None and ctx.since(seen.at) <= ctx.limits.old_s else None
    if page is not None:
        empty = page.running == 0 and page.queue == 0
    else:
        empty = ctx.drained and ctx.in_flight > (ctx.server.running or 0)
    ages = [seconds for seconds in (ctx.idle_s, ctx.job_grown_s) if seconds is not None]
    least_s = ctx.limits.guessed_s if ctx.job_times_guessed else ctx.limits.idle_s
    return min(ages) if empty and ages and min(ages) >= least_s else None


def _stalled(ctx: Context, headline: str, words: str, since_s: float) -> Verdict:
    seen = "" if ctx.job.alive else " Whether its process still runs was not asked."
    return Verdict(
        Judgement.INTERVENE,
        "job_stalled",
        headline,
        sentences(words + seen, last_work(ctx), agreement(signs(ctx))),
        action=f"Restart the job. {ctx.restart_job().words}",
        since=ctx.now - timedelta(seconds=since_s),
        options=(ctx.restart_job(),),
    )
