"""What happened since somebody last looked: changes, datasets, errors, processes, the link, the end, acts. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.job.timeline_changes import Change
from console.job.timeline_marks import Mark, MarkKind, dated_marks, marks_once
from console.journal import Kind
from console.journal_words import told
from console.since_eta import NEWS_S, ended

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from console.job.snapshot import Snapshot
    from console.journal import Entry
    from console.since_eta import Ended

THEN_S = 900.0
"""A reading of up to so many seconds before somebody looked away stands for what was seen then."""

EARLIEST_S = 900.0
"""Likewise one of up to so many seconds after, when none was kept before."""

HAPPENED = frozenset(
    {
        MarkKind.JOB_STARTED,
        MarkKind.JOB_GONE,
        MarkKind.SERVER_STARTED,
        MarkKind.SERVER_TROUBLE,
        MarkKind.HEALTH_FAILS,
        MarkKind.HEALTH_OK,
        MarkKind.LOG_GAP,
    }
)
"""Marks that are told as what happened to processes."""


@dataclass(frozen=True, slots=True)
class Since:
    """What happened between two moments.

    Attributes:
        begin: When somebody last looked.
        end: Now.
        before: The verdict that held at the begin; None when it is not known.
        changes: Changes of the verdict, oldest first.
        now: The verdict at the end.
        began: Datasets that began, with when.
        ended: Datasets that ended, with when and how.
        done: Prompts done between; None when it is not known what was done before.
        failed: Dataset to the requests that failed for good, those with any.
        marks: What happened to processes, health and logs, oldest first.
        gaps: From when to when the link was lost; an end of None is one that lasts.
        eta: The run's end, then and now.
        acts: What was done and refused, by whom, oldest first.
        notes: The operators' own words.
        unwatched: From when to when no console looked, so that of this time only the logs tell.
    """

    begin: datetime
    end: datetime
    before: Change | None
    changes: tuple[Change, ...]
    now: Change
    began: tuple[Mark, ...] = ()
    ended: tuple[Mark, ...] = ()
    done: int | None = None
    failed: tuple[tuple[str, int], ...] = ()
    marks: tuple[Mark, ...] = ()
    gaps: tuple[tuple[datetime, datetime | None], ...] = ()
    eta: Ended | None = None
    acts: tuple[Entry, ...] = ()
    notes: tuple[Entry, ...] = ()
    unwatched: tuple[tuple[datetime, datetime], ...] = ()

    @property
    def seconds(self) -> float:
        """How long it was."""
        return (self.end - self.begin).total_seconds()

    @property
    def happened(self) -> bool:
        """Whether anything did that is worth a card: more prompts done, and an end that stays, are not."""
        moved_s = self.eta.moved_s if self.eta is not None else None
        moved = moved_s is not None and abs(moved_s) >= max(NEWS_S, 0.1 * self._left_s)
        told = (self.changes, self.began, self.ended, self.failed, self.marks, self.gaps, self.acts, self.notes)
        return moved or any(told)

    @property
    def _left_s(self) -> float:
        """Seconds that were left by what was told at the begin."""
        then = self.eta.then.at if self.eta is not None and self.eta.then is not None else None
        return max(0.0, (then - self.begin).total_seconds()) if then is not None else 0.0


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a run's past, for ``since``.

    Attributes:
        changes: The verdicts, oldest first.
        marks: What happened beside; what the logs date need not be among them.
        entries: The journal's, in any order.
        unwatched: From when to when no console looked.
    """

    changes: Sequence[Change] = ()
    marks: Sequence[Mark] = ()
    entries: Sequence[Entry] = ()
    unwatched: tuple[tuple[datetime, datetime], ...] = ()


def since(then: Snapshot | None, now: Snapshot, known: Known, begin: datetime) -> Since:
    """What happened from ``begin`` up to ``now.at``.

    Args:
        then: The reading at the begin, or near it; None when none was kept.
        now: The reading at the end.
        known: What is known of the time between.
        begin: When somebody last looked.
    """
    end = max(begin, now.at)
    then = then if then is not None and _stands_for(then, begin) else None
    marks = [mark for mark in marks_once((*known.marks, *dated_marks(now))) if begin < mark.at <= end]
    entries = [entry for entry in told(known.entries) if begin < entry.at <= end]
    verdict = now.verdict
    newest = Change(verdict.since or now.at, verdict.verdict, verdict.cause, verdict.headline)
    before = next((change for change in reversed(known.changes) if change.at <= begin), None)
    if before is None and then is not None:
        at = then.verdict.since or then.at
        before = Change(at, then.verdict.verdict, then.verdict.cause, then.verdict.headline)
    return Since(
        begin,
        end,
        before,
        tuple(change for change in known.changes if begin < change.at <= end),
        newest,
        tuple(mark for mark in marks if mark.kind is MarkKind.BEGAN),
        tuple(mark for mark in marks if mark.kind is MarkKind.ENDED),
        _done(then, now),
        _failed(then, now, marks),
        tuple(mark for mark in marks if mark.kind in HAPPENED),
        tuple(_gaps(marks)),
        ended(then, now, marks),
        tuple(entry for entry in entries if entry.kind in {Kind.ACTION, Kind.REFUSAL, Kind.PROOF, Kind.INTENT}),
        tuple(entry for entry in entries if entry.kind == Kind.NOTE),
        tuple((max(b, begin), min(e, end)) for b, e in known.unwatched if b < end and e > begin),
    )


def _stands_for(then: Snapshot, begin: datetime) -> bool:
    """Whether a reading was taken near enough to the moment."""
    return -THEN_S <= (then.at - begin).total_seconds() <= EARLIEST_S


def _done(then: Snapshot | None, now: Snapshot) -> int | None:
    """Prompts done between; None when it is not known what was done before."""
    if then is None or (now.datasets and not then.datasets):
        return None
    before = {view.name: view.done for view in then.datasets}
    return sum(max(0, view.done - before.get(view.name, 0)) for view in now.datasets)


def _failed(then: Snapshot | None, now: Snapshot, marks: Iterable[Mark]) -> tuple[tuple[str, int], ...]:
    """Requests that failed, by dataset: by the two readings, else by what was noted between."""
    found: dict[str, int] = {}
    known_then = then is not None and bool(then.datasets)
    if then is not None and known_then:
        before = {view.name: view.errors for view in then.datasets}
        for view in now.datasets:
            # Another process of the job counts from 0 again: what it counts is new then.
            known = before.get(view.name, 0)
            found[view.name] = view.errors - known if view.errors >= known else view.errors
    for mark in () if known_then else marks:
        if mark.kind is MarkKind.ERRORS:
            found[mark.name] = found.get(mark.name, 0) + mark.count
    return tuple((name, number) for name, number in found.items() if number)


def _gaps(marks: Iterable[Mark]) -> Iterator[tuple[datetime, datetime | None]]:
    """From when to when the link was lost."""
    lost: datetime | None = None
    for mark in marks:
        if mark.kind is MarkKind.LINK_LOST and lost is None:
            lost = mark.at
        elif mark.kind is MarkKind.LINK_BACK and lost is not None:
            yield lost, mark.at
            lost = None
    if lost is not None:
        yield lost, None
