"""Health, connection, process and logs as the screen shows them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from console.job.host_events import Source
from console.job.host_state import BAD
from console.job.snapshot import HealthView, JobView, LinkView, LogView

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from console.job.host_events import SourceFact
    from console.job.host_state import HealthState, HostState, LinkState, ProcessState
    from console.job.job_state import JobTrail


@dataclass(frozen=True, slots=True)
class SourceCount:
    """How much of one log was read.

    Attributes:
        lines: Lines read.
        unparsed: Of these, lines that no format understood.
        lost_bytes: Bytes known to be gone.
        last_at: The newest line's own time.
    """

    lines: int = 0
    unparsed: int = 0
    lost_bytes: int = 0
    last_at: datetime | None = None


def health_view(health: HealthState) -> HealthView:
    """The newest health check."""
    probe = health.probe
    if probe is None:
        return HealthView()
    return HealthView(
        state="ok" if probe.ok else "failing",
        path=probe.path,
        status=probe.status,
        latency_s=probe.latency_s,
        checked_at=health.at,
        error=probe.error,
        failing_since=health.failing_since,
    )


def link_view(link: LinkState, host: str, *, heard: bool) -> LinkView:
    """The connection; without a state when there is none (a replay: lines came, and no word of a connection)."""
    fact = link.fact
    if fact is None:
        return LinkView(state="" if heard else "connecting", host=host)
    return LinkView(fact.state, link.since, fact.reason, fact.attempt, fact.next_try_at, fact.latency_s, host)


def job_view(process: ProcessState, log: JobTrail, progress: JobTrail) -> JobView:
    """The batch process: the process table's word, and the job's own where that was not asked."""
    fact = process.fact
    finished = finished_word(log, progress)
    pid = progress.pid if progress.pid is not None else log.pid
    if fact is None:
        return JobView(pid=pid, started_at=progress.run_started_at or log.run_started_at, finished=finished)
    return JobView(
        pid=fact.pid,
        alive=fact.alive,
        started_at=fact.started_at,
        command=fact.command,
        script_sha256=fact.script_sha256,
        adopted=fact.adopted,
        checked_at=process.at,
        finished=finished,
    )


def finished_word(log: JobTrail, progress: JobTrail) -> str:
    """How the job ended by its own word; empty while it runs, also when it has begun anew since."""
    for one, other in ((progress, log), (log, progress)):
        if one.finished and one.finished_at and not _begun_after(one.finished_at, other):
            return one.finished
    return ""


def _begun_after(at: datetime, trail: JobTrail) -> bool:
    begun = [trail.run_started_at, *(run.started_at for run in trail.datasets)]
    return any(time is not None and time > at for time in begun)


def log_view(source: Source, count: SourceCount, host: HostState) -> LogView:
    """How well one log is seen."""
    files = host.files(source)
    bad = [each for each in files if each.state in BAD]
    fact = bad[-1] if bad else host.source(source)
    state = "following" if count.lines else ""
    if fact is not None:
        state = fact.state if fact.state in BAD else "following"
    return LogView(
        source=source.value,
        state=state,
        path=fact.path if fact else "",
        reason=_reason(fact, len(bad), len(files)) if fact else "",
        lines=count.lines,
        understood=1 - count.unparsed / count.lines if count.lines else None,
        lost_bytes=count.lost_bytes,
        updated_at=count.last_at,
    )


def _reason(fact: SourceFact, bad: int, files: int) -> str:
    """Why a log is not followed; of several files, how many are not."""
    return f"{bad} of {files} files: {fact.reason}" if bad and files > 1 else fact.reason


def with_shapes(
    logs: tuple[LogView, ...], unparsed: Callable[[Source], tuple[tuple[str, int], ...]]
) -> tuple[LogView, ...]:
    """Add to each log what was not understood of it.

    Args:
        logs: The logs.
        unparsed: Gives a log's shapes and their counts.
    """
    return tuple(replace(log, shapes=unparsed(Source(log.source))) for log in logs)
