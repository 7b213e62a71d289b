"""What of the snapshots that pass by is worth remembering: changes of the verdict, marks, and a reading now and then.

One recorder feeds the history on disk, another the console's own memory of what it saw; no I/O.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from console.job.reading import reading
from console.job.reading_back import NoReading, snapshot_of
from console.job.timeline_changes import Change, ChangeLog
from console.job.timeline_marks import Mark, Marker

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.snapshot import Snapshot

READING_EVERY = timedelta(minutes=5)
"""How often a whole reading is kept: 55 hours make 660 of them, of some 1.3 kB each: less than a megabyte."""

READING_LEAST = timedelta(seconds=30)
"""At most so often, when something changes between: a verdict that flutters must not fill the disk."""


@dataclass(frozen=True, slots=True)
class PackedReading:
    """All that was known at a moment, as it is kept.

    Attributes:
        at: When.
        packed: The reading's JSON, compressed.
    """

    at: datetime
    packed: bytes


Remembered = Change | Mark | PackedReading
"""One thing that is kept."""


def packed(snapshot: Snapshot) -> PackedReading:
    """A reading as it is kept; without the lines that were not understood, which are the greater part of it."""
    logs = tuple(replace(log, shapes=()) for log in snapshot.logs)
    text = json.dumps(reading(replace(snapshot, logs=logs)), separators=(",", ":"))
    return PackedReading(snapshot.at, zlib.compress(text.encode(), 6))


def unpacked(kept: bytes) -> Snapshot:
    """A reading that was kept.

    Raises:
        NoReading: It is damaged.
    """
    try:
        return snapshot_of(json.loads(zlib.decompress(kept)))
    except (zlib.error, ValueError) as error:
        raise NoReading(str(error)) from error


@dataclass(slots=True)
class Recorder:
    """Takes snapshots as they come and gives the little that is kept."""

    _changes: ChangeLog = field(default_factory=ChangeLog)
    _marker: Marker = field(default_factory=Marker)
    _read_at: datetime | None = None
    _stands: tuple[object, ...] = ()

    def take(self, snapshot: Snapshot) -> list[Remembered]:
        """What this snapshot adds; nothing for most."""
        change = self._changes.take(snapshot)
        marks = self._marker.take(snapshot)
        read = [packed(snapshot)] if self._is_due(snapshot) else []
        return [*([change] if change else []), *marks, *read]

    def _is_due(self, snapshot: Snapshot) -> bool:
        """Whether a reading is to be kept now; the first one comes when a verdict has held for a while."""
        newest = self._changes.told[-1] if self._changes.told else None
        if newest is None:
            return False
        states = tuple((view.name, view.state) for view in snapshot.datasets)
        stands = (newest, states, snapshot.job.pid)
        least = READING_EVERY if stands == self._stands else READING_LEAST
        if self._read_at is not None and timedelta() <= snapshot.at - self._read_at < least:
            return False
        self._read_at, self._stands = snapshot.at, stands
        return True
