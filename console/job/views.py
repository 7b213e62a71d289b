"""What is known, judged and laid out: ``State`` in, ``Snapshot`` out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from console.job.advice import NO_END, judge
from console.job.advice_rules.context import Context
from console.job.dataset_views import dataset_view
from console.job.estimate import Estimate, estimate
from console.job.host_events import Source
from console.job.host_views import SourceCount, health_view, job_view, link_view, log_view
from console.job.job_merge import merged
from console.job.server_views import server_view
from console.job.snapshot import DatasetState, Eta, Snapshot
from console.job.speed import speed
from console.job.work_left import work_left

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from console.job.dataset_run import DatasetRun
    from console.job.limits import Limits
    from console.job.plan import Plan
    from console.job.snapshot import LogView
    from console.job.state import State


@dataclass(frozen=True, slots=True)
class Seen:
    """What the tracker knows beside the state.

    Attributes:
        plan: The run as planned.
        counts: Source to how much of it was read.
        limits: The thresholds of advice.
    """

    plan: Plan
    counts: Mapping[Source, SourceCount]
    limits: Limits


def snapshot_of(state: State, seen: Seen, now: datetime) -> Snapshot:
    """Everything the screen may show at ``now``."""
    runs = merged(state.log, state.progress, seen.plan)
    reckoned = reckon(state, runs, now)
    heard = any(count.lines for count in seen.counts.values())
    ctx = Context(
        now=now,
        state=state,
        runs=runs,
        server=server_view(state.server, state.server_clock, now),
        health=health_view(state.host.health),
        link=link_view(state.host.link, seen.plan.host, heard=heard),
        job=job_view(state.host.process, state.log, state.progress),
        ends=reckoned.by_dataset,
        host=seen.plan.host,
        limits=seen.limits,
    )
    verdict = judge(ctx)
    if verdict.cause in NO_END:
        reckoned = Estimate(replace(_NONE_MADE, tokens_left=reckoned.whole.tokens_left))
    return Snapshot(
        at=now,
        verdict=verdict,
        eta=reckoned.whole,
        datasets=tuple(dataset_view(run, reckoned.by_dataset) for run in runs),
        server=ctx.server,
        health=ctx.health,
        link=ctx.link,
        job=ctx.job,
        logs=_logs(state, seen),
    )


_NONE_MADE = Eta(basis="No tokens are made now, so no end can be told.")


def _logs(state: State, seen: Seen) -> tuple[LogView, ...]:
    sources = [Source.SERVER, Source.JOB]
    if seen.counts.get(Source.PROGRESS) or state.host.source(Source.PROGRESS):
        sources.append(Source.PROGRESS)
    return tuple(log_view(source, seen.counts.get(source, SourceCount()), state.host) for source in sources)


def reckon(state: State, runs: tuple[DatasetRun, ...], now: datetime) -> Estimate:
    """When it will be done, as far as can be told."""
    left = work_left(runs, state.server)
    if not runs:
        return Estimate(Eta(basis="Nothing has been seen of the run yet."))
    if not left:
        end = max((run.state_at for run in runs if run.state_at is not None), default=None)
        return Estimate(Eta(at=end, low=end, high=end, basis="The run is done.", tokens_left=0))
    if not any(run.state is not DatasetState.WAITING for run in runs):
        return Estimate(Eta(basis="No dataset has begun yet, so no end can be told."))
    finished = job_view(state.host.process, state.log, state.progress).finished
    if finished:
        return Estimate(Eta(basis="The job does not run, so no end can be told."))
    found = speed(state.server.throughput, max(state.log.tokens, state.progress.tokens, key=len))
    return estimate(left, found, _anchor(state, runs, now), now)


def _anchor(state: State, runs: tuple[DatasetRun, ...], now: datetime) -> datetime:
    """The moment of which the dataset's counts are true, on the console's clock."""
    working = [run for run in runs if run.state in {DatasetState.RUNNING, DatasetState.LOADING}]
    times = [run.updated_at for run in working if run.updated_at is not None]
    return min(now, state.job_clock.on_our_clock(max(times))) if times else now
