"""All that a console remembers of a run while it is open: what it saw itself, and what was kept before it began."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort_right
from operator import attrgetter
from typing import TYPE_CHECKING

from console.history_past import UNWATCHED, Past
from console.job.lines import clean
from console.job.snapshot import Judgement
from console.job.timeline_changes import Change, told_once
from console.job.timeline_marks import MOST, Mark, MarkKind, marks_once
from console.job.timeline_view import timeline_of
from console.journal import Kind
from console.journal_words import told
from console.recorder import PackedReading, Recorder, unpacked
from console.since import Known

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from console.job.snapshot import Snapshot
    from console.job.timeline_view import Timeline
    from console.journal import Entry

MOST_READINGS = 1_000
"""Readings held in memory, 1.3 MB: three days and a half; older ones give way, and are in the history."""

_taken_at = attrgetter("at")

_ACTS = frozenset({Kind.ACTION, Kind.REFUSAL, Kind.PROOF, Kind.INTENT})


class Chronicle:
    """What a console remembers; fed with snapshots, journal entries and the past of the history."""

    def __init__(self) -> None:
        self._recorder = Recorder()
        self._changes: list[Change] = []
        self._marks: list[Mark] = []
        self._readings: list[PackedReading] = []
        self._past = Past()
        self._entries: tuple[Entry, ...] = ()
        self._joined: tuple[tuple[Change, ...], tuple[Mark, ...]] | None = None
        self.began: datetime | None = None
        """When this console saw the run first; None before."""

    # ------------------------------------------------------------ what comes in

    def take(self, snapshot: Snapshot) -> bool:
        """Take in what is shown; whether anything is remembered of it."""
        if self.began is None and snapshot.link.state != "connecting":
            self.began = snapshot.at
        happened = self._recorder.take(snapshot)
        for one in happened:
            match one:
                case Change():
                    self._changes.append(one)
                case Mark():
                    self._marks.append(one)
                case PackedReading():
                    insort_right(self._readings, one, key=_taken_at)  # the clock may have been put back meanwhile
        del self._changes[:-MOST], self._marks[:-MOST], self._readings[:-MOST_READINGS]
        if happened:
            self._joined = None
        return bool(happened)

    def recall(self, past: Past) -> None:
        """Take up what was kept before."""
        self._past, self._joined = past, None

    def note(self, entries: Sequence[Entry]) -> None:
        """Take in the journal as it stands."""
        self._entries, self._joined = told(entries), None

    # ------------------------------------------------------------ what is asked

    @property
    def known_from(self) -> datetime | None:
        """From when on verdicts are known; None before the first."""
        changes, _ = self._all()
        return changes[0].at if changes else None

    @property
    def trouble(self) -> str:
        """Why the past can't be read; empty while all is well."""
        return self._past.trouble

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The journal's newest entries, oldest first."""
        return self._entries

    @property
    def changes(self) -> tuple[Change, ...]:
        """The verdicts, oldest first."""
        return self._all()[0]

    @property
    def marks(self) -> tuple[Mark, ...]:
        """What happened beside, oldest first; without what the logs date."""
        return self._all()[1]

    @property
    def unwatched(self) -> tuple[tuple[datetime, datetime], ...]:
        """From when to when no console looked."""
        until, began = self._past.until, self.began
        last = ((until, began),) if until is not None and began is not None and began - until > UNWATCHED else ()
        return (*self._past.unwatched, *last)

    def timeline(self, snapshot: Snapshot) -> Timeline:
        """The run on a line of time."""
        changes, marks = self._all()
        return timeline_of(snapshot, changes, marks, self.unwatched)

    def reading_near(self, at: datetime) -> Snapshot | None:
        """The newest reading of this console's own at or before a moment; None when it holds none so old."""
        place = bisect_right(self._readings, at, key=_taken_at)
        return unpacked(self._readings[place - 1].packed) if place else None

    def reading_beside(self, at: datetime, *, back: bool) -> Snapshot | None:
        """Its own reading before the one of a moment, or after it; None when it holds none."""
        place = bisect_left(self._readings, at, key=_taken_at)
        if back:
            return unpacked(self._readings[place - 1].packed) if place else None
        place = bisect_right(self._readings, at, key=_taken_at)
        return unpacked(self._readings[place].packed) if place < len(self._readings) else None

    def _all(self) -> tuple[tuple[Change, ...], tuple[Mark, ...]]:
        """Changes and marks of all sources, each once; made anew only after something came."""
        if self._joined is None:
            known = self._past.changes or changes_of(self._entries)
            own = self._changes
            before = [each for each in known if not own or each.at < own[0].at]
            seen = [each for each in self._past.marks if self.began is None or each.at < self.began]
            # The console of a run without a history has opened nothing that was closed before.
            marks = [each for each in (*seen, *self._marks) if each.kind is not MarkKind.OPENED or seen]
            self._joined = (told_once((*before, *own)), marks_once((*marks, *marks_of(self._entries))))
        return self._joined


def known_of(chronicle: Chronicle) -> Known:
    """What a chronicle knows of the past, for ``since``."""
    return Known(chronicle.changes, chronicle.marks, chronicle.entries, chronicle.unwatched)


def changes_of(entries: Iterable[Entry]) -> tuple[Change, ...]:
    """The verdicts that the journal holds."""
    found: list[Change] = []
    known = {judgement.value for judgement in Judgement}
    for entry in entries:
        if entry.kind == Kind.VERDICT and entry.more.get("verdict") in known:
            cause = clean(str(entry.more.get("cause", "")))
            found.append(Change(entry.at, Judgement(entry.more["verdict"]), cause, clean(entry.outcome)))
    return told_once(found)


def marks_of(entries: Iterable[Entry]) -> tuple[Mark, ...]:
    """Acts and notes of the journal."""
    found: list[Mark] = []
    for entry in entries:
        if entry.kind == Kind.NOTE:
            found.append(Mark(entry.at, MarkKind.NOTE, clean(entry.what), by=clean(entry.user)))
        elif entry.kind in _ACTS:
            outcome = f": {entry.outcome}" if entry.outcome else ""
            found.append(Mark(entry.at, MarkKind.ACT, clean(f"{entry.what}{outcome}"), by=clean(entry.user)))
    return tuple(found)
