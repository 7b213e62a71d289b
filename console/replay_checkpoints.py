"""Where a replay may begin anew: a tracker's state every half hour of the log, put aside in a file without a name.

A state of days has a megabyte or two, most of which the states before and after it have too: long runs of figures, of
which only the newest grows. Each run is written once, and a checkpoint names its runs by number. Of what is on disk
a replay holds no more in memory than the runs of the newest checkpoint and of the one that was read last, which the
trackers that came from them hold anyway.
"""

from __future__ import annotations

import errno
import io
import os
import tempfile
import weakref
import zlib
from array import array
from bisect import bisect_right
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from console.job.frozen import pack_run, unpack_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

CHECKPOINT_EVERY = timedelta(minutes=30)
"""Log time between two checkpoints: a jump costs at most thirty steps, a third of a second, and the checkpoints of
two days take some 10 MB of the folder for temporary files."""

_COUNT = "I"
"""An array's type for numbers of runs."""


class Frozen(NamedTuple):
    """A tracker's state.

    Attributes:
        packed: It, without what is shared.
        shared: What it has in common with the states before and after it.
    """

    packed: bytes
    shared: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """All that was known at a point of the grid.

    Attributes:
        at: The point.
        places: Each log's next line.
        shelved: Where the tracker's state lies.
    """

    at: datetime
    places: tuple[int, ...]
    shelved: Place


class Place(NamedTuple):
    """Where something lies on the shelf.

    Attributes:
        offset: Of its first byte.
        size: Bytes.
    """

    offset: int
    size: int


class Checkpoints:
    """The checkpoints of some logs; may be shared by several replays of them."""

    def __init__(self) -> None:
        self._kept: list[Checkpoint] = []
        self._shelf = Shelf()
        self._runs = _Runs(self._shelf)
        self._full = False

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def bytes_aside(self) -> int:
        """Bytes that were put aside."""
        return self._shelf.size

    @property
    def runs_at_hand(self) -> int:
        """Runs of figures that are held in memory."""
        return self._runs.at_hand

    def before(self, moment: datetime) -> Checkpoint | None:
        """The newest one at or before a moment."""
        place = bisect_right(self._kept, moment, key=lambda each: each.at)
        return self._kept[place - 1] if place else None

    def is_due(self, at: datetime) -> bool:
        """Whether none covers this moment yet, and there is room for one."""
        newest = self.before(at)
        return not self._full and (newest is None or at - newest.at >= CHECKPOINT_EVERY)

    def keep(self, at: datetime, places: Sequence[int], frozen: Frozen) -> None:
        """Remember a point of the grid. Where the disk is full none is kept any more: jumps then take longer."""
        try:
            runs = self._runs.put(frozen.shared)
            shelved = self._shelf.put(len(runs).to_bytes(4, "little") + runs.tobytes() + frozen.packed)
        except OSError:
            self._full = True
            return
        place = bisect_right(self._kept, at, key=lambda each: each.at)
        self._kept.insert(place, Checkpoint(at, tuple(places), shelved))

    def take(self, checkpoint: Checkpoint) -> Frozen:
        """The state of a checkpoint.

        Raises:
            OSError: The file can't be read any more.
        """
        whole = self._shelf.take(checkpoint.shelved)
        runs = array(_COUNT)
        begin = 4 + int.from_bytes(whole[:4], "little") * runs.itemsize
        runs.frombytes(whole[4:begin])
        return Frozen(whole[begin:], self._runs.take(runs))


class _Runs:
    """Runs of figures, each put aside once for all states that have it.

    Args:
        shelf: Where they are put.
    """

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._offsets, self._sizes = array("q"), array(_COUNT)
        # A run is known by its identity: it is the same object in successive states. It is held here as long as it is
        # asked for, so that no other can have come by it.
        self._numbers: dict[int, int] = {}
        self._newest: dict[int, object] = {}
        self._read: dict[int, object] = {}

    @property
    def at_hand(self) -> int:
        """How many are held in memory."""
        return len(self._newest | self._read)

    def put(self, runs: Sequence[object]) -> array[int]:
        """Put aside those that the last state put here did not have; give the number of each."""
        known = self._numbers
        numbers = array(_COUNT, [known[id(run)] if id(run) in known else self._put(run) for run in runs])
        self._newest = dict(zip(numbers, runs, strict=True))
        self._numbers = {id(run): number for number, run in self._newest.items()}
        return numbers

    def take(self, numbers: Sequence[int]) -> tuple[object, ...]:
        """The runs of these numbers, from memory where they are at hand."""
        near = self._newest | self._read
        self._read = {number: near[number] if number in near else self._take(number) for number in numbers}
        return tuple(self._read[number] for number in numbers)

    def _put(self, run: object) -> int:
        offset, size = self._shelf.put(pack_run(run))
        self._offsets.append(offset)
        self._sizes.append(size)
        return len(self._offsets) - 1

    def _take(self, number: int) -> object:
        return unpack_run(self._shelf.take(Place(self._offsets[number], self._sizes[number])))


class Shelf:
    """Bytes put aside: in a file that no folder names and that goes with the process; else in memory."""

    def __init__(self) -> None:
        self.size = 0
        """Bytes that are here."""
        self._file: BinaryIO
        try:
            self._file = tempfile.TemporaryFile("w+b", buffering=0)  # noqa: SIM115  (it stays open for long)
        except OSError:
            self._file = io.BytesIO()
        weakref.finalize(self, self._file.close)

    def put(self, data: bytes) -> Place:
        """Put bytes here.

        Raises:
            OSError: There is no room for them.
        """
        packed = zlib.compress(data, 1)
        self._file.seek(self.size)
        if self._file.write(packed) != len(packed):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        place = Place(self.size, len(packed))
        self.size += len(packed)
        return place

    def take(self, place: Place) -> bytes:
        """Give the bytes again.

        Raises:
            OSError: They can't be read.
        """
        self._file.seek(place.offset)
        try:
            return zlib.decompress(self._file.read(place.size))
        except zlib.error as error:
            raise OSError(errno.EIO, os.strerror(errno.EIO)) from error
