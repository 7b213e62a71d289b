"""What happened in a run beside its verdicts: datasets, processes, errors, the link, the server's health. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from console.job.units import duration, plural, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from console.job.snapshot import LogView, Snapshot

ERRORS_EVERY = timedelta(minutes=1)
"""At most one mark of failed requests of a dataset per this."""

MOST = 2_000
"""Marks that are kept, the newest."""

_SAME = timedelta(minutes=2)
"""Within this a mark that is told twice is one: by the log as it dates it, and by the process table as it was asked."""


class MarkKind(StrEnum):
    """What a mark is about."""

    BEGAN = "began"
    """A dataset began."""
    ENDED = "ended"
    """A dataset ended."""
    ERRORS = "errors"
    """Requests failed for good."""
    JOB_STARTED = "job started"
    """A process of the job began."""
    JOB_GONE = "job gone"
    """The host has no process of the job."""
    SERVER_STARTED = "server started"
    """A process of the server began."""
    SERVER_TROUBLE = "server trouble"
    """The server's log told of a failure."""
    LINK_LOST = "link lost"
    """The host could no longer be seen."""
    LINK_BACK = "link back"
    """It can be seen again."""
    HEALTH_FAILS = "health fails"
    """The server's health page did not answer well."""
    HEALTH_OK = "health ok"
    """It does again."""
    LOG_GAP = "log gap"
    """Bytes of a log are gone."""
    OPENED = "opened"
    """A console began to look; before, nobody did."""
    ACT = "act"
    """Something was done to the job or the server, or refused."""
    NOTE = "note"
    """The operator's own words."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened.

    Attributes:
        at: When.
        kind: What it is about.
        what: In a few words, without the time.
        name: The dataset, log or process that it is about; empty when there is none.
        count: How many; 0 where nothing is counted.
        by: Who; empty when it was nobody.
    """

    at: datetime
    kind: MarkKind
    what: str
    name: str = ""
    count: int = 0
    by: str = ""


def dated_marks(snapshot: Snapshot) -> tuple[Mark, ...]:
    """The marks that the logs themselves date: a console that reads them late knows them all the same."""
    course = snapshot.course
    states = {view.name: view.state.value for view in snapshot.datasets}
    told = [Mark(at, MarkKind.JOB_STARTED, "the job was started") for at in course.job_starts]
    told += [Mark(at, MarkKind.SERVER_STARTED, "the server was started") for at in course.server_starts]
    for span in course.spans:
        # A dataset that was skipped began and ended at once; that it began is no news.
        if span.began_at is not None and span.began_at != span.ended_at:
            told.append(Mark(span.began_at, MarkKind.BEGAN, f"{span.name} began", span.name))
        if span.ended_at is not None:
            told.append(Mark(span.ended_at, MarkKind.ENDED, f"{span.name}: {states.get(span.name, 'done')}", span.name))
    return tuple(sorted(told, key=lambda mark: mark.at))


