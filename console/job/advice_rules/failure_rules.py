"""Requests that fail: a few of every set do; many at once, and a high share of all, are another matter."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from console.job.advice_rules.context import sentences
from console.job.snapshot import Judgement, Verdict
from console.job.units import count, duration, percent, plural

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.advice_rules.context import Context
    from console.job.job_state import JobTrail
    from console.job.series import Point, Series

_KINDS = ("requests failed for good", "attempts failed, to be tried again", "lines of trouble came")


_WORDS, _SELDOM_S = 3, 1_800.0
"""Words of progress that a window holds at least, and how far apart they are taken to be at most, seconds."""


@dataclass(frozen=True, slots=True)
class Failing:
    """Failures in a window.

    Attributes:
        what: What they are, a plural with its verb.
        new: How many.
        done: Requests that ended well in the same time.
        steps: At how many moments the count grew.
        span_s: Seconds between the first and the last of these.
        last_s: Seconds since the last.
    """

    what: str
    new: int
    done: int
    steps: int
    span_s: float
    last_s: float

    @property
    def share(self) -> float:
        """Of all that ended, how much failed."""
        return self.new / (self.new + self.done) if self.new else 0.0


def failing(series: Series, what: str, now_s: float, window_s: float) -> Failing | None:
    """The failures of the newest ``window_s``; None without any.

    Args:
        series: A count of failures against time; its load is the count of what ended well.
        what: What they are.
        now_s: Now by the job's clock, seconds since the epoch.
        window_s: Seconds.
    """
    last = series.last
    if last is None or not last.value or last.time_s < now_s - window_s:
        return None
    points = _since(series, now_s - window_s)
    grown = [(old, new) for old, new in itertools.pairwise(points) if new.value > old.value]
    if not grown:
        return None
    new = sum([after.value - before.value for before, after in grown])
    done = max(0.0, points[-1].load - points[0].load)
    first, newest = grown[0][1].time_s, grown[-1][1].time_s
    return Failing(what, round(new), round(done), len(grown), newest - first, max(0.0, now_s - newest))


def _since(series: Series, since_s: float) -> list[Point]:
    """The points from then on, led by the one before them; a count that begins with 1 in the window began at 0."""
    kept: list[Point] = []
    for chunk in (series.tail, *reversed(series.chunks)):
        for point in reversed(chunk):
            kept.append(point)
            if point.time_s < since_s:
                return kept[::-1]
    first = [kept[-1]._replace(value=0.0)] if kept[-1].value == 1.0 else []
    return [*first, *kept[::-1]]


def _found(ctx: Context, trail: JobTrail, window_s: float) -> list[Failing]:
    now_s = (ctx.now - ctx.state.job_clock.offset).timestamp()
    counts = (trail.errors, trail.failed.series, trail.troubles.series)
    found = (failing(series, what, now_s, window_s) for series, what in zip(counts, _KINDS, strict=True))
    return [each for each in found if each is not None]


def error_storm(ctx: Context) -> Verdict | None:
    """Many requests failed in a short window, a high share of all, and not all at one moment; or the server fails.

    Of requests that failed for good a fifth is a storm: their prompts are lost to this run. Of attempts, which are
    tried again, and of lines of trouble, half. A whole batch that fails once, when the server is restarted, is none.
    """
    if ctx.begun and ctx.runs and not ctx.unfinished:
        return None
    for trail in ctx.trails:
        storm = next((each for each in _found(ctx, trail, _window_s(ctx)) if _is_storm(ctx, each)), None)
        if storm is not None:
            words = (
                f"{count(storm.new)} {storm.what} in {duration(_window_s(ctx))}, {percent(storm.share)} of what ended"
                f" ({count(storm.done)} ended well); the last {duration(storm.last_s)} ago."
            )
            return _storm(ctx, f"{count(storm.new)} {storm.what} in {duration(_window_s(ctx))}", words, trail, None)
        since = _server_fails(ctx, trail)
        if since is not None:
            words = f"The job has said since {duration(ctx.since(since))} that the server fails what it is sent."
            return _storm(ctx, "the server fails nearly all that it is sent", words, trail, since)
    return None


def _window_s(ctx: Context) -> float:
    """The short window; longer where the job speaks seldom, for it takes two words to see that it goes on."""
    return max(ctx.limits.storm_s, _WORDS * _apart_s(ctx))


def _apart_s(ctx: Context) -> float:
    """Seconds between the job's newest two words of progress; half an hour at most."""
    marks = ctx.current.marks[-2:] if ctx.current else ()
    return min(_SELDOM_S, (marks[1].at - marks[0].at).total_seconds()) if len(marks) > 1 else 0.0


