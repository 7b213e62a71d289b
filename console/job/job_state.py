"""The job, folded from the events of one of its logs.

The job speaks twice: in its log and in ``progress.jsonl``. Each is folded by itself into a ``JobTrail``, by the
same rules, and ``console.job.job_merge`` lays the two side by side; so nothing can be counted twice.

Duplicates are harmless: figures are absolute and only grow within a process, a process begins at most once per
time stamp, and a single completion is known by its prompt's id.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from console.job import job_events as ev
from console.job.dataset_fold import DATASET_HANDLERS, is_news
from console.job.dataset_run import AT_WORK, FINAL, DatasetRun
from console.job.failure_kinds import FailureKinds
from console.job.series import Series
from console.job.snapshot import DatasetState
from console.job.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from console.job.events import Event, Stamped

UNNAMED = "prompts"
"""The name of the one dataset of a job whose log names none."""

_STARTS = 16
"""Starts that are kept, to see a job that starts again and again."""

_TOLD_TWICE = timedelta(seconds=30)
"""A process says its first words within this of its start: loading its libraries takes seconds."""

_DISK = ("No space left on device", "Disk quota exceeded", "ENOSPC", "disk is full")
"""How a full disk reads."""


@dataclass(frozen=True, slots=True)
class JobTrail:
    """What one log of the job has told so far.

    Attributes:
        datasets: In the order in which they appeared.
        order: Names in the order in which the job means to do them; empty when it did not say.
        current: The dataset at work; empty before the first.
        run_started_at: When the newest process began, by its own word.
        pid: Its process id.
        finished: ``done``, ``stopped`` or ``failed``; empty while it runs or when it ended without a word.
        finished_at: When.
        exit_code: Its exit code.
        zone_offset_s: Seconds east of UTC, as the job said; None when it did not.
        trouble: The newest line that says that something went wrong.
        trouble_at: When.
        trouble_ends: That line is one that a process writes as it dies.
        tokens: Completion tokens over all datasets, against time.
        errors: Requests failed for good in the newest process, against time; the load is the prompts done by then.
        updated_at: The newest word.
        starts: When processes of the job began, the newest last.
        revived: Those of them that followed one which died.
        anew: The process before the newest one had done all: the newest begins another run.
        failed: Attempts of requests that failed, whether tried again or not; the load is the prompts done by then.
        troubles: Lines of trouble, likewise.
        server: The job's newest word on the server: ``gone``, ``fails`` or ``back``; empty before any.
        server_since: Since when.
        server_at: When it said so last.
        disk: The newest line about a full disk, of the newest process; empty when there is none.
        disk_at: When.
        kinds: The failed attempts by dataset and kind.
    """

    datasets: tuple[DatasetRun, ...] = ()
    order: tuple[str, ...] = ()
    current: str = ""
    run_started_at: datetime | None = None
    pid: int | None = None
    finished: str = ""
    finished_at: datetime | None = None
    exit_code: int | None = None
    zone_offset_s: int | None = None
    trouble: str = ""
    trouble_at: datetime | None = None
    tokens: Series = field(default_factory=lambda: Series(step_s=20.0))
    errors: Series = field(default_factory=lambda: Series(step_s=10.0))
    updated_at: datetime | None = None
    trouble_ends: bool = False
    starts: tuple[datetime, ...] = ()
    revived: tuple[datetime, ...] = ()
    anew: bool = False
    failed: Tally = field(default_factory=Tally)
    troubles: Tally = field(default_factory=Tally)
    server: str = ""
    server_since: datetime | None = None
    server_at: datetime | None = None
    disk: str = ""
    disk_at: datetime | None = None
    kinds: FailureKinds = field(default_factory=FailureKinds)

    @property
    def done(self) -> int:
        """Prompts done over all datasets."""
        return sum([run.done for run in self.datasets])

    def find(self, name: str) -> DatasetRun | None:
        """The dataset of that name."""
        return next((run for run in self.datasets if run.name == name), None)

    def having(self, run: DatasetRun) -> tuple[DatasetRun, ...]:
        """The datasets with this one in its place, or at the end when it is new."""
        for place, known in enumerate(self.datasets):
            if known.name == run.name:
                return (*self.datasets[:place], run, *self.datasets[place + 1 :])
        return (*self.datasets, run)


def apply_job(trail: JobTrail, stamped: Stamped) -> JobTrail:
    """Fold one event of the job; others change nothing."""
    event, at = stamped.event, stamped.at
    if handle := DATASET_HANDLERS.get(type(event)):
        name = event.name or trail.current or UNNAMED  # type: ignore[union-attr]  # every event in that table has a name
        known = trail.find(name)
        if isinstance(event, ev.RequestFailed):
            failed = trail.failed.add(at, (name, event.prompt_id, event.attempt), trail.done)
            if failed is not trail.failed:
                trail = replace(trail, failed=failed, kinds=trail.kinds.add(name, event))
        run = handle(known or DatasetRun(name), event, at)
        if run is known:
            return trail
        if run.updated_at != at or run.guessed != stamped.guessed:
            run = replace(run, updated_at=_later(run.updated_at, at), guessed=stamped.guessed)
        return _told(_announced(trail, known, at) if isinstance(event, ev.DatasetAnnounced) else trail, run, at)
    if change := _JOB_HANDLERS.get(type(event)):
        return change(trail, event, at)
    return trail


def new_process(trail: JobTrail, at: datetime) -> JobTrail:
    """The job's process was replaced at ``at``: counts start anew, what was done stays done."""
    reopened = tuple(_interrupted(run, at) for run in trail.datasets)
    begun = _begun(trail, at)
    return replace(begun, datasets=reopened, current="", run_started_at=at, pid=None, finished="", finished_at=None)