def marks_once(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """Marks of any source in the order of time; one that is told twice counts once. The newest ``MOST``."""
    kept: list[Mark] = []
    newest: dict[tuple[MarkKind, str, str], datetime] = {}
    for mark in sorted(marks, key=lambda each: each.at):
        told_again = mark.kind not in {MarkKind.ACT, MarkKind.NOTE, MarkKind.ERRORS, MarkKind.LOG_GAP}
        key = (mark.kind, mark.name, "" if told_again else f"{mark.what}\n{mark.by}")
        former = newest.get(key)
        if former is not None and mark.at - former <= (_SAME if told_again else timedelta()):
            continue
        newest[key] = mark.at
        kept.append(mark)
    return tuple(kept[-MOST:])


@dataclass(slots=True)
class Marker:
    """Takes snapshots as they come, and gives what happened between them that no log dates."""

    _failed: dict[str, tuple[int, datetime | None]] = field(default_factory=dict)
    _lost: dict[str, int] = field(default_factory=dict)
    _link: str = ""
    _link_lost: datetime | None = None
    _failing: datetime | None = None
    _pid: int | None = None
    _alive: bool | None = None
    _trouble: str = ""
    _opened: bool = False

    def take(self, snapshot: Snapshot) -> list[Mark]:
        """The marks that this snapshot makes; none for most."""
        if snapshot.link.state == "connecting" and not self._opened:
            return []
        opened = [] if self._opened else [Mark(snapshot.at, MarkKind.OPENED, "a console was opened")]
        self._opened = True
        return [
            *opened,
            *self._link_marks(snapshot),
            *self._health_marks(snapshot),
            *self._job_marks(snapshot),
            *self._server_marks(snapshot),
            *self._error_marks(snapshot),
            *(mark for log in snapshot.logs for mark in self._gap_marks(log, snapshot.at)),
        ]

    def _link_marks(self, snapshot: Snapshot) -> Iterator[Mark]:
        link = snapshot.link
        broken = link.state in {"lost", "refused", "connecting"}
        if broken and self._link_lost is None and self._link == "up":
            self._link_lost = link.since or snapshot.at
            why = f": {link.reason}" if link.reason else ""
            yield Mark(self._link_lost, MarkKind.LINK_LOST, f"link lost{why}")
        if link.state == "up" and self._link_lost is not None:
            back = link.since or snapshot.at
            gone_s = max(0.0, (back - self._link_lost).total_seconds())
            self._link_lost = None
            yield Mark(back, MarkKind.LINK_BACK, f"link back after {duration(gone_s)}", count=round(gone_s))
        self._link = "up" if link.state == "up" else self._link

    def _health_marks(self, snapshot: Snapshot) -> Iterator[Mark]:
        health = snapshot.health
        if health.state == "failing" and self._failing is None:
            self._failing = health.failing_since or snapshot.at
            answer = health.error or f"answered {health.status}"
            yield Mark(self._failing, MarkKind.HEALTH_FAILS, f"health failed: {answer}")
        if health.state == "ok" and self._failing is not None:
            back = health.checked_at or snapshot.at
            failed_s = max(0.0, (back - self._failing).total_seconds())
            self._failing = None
            yield Mark(back, MarkKind.HEALTH_OK, f"health ok again after {duration(failed_s)}", count=round(failed_s))

    def _job_marks(self, snapshot: Snapshot) -> Iterator[Mark]:
        job = snapshot.job
        if job.alive and self._pid is not None and job.pid not in {None, self._pid}:
            yield Mark(job.started_at or snapshot.at, MarkKind.JOB_STARTED, "the job was started")
        if job.alive is False and self._alive and not job.finished:
            yield Mark(job.checked_at or snapshot.at, MarkKind.JOB_GONE, "the job's process is gone")
        if job.alive is not None:
            self._alive = job.alive
            self._pid = job.pid if job.alive else self._pid

    def _server_marks(self, snapshot: Snapshot) -> Iterator[Mark]:
        trouble = snapshot.server.trouble
        if trouble and trouble != self._trouble:
            yield Mark(snapshot.server.updated_at or snapshot.at, MarkKind.SERVER_TROUBLE, f"server: {trouble}")
        self._trouble = trouble

    def _error_marks(self, snapshot: Snapshot) -> Iterator[Mark]:
        for view in snapshot.datasets:
            at = view.updated_at or snapshot.at
            # What had failed when a console first looks failed at some time before, and was marked by who saw it.
            count, told_at = self._failed.setdefault(view.name, (view.errors, None))
            soon = told_at is not None and timedelta() <= at - told_at < ERRORS_EVERY
            if view.errors < count:  # another process of the job counts from 0 again
                self._failed[view.name] = (view.errors, at)
            elif view.errors > count and not soon:
                self._failed[view.name] = (view.errors, at)
                more = view.errors - count
                what = f"{view.name}: {plural(more, 'request')} failed"
                yield Mark(at, MarkKind.ERRORS, what, view.name, more)

    def _gap_marks(self, log: LogView, at: datetime) -> Iterator[Mark]:
        before = self._lost.get(log.source, 0)
        if log.lost_bytes > before:
            lost = log.lost_bytes - before
            yield Mark(at, MarkKind.LOG_GAP, f"{size(lost)} of the {log.source}'s log are gone", log.source, lost)
        self._lost[log.source] = log.lost_bytes
