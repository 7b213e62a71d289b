"""What is known, judged and laid out: ``State`` in, ``Snapshot`` out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from console.job.advice import NO_END, judge
from console.job.advice_rules.context import Context
from console.job.dataset_run import FINAL
from console.job.dataset_views import dataset_view
from console.job.forecasts import RUN, Forecasts
from console.job.host_events import Source
from console.job.host_views import SourceCount, health_view, job_view, link_view, log_view
from console.job.machine_view import machine_view
from console.job.pace import pace_at
from console.job.reckon import Reckoned, reckon
from console.job.server_views import server_view
from console.job.snapshot import Eta, Snapshot
from console.job.timeline_course import course_of
from console.job.told import Told

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from console.job.dataset_run import DatasetRun
    from console.job.limits import Limits
    from console.job.plan import Plan
    from console.job.snapshot import LogView, Verdict
    from console.job.state import State


@dataclass(frozen=True, slots=True)
class Seen:
    """What the tracker knows beside the state.

    Attributes:
        runs: The datasets, by all that was told of them.
        plan: The run as planned.
        counts: Source to how much of it was read.
        limits: The thresholds of advice.
        forecasts: What was said of the ends, and when.
    """

    runs: tuple[DatasetRun, ...]
    plan: Plan
    counts: Mapping[Source, SourceCount]
    limits: Limits
    forecasts: Forecasts = field(default_factory=Forecasts)


def judged(state: State, seen: Seen, now: datetime) -> Verdict:
    """The verdict alone, by the ends that were reckoned last: a small part of a snapshot's time."""
    return judge(_context(state, seen, Reckoned(Eta(), seen.forecasts.newest()), now, history=False))


def reckoned_of(state: State, seen: Seen, now: datetime) -> Reckoned:
    """When it will be done: the greater part of a snapshot's time."""
    return reckon(state, seen.runs, seen.plan, seen.limits.first_completions, now)


def snapshot_of(state: State, seen: Seen, reckoned: Reckoned, now: datetime) -> Snapshot:
    """Everything the screen may show at ``now``.

    Args:
        state: What was told.
        seen: What the tracker knows beside it.
        reckoned: When it will be done.
        now: The moment.
    """
    runs = seen.runs
    ctx = _context(state, seen, reckoned, now)
    verdict = judge(ctx)
    whole, ends = reckoned.whole, reckoned.ends
    if verdict.cause in NO_END:
        whole, ends = replace(_NONE_MADE, tokens_left=whole.tokens_left), {}
    # Where no server is seen, nothing is known of what is in flight, and the finished answers must speak for all.
    beliefs = reckoned.beliefs if ctx.server.updated_at is not None else {}
    return Snapshot(
        at=now,
        verdict=verdict,
        eta=replace(whole, score=seen.forecasts.score().words()),
        datasets=tuple(dataset_view(run, ends.get(run.name), beliefs.get(run.name)) for run in runs),
        server=ctx.server,
        health=ctx.health,
        link=ctx.link,
        job=ctx.job,
        logs=_logs(state, seen),
        restart=ctx.restart_job() if runs else None,
        first_due=reckoned.first_due,
        restart_server=ctx.restart_server() if runs else None,
        machine=machine_view(state.machine),
        course=course_of(state, runs),
    )


def kept(state: State, seen: Seen, reckoned: Reckoned, now: datetime) -> Forecasts:
    """What was said of the ends, with what is said now, and with the ends that have come."""
    runs, forecasts = seen.runs, seen.forecasts
    if not forecasts.due(now) and all(run.state not in FINAL for run in runs if not forecasts.has_ended(run.name)):
        return forecasts
    for run in runs:
        if run.state in FINAL and run.state_at is not None:
            forecasts = forecasts.ended(run.name, state.job_clock.on_our_clock(run.state_at))
        elif forecasts.has_ended(run.name):
            forecasts = forecasts.reopened(run.name)
    whole = reckoned.whole
    if runs and all(run.state in FINAL for run in runs) and whole.at is not None:
        return forecasts.ended(RUN, state.job_clock.on_our_clock(whole.at))
    ranges = dict(reckoned.ends)
    if whole.at is not None and whole.low is not None and whole.high is not None:
        ranges[RUN] = Told(now, whole.low, whole.at, whole.high)
    return forecasts.told(now, ranges)


def _context(state: State, seen: Seen, reckoned: Reckoned, now: datetime, *, history: bool = True) -> Context:
    heard = any(count.lines for count in seen.counts.values())
    return Context(
        now=now,
        state=state,
        runs=seen.runs,
        server=server_view(state.server, state.server_clock, now, history=history, limits=seen.limits),
        health=health_view(state.host.health),
        link=link_view(state.host.link, seen.plan.host, heard=heard),
        job=job_view(state.host.process, state.log, state.progress),
        ends={name: told.middle for name, told in reckoned.ends.items()},
        host=seen.plan.host,
        limits=seen.limits,
        pace=pace_at(state.server, state.server_clock, now, seen.limits),
        plan=seen.plan,
        told=seen.forecasts.of(RUN),
        first_due=reckoned.first_due,
    )


_NONE_MADE = Eta(basis="No tokens are made now, so no end can be told.")


def _logs(state: State, seen: Seen) -> tuple[LogView, ...]:
    sources = [Source.SERVER, Source.JOB]
    if seen.counts.get(Source.PROGRESS) or state.host.source(Source.PROGRESS):
        sources.append(Source.PROGRESS)
    return tuple(log_view(source, seen.counts.get(source, SourceCount()), state.host) for source in sources)