def _is_storm(ctx: Context, found: Failing) -> bool:
    limits = ctx.limits
    least = limits.storm_share if found.what == _KINDS[0] else limits.storm_tries_share
    recent = found.last_s <= max(limits.storm_s, 2 * _apart_s(ctx))
    lasts = found.steps > 1 and found.span_s >= limits.storm_span_s and recent
    return lasts and found.new >= limits.storm_errors and found.share >= least


def _server_fails(ctx: Context, trail: JobTrail) -> datetime | None:
    """Since when the job has said that the server fails what it is sent, if that is long enough."""
    since = ctx.job_time(trail.server_since) if trail.server == "fails" else None
    return since if since is not None and ctx.since(since) >= ctx.limits.server_fails_s else None


def _storm(ctx: Context, what: str, words: str, trail: JobTrail, since: datetime | None) -> Verdict:
    return Verdict(
        Judgement.INTERVENE,
        "error_storm",
        f"Intervene: {what}.",
        sentences(
            words,
            f"The job's last word of trouble: {trail.trouble}" if trail.trouble else None,
            ctx.speed_sentence(),
            f"{ctx.health_words()[:1].upper()}{ctx.health_words()[1:]}.",
        ),
        action=f"Stop the job before it uses up more prompts, mend what the errors name, then start it again."
        f" {ctx.restart_job().words}",
        since=since,
        options=(ctx.restart_job(), ctx.restart_server()),
    )


def fails_at_once(ctx: Context) -> bool:
    """Whether requests have failed one after the other ever since the server fell silent: they do not reach it.

    Those that a hanging server never answers fail all at the same age, long after.
    """
    quiet_s = ctx.idle_s or 0.0
    storms = (each for trail in ctx.trails for each in _found(ctx, trail, _window_s(ctx)) if each.what != _KINDS[2])
    return any(
        each.steps > 1
        and each.new >= ctx.limits.storm_errors
        and each.span_s >= quiet_s / 2
        and each.last_s <= ctx.limits.old_s
        for each in storms
    )


def errors_rising(ctx: Context) -> Verdict | None:
    """Requests failed in the last ten minutes: more than a few, and more than the usual share of all."""
    limits = ctx.limits
    for trail in ctx.trails:
        for each in _found(ctx, trail, limits.errors_window_s):
            if each.new < limits.errors_new or each.share < limits.errors_share:
                continue
            window = duration(limits.errors_window_s)
            return Verdict(
                Judgement.WATCH,
                "errors_rising",
                f"Keep an eye on it: {count(each.new)} {each.what} in the last {window}.",
                sentences(
                    f"That is {percent(each.share)} of what ended in that time ({count(each.done)} ended well).",
                    _so_far(ctx),
                    f"The job's last word of trouble: {trail.trouble}" if trail.trouble else None,
                    ctx.speed_sentence(),
                ),
                next_look=ctx.now + timedelta(seconds=limits.errors_window_s),
            )
    return None


def _so_far(ctx: Context) -> str | None:
    run = ctx.current
    if run is None or not run.errors:
        return None
    return f"{plural(run.errors, 'error')} in {run.name} so far, {percent(run.errors / (run.errors + run.done_run))}."
