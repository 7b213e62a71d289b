"""The past of a run as its history has it, for who only looks: a console may be writing the file meanwhile."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from console.history_rows import time_of
from console.history_samples import EtaSample
from console.job.reading_back import NoReading
from console.job.snapshot import Judgement
from console.job.timeline_changes import LASTS, Change, told_once
from console.job.timeline_marks import Mark, MarkKind
from console.recorder import READING_EVERY, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

    from console.job.snapshot import Snapshot

_BUSY_S = 2.0
"""Seconds to wait while a console writes."""

UNWATCHED = READING_EVERY + timedelta(minutes=1)
"""A time without anything kept is one in which no console looked when it is longer than this."""

_WITH_PAST = 3
"""The version of the file from which on it holds what happened, and readings."""


@dataclass(frozen=True, slots=True)
class Past:
    """What is known of a run's past.

    Attributes:
        changes: The verdicts, oldest first.
        marks: What happened beside, oldest first.
        etas: Ends told, oldest first.
        unwatched: From when to when no console looked.
        until: When anything was kept last; None when nothing was.
        trouble: Why it can't be read, as a sentence; empty while all is well.
    """

    changes: tuple[Change, ...] = ()
    marks: tuple[Mark, ...] = ()
    etas: tuple[EtaSample, ...] = ()
    unwatched: tuple[tuple[datetime, datetime], ...] = ()
    until: datetime | None = None
    trouble: str = ""


def past_of(path: Path) -> Past:
    """Read a run's past; nothing when there is no history, with the reason when it can't be read."""
    if not path.exists():
        return Past()
    try:
        with closing(_opened(path)) as base:
            return _read(base)
    except (sqlite3.Error, ValueError, OverflowError) as error:
        return Past(trouble=f"The past in {path} can't be read ({error}).")


def reading_near(path: Path, at: datetime) -> Snapshot | None:
    """The reading that was kept last at or before a moment, else the first one after it; None when there is none."""
    return _reading(path, at, ("at <= ? ORDER BY at DESC", "at > ? ORDER BY at"))


def reading_beside(path: Path, at: datetime, *, back: bool) -> Snapshot | None:
    """The reading kept before the one of a moment, or after it; None when there is none."""
    return _reading(path, at, ("at < ? ORDER BY at DESC",) if back else ("at > ? ORDER BY at",))


def _reading(path: Path, at: datetime, wanted: Iterable[str]) -> Snapshot | None:
    if not path.exists():
        return None
    try:
        with closing(_opened(path)) as base:
            if not _has_past(base):
                return None
            for where in wanted:
                row = base.execute(f"SELECT packed FROM readings WHERE {where} LIMIT 1", (at.timestamp(),)).fetchone()  # noqa: S608 - words of ours
                if row is not None:
                    return unpacked(row[0])
    except (sqlite3.Error, NoReading):
        return None  # what can't be read was not kept, for who looks back
    return None


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_S)


def _has_past(base: sqlite3.Connection) -> bool:
    return int(base.execute("PRAGMA user_version").fetchone()[0]) >= _WITH_PAST


def _read(base: sqlite3.Connection) -> Past:
    judged = base.execute("SELECT at, verdict, cause FROM verdicts ORDER BY at").fetchall()
    changes = [Change(time_of(at), Judgement(verdict), cause, "") for at, verdict, cause in judged]
    etas = base.execute("SELECT at, eta, low, high FROM etas ORDER BY at").fetchall()
    ends = tuple(
        EtaSample(time_of(at), time_of(eta), *(None if end is None else time_of(end) for end in ends))
        for at, eta, *ends in etas
    )
    if not _has_past(base):
        return Past(told_once(_lasting(changes)), (), ends)
    told = base.execute("SELECT at, verdict, cause, headline FROM changes ORDER BY at").fetchall()
    kept = [Change(time_of(at), Judgement(verdict), cause, words) for at, verdict, cause, words in told]
    former = [change for change in _lasting(changes) if not kept or change.at < kept[0].at]
    rows = base.execute("SELECT at, kind, what, name, count, who FROM marks ORDER BY at").fetchall()
    known = {kind.value for kind in MarkKind}
    marks = tuple(Mark(time_of(at), MarkKind(kind), *words) for at, kind, *words in rows if kind in known)
    return Past(told_once((*former, *kept)), marks, ends, tuple(_unwatched(base, marks)), _newest(base))


def _lasting(changes: list[Change]) -> list[Change]:
    """Those that held for a while: a console that reads its logs at the start says another thing every moment."""
    after = [*changes[1:], None]
    return [one for one, then in zip(changes, after, strict=True) if then is None or then.at - one.at >= LASTS]


def _unwatched(base: sqlite3.Connection, marks: Iterable[Mark]) -> Iterable[tuple[datetime, datetime]]:
    """The times before a console was opened back to what was kept last before it."""
    for mark in marks:
        if mark.kind is MarkKind.OPENED:
            until = _newest(base, mark.at)
            if until is not None and mark.at - until > UNWATCHED:
                yield until, mark.at


def _newest(base: sqlite3.Connection, before: datetime | None = None) -> datetime | None:
    """When anything was kept last, before a moment; None when nothing was."""
    limit = before.timestamp() if before is not None else float("inf")
    rows = [
        base.execute(f"SELECT max(at) FROM {table} WHERE at < ?", (limit,)).fetchone()[0]  # noqa: S608 - names of ours
        for table in ("server", "readings")
    ]
    known = [at for at in rows if at is not None]
    return time_of(max(known)) if known else None