def _begun(trail: JobTrail, at: datetime) -> JobTrail:
    """A process began: what the one before it had said of its troubles is over."""
    ended = trail.finished == "done" or (bool(trail.datasets) and all(run.state in FINAL for run in trail.datasets))
    starts, revived = trail.starts, trail.revived
    if not _is_told_twice(trail, at):
        starts = (*starts, at)[-_STARTS:]
        revived = (*revived, at)[-_STARTS:] if trail.trouble_ends or trail.finished == "failed" else revived
    return replace(
        trail, starts=starts, revived=revived, anew=ended, trouble_ends=False, server="", disk="", disk_at=None
    )


def _announced(trail: JobTrail, known: DatasetRun | None, at: datetime) -> JobTrail:
    """A dataset was announced: by the first process, by the same one, or again, and so by another one."""
    if known is not None and _comes_again(trail, known):
        return _begun(trail, at)
    return trail if trail.starts else replace(trail, starts=(at,))


def _is_told_twice(trail: JobTrail, at: datetime) -> bool:
    """Whether this is the start that is known: the process table and the job's own first line tell of the same."""
    if not trail.starts or at - trail.starts[-1] > _TOLD_TWICE:
        return False
    return not any(run.announced_at is not None and run.announced_at >= trail.starts[-1] for run in trail.datasets)


def _comes_again(trail: JobTrail, known: DatasetRun) -> bool:
    """Whether a dataset that is announced now was announced by the same process before: so it is another process."""
    return known.announced_at is not None and (not trail.starts or known.announced_at >= trail.starts[-1])


def _interrupted(run: DatasetRun, at: datetime) -> DatasetRun:
    if run.state in FINAL:
        return run
    return run.reopened().turned(DatasetState.WAITING, at)


def _told(trail: JobTrail, run: DatasetRun, at: datetime) -> JobTrail:
    """File a changed dataset; the one that was at work before it gives up its ids, unless both are."""
    at_work = run.state in AT_WORK
    if at_work and trail.current not in {"", run.name} and (former := trail.find(trail.current)):
        if _overlaps(former, run):
            at_work = False
        elif not (former.completed and _overlaps(run, former)):
            trail = replace(trail, datasets=trail.having(former.closed()))
    datasets = trail.having(run)
    tokens = sum([each.tokens or 0 for each in datasets])
    return replace(
        trail,
        datasets=datasets,
        current=run.name if at_work else trail.current,
        tokens=trail.tokens.add(at, tokens) if tokens else trail.tokens,
        errors=trail.errors.add(at, sum([each.errors for each in datasets]), sum([each.done for each in datasets])),
        finished="" if at_work and is_news(at, trail.finished_at) else trail.finished,
        updated_at=_later(trail.updated_at, at),
    )


def _overlaps(newer: DatasetRun, older: DatasetRun) -> bool:
    """Whether both are at work, ``newer`` announced after ``older``.

    A job fills the places that the last requests of a dataset leave free with those of the next one.
    """
    if newer.announced_at is None or older.announced_at is None or {newer.state, older.state} & FINAL:
        return False
    return newer.announced_at > older.announced_at


def _later(known: datetime | None, at: datetime) -> datetime:
    return at if known is None else max(known, at)


def _run_started(trail: JobTrail, event: ev.RunStarted, at: datetime) -> JobTrail:
    if not is_news(at, trail.run_started_at):
        return trail
    fresh = new_process(trail, at)
    return replace(fresh, pid=event.pid, order=event.datasets or trail.order, updated_at=_later(trail.updated_at, at))


def _run_finished(trail: JobTrail, event: ev.RunFinished, at: datetime) -> JobTrail:
    if trail.run_started_at is not None and at < trail.run_started_at:
        return trail
    ended = tuple(
        run.closed().turned(DatasetState.STOPPED, at) if run.state in AT_WORK else run for run in trail.datasets
    )
    return replace(
        trail,
        datasets=ended,
        finished=event.reason,
        finished_at=at,
        exit_code=event.exit_code,
        updated_at=_later(trail.updated_at, at),
    )


def _zone(trail: JobTrail, event: ev.JobZone, _at: datetime) -> JobTrail:
    return replace(trail, zone_offset_s=event.utc_offset_s)


def _trouble(trail: JobTrail, event: ev.JobTrouble, at: datetime) -> JobTrail:
    if trail.trouble_at is not None and at < trail.trouble_at:
        return trail
    disk = any(words in event.message for words in _DISK)
    return replace(
        trail,
        trouble=event.message,
        trouble_at=at,
        trouble_ends=event.ends,
        troubles=trail.troubles.add(at, event.message, trail.done),
        disk=event.message if disk else trail.disk,
        disk_at=at if disk else trail.disk_at,
        updated_at=_later(trail.updated_at, at),
    )


def _server_word(trail: JobTrail, event: ev.ServerWord, at: datetime) -> JobTrail:
    if not is_news(at, trail.server_at):
        return trail
    state = event.state if event.state != "still" else trail.server or "gone"
    since = trail.server_since if state == trail.server else at
    return replace(trail, server=state, server_since=since, server_at=at, updated_at=_later(trail.updated_at, at))


_JOB_HANDLERS: dict[type[Event], Callable[[JobTrail, Event, datetime], JobTrail]] = {
    ev.RunStarted: _run_started,  # type: ignore[dict-item]
    ev.RunFinished: _run_finished,  # type: ignore[dict-item]
    ev.JobZone: _zone,  # type: ignore[dict-item]
    ev.JobTrouble: _trouble,  # type: ignore[dict-item]
    ev.ServerWord: _server_word,  # type: ignore[dict-item]
}

JOB_EVENTS = frozenset({*DATASET_HANDLERS, *_JOB_HANDLERS})
"""The kinds of events that the job's logs tell."""
