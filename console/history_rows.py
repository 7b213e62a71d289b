"""A history's rows: what is written of a run, and how it is read back."""

from __future__ import annotations

import zlib
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from console.history_samples import EtaSample, ServerSample, VerdictSample
from console.job.events import LogLine, Source
from console.job.timeline_changes import Change
from console.job.timeline_marks import Mark
from console.recorder import PackedReading
from remote.frames import Cursor
from remote.log_cursor import CommandCursor

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from console.history_samples import Sample
    from console.recorder import Remembered

KEPT_LINES = 5_000
"""Lines kept per source: what a log pane holds."""

LINE_CHARS = 4_096
"""Characters kept of a line: longer ones are dumps of a server's arguments, which nobody looks for here."""

KEPT_EVENTS = 5_000
"""Changes of the verdict that are kept, and marks: weeks of them."""

KEPT_READINGS = 4_000
"""Whole readings that are kept, some 5 MB: two weeks of one each five minutes."""

KEPT_SAMPLES_S = 31 * 86_400.0
"""Seconds that the server's figures are kept."""


AnyCursor = Cursor | CommandCursor
"""How far a log was read that is a file, or a command's output."""


class Place(NamedTuple):
    """One followed log.

    Attributes:
        source: Whose.
        path: On the host; or the command that prints it, in its own words.
    """

    source: Source
    path: str


@dataclass(frozen=True, slots=True)
class Restored:
    """What a former console left.

    Attributes:
        cursors: How far each log was read.
        state: What was derived from it until there; for ``Tracker.thaw``.
        lines: The newest lines of all logs, in the order in which they came.
        saved_at: When.
    """

    cursors: Mapping[Place, AnyCursor]
    state: bytes
    lines: tuple[LogLine, ...]
    saved_at: datetime


def restored(base: sqlite3.Connection) -> Restored | None:
    """What was saved last; None when nothing was.

    Raises:
        sqlite3.DatabaseError: The file is damaged; likewise ``zlib.error`` and ``ValueError``.
    """
    row = base.execute("SELECT saved_at, packed FROM state").fetchone()
    if row is None:
        return None
    cursors: dict[Place, AnyCursor] = {
        Place(Source(source), path): Cursor(inode, offset, mark)
        for source, path, inode, offset, mark in base.execute("SELECT * FROM cursors")
    }
    for source, command, cursor in base.execute("SELECT * FROM commands"):
        cursors[Place(Source(source), command)] = CommandCursor.from_text(cursor)
    lines = tuple(
        LogLine(Source(source), text, time_of(at), level)
        for source, text, at, level in base.execute("SELECT source, text, at, level FROM lines ORDER BY id")
    )
    return Restored(cursors, zlib.decompress(row[1]), lines, time_of(row[0]))


def forget(base: sqlite3.Connection) -> None:
    """Drop all that goes with the cursors."""
    for table in ("cursors", "commands", "state", "lines"):
        base.execute(f"DELETE FROM {table}")  # noqa: S608  (names of our own)


def put_state(base: sqlite3.Connection, packed: bytes, at: datetime) -> None:
    """Keep the state, packed."""
    base.execute("INSERT OR REPLACE INTO state VALUES (1, ?, ?)", (at.timestamp(), packed))


def put_cursors(base: sqlite3.Connection, cursors: Mapping[Place, AnyCursor]) -> None:
    """Keep how far the logs were read."""
    for place, at in cursors.items():
        whose = (place.source.value, place.path)
        if isinstance(at, CommandCursor):
            base.execute("INSERT OR REPLACE INTO commands VALUES (?, ?, ?)", (*whose, at.text))
        else:
            base.execute(
                "INSERT OR REPLACE INTO cursors VALUES (?, ?, ?, ?, ?)", (*whose, at.inode, at.offset, at.mark)
            )


def put_lines(base: sqlite3.Connection, lines: Sequence[LogLine]) -> None:
    """Keep the newest lines of each source, with those that are there already."""
    by_source: dict[Source, int] = defaultdict(int)
    newest: list[LogLine] = []
    for line in reversed(lines):
        by_source[line.source] += 1
        if by_source[line.source] <= KEPT_LINES:
            newest.append(line)
    rows = [(line.source.value, line.at.timestamp(), line.level, _shortened(line.text)) for line in reversed(newest)]
    base.executemany("INSERT INTO lines (source, at, level, text) VALUES (?, ?, ?, ?)", rows)
    for source in by_source:
        base.execute(
            "DELETE FROM lines WHERE source = ?1 AND id <= "
            "(SELECT id FROM lines WHERE source = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
            (source.value, KEPT_LINES),
        )


def put_samples(base: sqlite3.Connection, samples: Iterable[Sample | Remembered]) -> None:
    """Keep figures and what happened; the server's figures are dropped after a month, of the rest the newest stay."""
    for sample in samples:
        at = sample.at.timestamp()
        match sample:
            case Change():
                told = (at, sample.verdict.value, sample.cause, sample.headline)
                base.execute("INSERT INTO changes VALUES (?, ?, ?, ?)", told)
                _drop(base, "changes", KEPT_EVENTS)
            case Mark():
                row = (at, sample.kind.value, _shortened(sample.what), sample.name, sample.count, sample.by)
                base.execute("INSERT INTO marks VALUES (?, ?, ?, ?, ?, ?)", row)
                _drop(base, "marks", KEPT_EVENTS)
            case PackedReading():
                base.execute("INSERT OR REPLACE INTO readings VALUES (?, ?)", (at, sample.packed))
                _drop(base, "readings", KEPT_READINGS)
            case ServerSample():
                figures = (at, sample.running, sample.queue, sample.usage, sample.throughput)
                base.execute("INSERT INTO server VALUES (?, ?, ?, ?, ?)", figures)
                base.execute("DELETE FROM server WHERE at < ?", (at - KEPT_SAMPLES_S,))
            case VerdictSample():
                base.execute("INSERT INTO verdicts VALUES (?, ?, ?)", (at, sample.verdict, sample.cause))
            case EtaSample():
                ends = (sample.eta.timestamp(), *(end and end.timestamp() for end in (sample.low, sample.high)))
                base.execute("INSERT INTO etas VALUES (?, ?, ?, ?)", (at, *ends))


def _drop(base: sqlite3.Connection, table: str, kept: int) -> None:
    """Drop a table's oldest rows."""
    base.execute(
        f"DELETE FROM {table} WHERE at < (SELECT at FROM {table} ORDER BY at DESC LIMIT 1 OFFSET ?)",  # noqa: S608 - a name of ours
        (kept - 1,),
    )


def time_of(seconds: float) -> datetime:
    """A time as it is kept, back."""
    return datetime.fromtimestamp(seconds, UTC)


def _shortened(text: str) -> str:
    return text if len(text) <= LINE_CHARS else text[: LINE_CHARS - 1] + "…"
