"""Events folded into what is known: ``state = apply(state, stamped)``. Duplicates change nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from console.job.events import (
    Completion,
    Heartbeat,
    HostClock,
    MachineMissing,
    MachineSeen,
    ProcessFact,
    RequestFailed,
    Source,
)
from console.job.host_state import HostState, apply_host
from console.job.job_state import JOB_EVENTS, JobTrail, apply_job, new_process
from console.job.machine_state import MachineState, apply_machine
from console.job.server_state import SERVER_EVENTS, ServerState, apply_server
from console.job.source_clock import SourceClock

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.events import Stamped

_STAMP_STEP = timedelta(seconds=1)
"""Stamps in logs are whole seconds."""

_CATCHING_UP = timedelta(seconds=20)
"""What comes this soon after the link is up again was written while it was away."""


@dataclass(frozen=True, slots=True)
class State:
    """All that was told so far.

    Attributes:
        log: The job, by its log.
        progress: The job, by ``progress.jsonl``.
        server: The server.
        host: Health, connection, process, files.
        server_clock: The clock of the server's log.
        job_clock: The clock of the job's log, or of ``progress.jsonl`` where only that is read.
        machine: The host itself: load, memory, disk, GPUs.
    """

    log: JobTrail = field(default_factory=JobTrail)
    progress: JobTrail = field(default_factory=JobTrail)
    server: ServerState = field(default_factory=ServerState)
    host: HostState = field(default_factory=HostState)
    server_clock: SourceClock = field(default_factory=SourceClock)
    job_clock: SourceClock = field(default_factory=SourceClock)
    machine: MachineState = field(default_factory=MachineState)


def apply(state: State, stamped: Stamped, *, source: Source | None = None, seen_at: datetime | None = None) -> State:
    """Fold one event.

    Args:
        state: What was known.
        stamped: What is said, and its own time.
        source: Where it stands; None lets the kind of event decide, which is right for hand-made ones.
        seen_at: When the console saw it; its own time when not given.
    """
    seen_at = stamped.at if seen_at is None else seen_at
    event = stamped.event
    if type(event) in JOB_EVENTS:
        if source is Source.PROGRESS or (source is None and isinstance(event, Completion | Heartbeat | RequestFailed)):
            return replace(state, progress=apply_job(state.progress, stamped))
        return replace(state, log=apply_job(state.log, stamped))
    if type(event) in SERVER_EVENTS:
        return replace(state, server=apply_server(state.server, event, stamped.at, seen_at))
    if isinstance(event, HostClock):
        server, job = state.server_clock.measured(event.offset_s), state.job_clock.measured(event.offset_s)
        return replace(state, server_clock=server, job_clock=job)
    if isinstance(event, MachineSeen | MachineMissing):
        machine = apply_machine(state.machine, event, stamped.at)
        return state if machine is state.machine else replace(state, machine=machine)
    host = apply_host(state.host, event, stamped.at)
    if host is not state.host:
        state = replace(state, host=host)
    return _replaced_process(state, event) if isinstance(event, ProcessFact) else state


def heard(state: State, source: Source, at: datetime, seen_at: datetime) -> State:
    """Learn from a stamped line how the log's clock stands."""
    link = state.host.link
    backlog = link.up_at is not None and timedelta() <= seen_at - link.up_at < _CATCHING_UP
    if source is Source.SERVER:
        clock = state.server_clock.heard(at, seen_at, backlog=backlog)
        return state if clock is state.server_clock else replace(state, server_clock=clock)
    if source is Source.PROGRESS and state.log.datasets:
        return state
    clock = state.job_clock.heard(at, seen_at, backlog=backlog)
    return state if clock is state.job_clock else replace(state, job_clock=clock)


def set_back(state: State, source: Source, at: datetime, by_s: float) -> State:
    """A log's clock was found to be set back.

    Args:
        state: What was known.
        source: Which log's.
        at: When that was seen.
        by_s: By how many seconds.
    """
    known = state.server_clock if source is Source.SERVER else state.job_clock
    clock = known.set_back(at, by_s)
    if clock is known:
        return state
    return replace(state, server_clock=clock) if source is Source.SERVER else replace(state, job_clock=clock)


def _replaced_process(state: State, event: ProcessFact) -> State:
    """A job that does not say when it begins anew is known by its process's start time."""
    if not event.alive or event.started_at is None:
        return state
    return replace(
        state, log=_renewed(state.log, event.started_at), progress=_renewed(state.progress, event.started_at)
    )


def _renewed(trail: JobTrail, started_at: datetime) -> JobTrail:
    begun = [at for run in trail.datasets for at in (run.announced_at, run.started_at) if at is not None]
    newest = max([*begun, *([trail.run_started_at] if trail.run_started_at else [])], default=None)
    # Stamps are whole seconds, a process's start is not: the process began up to a second before its first line.
    since = started_at - _STAMP_STEP
    if newest is None:
        return replace(trail, run_started_at=since) if trail.datasets else trail
    return new_process(trail, since) if since > newest + _STAMP_STEP else trail
