"""When each line of a recorded log was written: what a replay goes by.

A line without a stamp is as old as the one before it. A job's log without any stamps says at least how long things
took: a progress line after ``done`` requests at ``r`` a second came ``done / r`` seconds after its dataset began, and
a dataset's end says how long it took; so its lines are dated from the moment at which the job is taken to have begun.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import gcd
from typing import TYPE_CHECKING, Protocol, overload

from console.job.events import DatasetAnnounced, DatasetFinished, Progress, Source
from console.job.lines import clean
from console.job.progress_log import parse_progress
from console.job.runner_log import RunnerLog
from console.job.stamps import StampReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_UNKNOWN = -(2**63)


class LogBytes(Protocol):
    """A whole log's bytes, wherever they lie."""

    def lines(self) -> Iterator[bytes]:
        """Each line with its end, as ``bytes.splitlines`` cuts them."""

    def cut(self, begin: int, end: int) -> bytes:
        """The bytes between two offsets."""


class HeldBytes:
    """A log that lies in memory.

    Args:
        data: All of it.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data

    def lines(self) -> Iterator[bytes]:
        """See ``LogBytes``."""
        yield from self._data.splitlines(keepends=True)

    def cut(self, begin: int, end: int) -> bytes:
        """See ``LogBytes``."""
        return self._data[begin:end]


class Times(Sequence[datetime]):
    """Moments, to the microsecond, at 4 bytes each where they lie on a grid of seconds or milliseconds, as stamps do.

    A run of days has 300,000 lines. Where 32 bits don't hold the moments (more than an hour of microseconds), they take
    8 bytes each.

    Args:
        microseconds: Since the epoch.
    """

    def __init__(self, microseconds: array[int]) -> None:
        self._begin = min(microseconds, default=0)
        self._unit = _grid(microseconds, self._begin)
        counts = ((at - self._begin) // self._unit for at in microseconds)
        self._counts = _smallest(counts, (max(microseconds, default=0) - self._begin) // self._unit)

    def __len__(self) -> int:
        return len(self._counts)

    @overload
    def __getitem__(self, place: int) -> datetime: ...

    @overload
    def __getitem__(self, place: slice) -> Times: ...

    def __getitem__(self, place: int | slice) -> datetime | Times:
        if isinstance(place, slice):
            return Times(array("q", [self._begin + count * self._unit for count in self._counts[place]]))
        return _EPOCH + timedelta(microseconds=self._begin + self._counts[place] * self._unit)

    @property
    def nbytes(self) -> int:
        """Bytes that they take."""
        return len(self._counts) * self._counts.itemsize


def _grid(microseconds: array[int], begin: int) -> int:
    """The widest grid that begins there and holds them all, microseconds."""
    unit = 0
    for at in microseconds:
        unit = gcd(unit, at - begin)
        if unit == 1:
            break
    return unit or 1


def _smallest(counts: Iterable[int], most: int) -> array[int]:
    """Counts up to ``most`` in 4 bytes each where that is enough, else in 8."""
    return array("I" if most < 1 << 32 else "Q", counts)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A whole log, with the time of each of its lines.

    Attributes:
        source: Which log.
        log: Its bytes.
        ends: Offset after each line.
        times: When each line was written, never falling.
        guessed: True when the log itself holds no stamp.
    """

    source: Source
    log: LogBytes
    ends: Sequence[int]
    times: Sequence[datetime]
    guessed: bool = False

    def lines_until(self, at: datetime) -> int:
        """How many of its lines were written until ``at``."""
        return bisect_right(self.times, at)

    def between(self, begin: int, at: datetime) -> tuple[int, bytes]:
        """The lines from number ``begin`` on that were written until ``at``: the next number, and their bytes."""
        end = bisect_right(self.times, at, lo=begin)
        first = self.ends[begin - 1] if begin else 0
        last = self.ends[end - 1] if end else 0
        return end, self.log.cut(first, last) if last > first else b""


class _Texts(Sequence[str]):
    """The lines of a log as text, made as they are asked for: all at once they take twice the log."""

    def __init__(self, log: LogBytes, ends: Sequence[int]) -> None:
        self._log, self._ends = log, ends

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[str]:
        return (clean(line.decode("utf-8", "replace")) for line in self._log.lines())

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...

    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            wanted = range(*place.indices(len(self)))
            return self if len(wanted) == len(self) else [self[number] for number in wanted]
        end = self._ends[place]
        place %= len(self)
        return clean(self._log.cut(self._ends[place - 1] if place else 0, end).decode("utf-8", "replace"))


def record(source: Source, log: LogBytes, zone: tzinfo, now: datetime, begun: datetime | None = None) -> Recorded:
    """Date the lines of a log.

    Args:
        source: Which log.
        log: Its bytes; gone through two or three times.
        zone: Of stamps that name none.
        now: Resolves stamps without a year.
        begun: When a job whose log has no stamps is taken to have begun; None for ``now``.
    """
    ends = array("q")
    end = 0
    for line in log.lines():
        end += len(line)
        ends.append(end)
    texts = _Texts(log, ends)
    times = _packed(_progress(texts, now) if source is Source.PROGRESS else _stamped(texts, zone, now))
    guessed = source is Source.JOB and all(at == _UNKNOWN for at in times)
    if guessed:
        times = _packed(_by_durations(texts, zone, begun or now))
    return Recorded(source, log, _smallest(ends, end), Times(_never_falling(times, now)), guessed)


def _packed(times: Iterable[datetime | None]) -> array[int]:
    return array("q", (_UNKNOWN if at is None else (at - _EPOCH) // _MICROSECOND for at in times))


def _stamped(texts: Sequence[str], zone: tzinfo, now: datetime) -> Iterator[datetime | None]:
    reader = StampReader(zone)
    reader.look_ahead(texts, now)
    return (reader.read(text, now).at for text in texts)


def _progress(texts: Iterable[str], now: datetime) -> Iterator[datetime | None]:
    told = (parse_progress(text, now) for text in texts)
    return (events[0].at if events and not events[0].guessed else None for events in told)


def _by_durations(texts: Iterable[str], zone: tzinfo, begun: datetime) -> Iterator[datetime]:
    log = RunnerLog(zone)
    base = at = begun
    for text in texts:
        for _, event, *_ in log.parse(text, begun):
            if isinstance(event, DatasetAnnounced):
                base = at
            elif isinstance(event, Progress) and event.requests_per_s:
                at = max(at, base + timedelta(seconds=event.done / event.requests_per_s))
            elif isinstance(event, DatasetFinished) and event.seconds is not None:
                at = max(at, base + timedelta(seconds=event.seconds))
        yield at


def _never_falling(times: array[int], now: datetime) -> array[int]:
    """Each line's time, or that of the line before; those before the first stamp are as old as it."""
    newest = next((at for at in times if at != _UNKNOWN), (now - _EPOCH) // _MICROSECOND)
    for place, at in enumerate(times):
        newest = times[place] = max(newest, at)
    return times
