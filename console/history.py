"""What a console has learned of a run, kept on this machine: a restarted one goes on at the byte where it stopped.

One transaction holds the place in each log and all that was derived from the bytes before it, so that whatever
happens to the console, nothing is missing and nothing counts twice. A history is a convenience: whatever goes wrong
with it is told in a sentence (``trouble``, ``notices``), and the console goes on without::

    history = History.open(history_path(host.name, paths))
    tracker = Tracker(plan)
    restored = history.load()
    if restored is not None and not tracker.thaw(restored.state):
        history.forget()                  # from a changed program: the logs are read anew
        restored = None
    cursors = dict(restored.cursors) if restored else {}      # where ``follow`` or ``follow_command`` goes on

    # In the event loop, without an await between feeding a chunk and moving its cursor:
    lines += tracker.feed(source, chunk.data, now)
    cursors[Place(source, path)] = chunk.cursor               # for a Reset: ``reset.cursor``
    history.note(snapshot)                                    # as often as there is one

    # Every ``history.pause_s`` seconds when something changed, and at the end:
    frozen, lines = tracker.freeze(), []
    await asyncio.to_thread(history.save, dict(cursors), frozen, lines, now)
    history.close()
"""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from typing import TYPE_CHECKING

from console.history_file import Unusable, connect, lock, move_aside
from console.history_name import history_path, run_key
from console.history_rows import (
    Place,
    Restored,
    forget,
    put_cursors,
    put_lines,
    put_samples,
    put_state,
    restored,
    time_of,
)
from console.history_samples import Sampler, ServerSample
from console.recorder import Recorder
from remote.log_cursor import CommandCursor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from console.history_rows import AnyCursor
    from console.history_samples import Sample
    from console.job.events import LogLine
    from console.job.snapshot import Snapshot
    from console.recorder import Remembered

__all__ = ["History", "Place", "Restored", "history_path", "run_key"]

SAVE_S = 2.0
"""Seconds between two saves while things change."""

BYTES_PER_S = 20_000
"""What saving may write on average: 2 GB a day at most, little for any disk. A large state is saved less often; what
a crash then costs is only that some more of the logs is read again."""

CPU_SHARE = 0.02
"""Share of the time that saving may take."""


class History:
    """The history of one run; made by ``open``.

    Nothing here raises because of the file. Calls may come from any thread, one at a time.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: int | None = None
        self._base: sqlite3.Connection | None = None
        self._sampler = Sampler()
        self._recorder = Recorder()
        self._samples: list[Sample | Remembered] = []
        self.trouble = ""
        """Why nothing is kept any more, as a sentence; empty while all is well."""
        self.notices: list[str] = []
        """Sentences for the operator that were not told yet; who tells them takes them away."""
        self.pause_s = SAVE_S
        """Seconds to leave between this save and the next."""

    @classmethod
    def open(cls, path: Path) -> History:
        """Open a run's history; where that can't be, the result keeps nothing and its ``trouble`` says why."""
        history = cls(path)
        try:
            history._lock = lock(path)
            history._base, notice = connect(path)
        except Unusable as error:
            history._stop(str(error))
        else:
            history.notices += [notice] if notice else []
        return history

    @property
    def keeps(self) -> bool:
        """Whether what is saved is kept."""
        return self._base is not None

    def load(self) -> Restored | None:
        """What the last console saved; None when there is nothing (of use)."""
        if self._base is None:
            return None
        try:
            return restored(self._base)
        except sqlite3.OperationalError as error:
            self._stop(f"The history can't be read ({error}); it is kept no more.")
        except (sqlite3.DatabaseError, zlib.error, ValueError, OverflowError) as error:
            self._begin_anew(str(error))
        return None

    def forget(self) -> None:
        """Drop cursors, state and lines: they came from another version of this program. Samples stay."""
        if self._write(forget) and self._base is not None:
            self.notices.append("What the last console had read is of another version or plan; the logs are read anew.")

    def note(self, snapshot: Snapshot) -> bool:
        """Take in what the screen shows; of this, few figures are kept, with the next save.

        Returns:
            Whether something happened that is worth a save of its own, also while no line comes.
        """
        if self._base is None:
            return False
        happened = self._recorder.take(snapshot)
        self._samples += (*self._sampler.take(snapshot), *happened)
        return bool(happened)

    def save(self, cursors: Mapping[Place, AnyCursor], state: bytes, lines: Sequence[LogLine], at: datetime) -> bool:
        """Keep how far each log was read, with what was derived from exactly these bytes.

        Args:
            cursors: The place in each log; a log that is missing here keeps its former one.
            state: ``Tracker.freeze()``, taken together with the cursors.
            lines: The lines that came since the last save, in order.
            at: The time now.

        Returns:
            False when it was not kept; ``trouble`` says why.
        """
        began = time.perf_counter()
        samples = tuple(self._samples)
        del self._samples[: len(samples)]  # more may be added meanwhile, from the event loop's thread
        packed = zlib.compress(state, 1)

        def write(base: sqlite3.Connection) -> None:
            put_cursors(base, cursors)
            put_state(base, packed, at)
            put_lines(base, lines)
            put_samples(base, samples)

        kept = self._write(write)
        took = time.perf_counter() - began
        size = len(packed) + sum(len(at.seen) for at in cursors.values() if isinstance(at, CommandCursor))
        self.pause_s = max(SAVE_S, size / BYTES_PER_S, took / CPU_SHARE)
        return kept

    def server_samples(self) -> tuple[ServerSample, ...]:
        """The server's figures of the past weeks, oldest first."""
        if self._base is None:
            return ()
        try:
            rows = self._base.execute("SELECT * FROM server ORDER BY at").fetchall()
        except sqlite3.DatabaseError:
            return ()
        return tuple(ServerSample(time_of(at), *figures) for at, *figures in rows)

    def close(self) -> None:
        """End; what was saved stays."""
        base, self._base = self._base, None
        held, self._lock = self._lock, None
        try:
            if base is not None:
                base.close()
        finally:
            if held is not None:
                os.close(held)

    def _write(self, write: Callable[[sqlite3.Connection], None]) -> bool:
        """Do something whole or not at all."""
        base = self._base
        if base is None:
            return False
        try:
            base.execute("BEGIN IMMEDIATE")
            try:
                write(base)
                base.execute("COMMIT")
            except BaseException:
                if base.in_transaction:  # a full disk makes SQLite roll back by itself
                    base.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            self._stop(f"The history in {self._path.parent} is kept no more ({error}); the console goes on without.")
            return False
        return True

    def _begin_anew(self, why: str) -> None:
        """The file turned out to be damaged: put it aside and go on with an empty one."""
        if self._base is not None:
            self._base.close()
            self._base = None
        try:
            aside = move_aside(self._path)
            self._base, _ = connect(self._path)
        except Unusable as error:
            self._stop(str(error))
        else:
            self.notices.append(f"The history was damaged ({why}); it was moved to {aside} and begins anew.")

    def _stop(self, why: str) -> None:
        self.close()
        self._samples.clear()
        self.trouble = why
        self.notices.append(why)
