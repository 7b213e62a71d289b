"""The job, folded from the events of one of its logs.

The job speaks twice: in its log and in ``progress.jsonl``. Each is folded by itself into a ``JobTrail``, by the
same rules, and ``console.job.job_merge`` lays the two side by side; so nothing can be counted twice.

Duplicates are harmless: figures are absolute and only grow within a process, a process begins at most once per
time stamp, and a single completion is known by its prompt's id.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from console.job import job_events as ev
from console.job.dataset_fold import DATASET_HANDLERS, is_news
from console.job.dataset_run import FINAL, DatasetRun
from console.job.series import Series
from console.job.snapshot import DatasetState

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from console.job.events import Event, Stamped

UNNAMED = "prompts"
"""The name of the one dataset of a job whose log names none."""


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
        tokens: Completion tokens over all datasets, against time.
        errors: Requests failed for good in the newest process, against time.
        updated_at: The newest word.
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
        run = handle(known or DatasetRun(name), event, at)
        if run is known:
            return trail
        if run.updated_at != at or run.guessed != stamped.guessed:
            run = replace(run, updated_at=_later(run.updated_at, at), guessed=stamped.guessed)
        return _told(trail, run, at)
    if change := _JOB_HANDLERS.get(type(event)):
        return change(trail, event, at)
    return trail


def new_process(trail: JobTrail, at: datetime) -> JobTrail:
    """The job's process was replaced at ``at``: counts start anew, what was done stays done."""
    reopened = tuple(_interrupted(run, at) for run in trail.datasets)
    return replace(trail, datasets=reopened, current="", run_started_at=at, pid=None, finished="", finished_at=None)


def _interrupted(run: DatasetRun, at: datetime) -> DatasetRun:
    if run.state in FINAL:
        return run
    return run.reopened().turned(DatasetState.WAITING, at)


def _told(trail: JobTrail, run: DatasetRun, at: datetime) -> JobTrail:
    """File a changed dataset; the one that was at work before it gives up its ids."""
    at_work = run.state in {DatasetState.LOADING, DatasetState.RUNNING}
    if at_work and trail.current not in {"", run.name} and (former := trail.find(trail.current)):
        trail = replace(trail, datasets=trail.having(former.closed()))
    datasets = trail.having(run)
    tokens = sum([each.tokens or 0 for each in datasets])
    return replace(
        trail,
        datasets=datasets,
        current=run.name if at_work else trail.current,
        tokens=trail.tokens.add(at, tokens) if tokens else trail.tokens,
        errors=trail.errors.add(at, sum([each.errors for each in datasets])),
        finished="" if at_work and is_news(at, trail.finished_at) else trail.finished,
        updated_at=_later(trail.updated_at, at),
    )


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
    at_work = {DatasetState.LOADING, DatasetState.RUNNING}
    ended = tuple(
        run.closed().turned(DatasetState.STOPPED, at) if run.state in at_work else run for run in trail.datasets
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
    return replace(trail, trouble=event.message, trouble_at=at, updated_at=_later(trail.updated_at, at))


_JOB_HANDLERS: dict[type[Event], Callable[[JobTrail, Event, datetime], JobTrail]] = {
    ev.RunStarted: _run_started,  # type: ignore[dict-item]
    ev.RunFinished: _run_finished,  # type: ignore[dict-item]
    ev.JobZone: _zone,  # type: ignore[dict-item]
    ev.JobTrouble: _trouble,  # type: ignore[dict-item]
}

JOB_EVENTS = frozenset({*DATASET_HANDLERS, *_JOB_HANDLERS})
"""The kinds of events that the job's logs tell."""
