"""A bounded history of one figure, frozen: what sparklines, medians and peaks are made of."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from console.job.envelope import Envelope

_CHUNK = 64
"""Points per chunk: adding one copies a chunk, not the whole history."""

_LATE_S = 900.0
"""A point older than the newest by up to this came late (or twice) and is dropped; one older still means that the
log's clock was set back, by an hour of daylight saving for instance, and what lies ahead of it is dropped."""


class Point(NamedTuple):
    """One figure at one time.

    Attributes:
        time_s: Seconds since the epoch.
        value: The figure.
        load: What it depends on, for comparing like with like (running requests, say).
    """

    time_s: float
    value: float
    load: float


class Digest(NamedTuple):
    """What is asked of a full chunk again and again.

    Attributes:
        low_load: The least load in it.
        high_load: The greatest.
        values: Its figures, sorted.
    """

    low_load: float
    high_load: float
    values: tuple[float, ...]


def _digest(points: Iterable[Point]) -> Digest:
    loads = [point.load for point in points]
    return Digest(min(loads), max(loads), tuple(sorted(point.value for point in points)))


@dataclass(frozen=True, slots=True)
class Series:
    """Points in the order of time, at most one per ``step_s`` (the newest wins) and at most ``limit`` of them.

    The newest wins, rather than a mean, so that a line read twice changes nothing.

    Attributes:
        step_s: Width of the grid on which only one point is kept, seconds.
        limit: Points kept; the oldest go, a chunk at a time.
        chunks: Full chunks, oldest first.
        tail: The newest points.
        peak: Highest figure ever added, forgotten points included; None before the first.
        digests: One of each full chunk.
        envelope: The least and the greatest of all full chunks, forgotten ones included; None where nobody wants it.
    """

    step_s: float = 5.0
    limit: int = 4096
    chunks: tuple[tuple[Point, ...], ...] = ()
    tail: tuple[Point, ...] = ()
    peak: float | None = None
    digests: tuple[Digest, ...] = ()
    envelope: Envelope | None = None

    def __len__(self) -> int:
        return sum(map(len, self.chunks)) + len(self.tail)

    def add(self, at: datetime, value: float, load: float = 0.0) -> Series:
        """The series with one more point."""
        point = Point(at.timestamp(), value, load)
        peak = value if self.peak is None else max(self.peak, value)
        # Built in place: ``replace`` takes several times as long, and this is done for every line of every log.
        newest = self.last
        if newest is not None and point.time_s < newest.time_s:
            if newest.time_s - point.time_s <= _LATE_S:
                return self
            return self._rebuilt((*self._before(point.time_s), point), peak)
        if newest is not None and point.time_s // self.step_s == newest.time_s // self.step_s:
            tail = (*self.tail[:-1], point)
        elif len(self.tail) < _CHUNK:
            tail = (*self.tail, point)
        else:
            return self.filed(point, peak)
        return Series(self.step_s, self.limit, self.chunks, tail, peak, self.digests, self.envelope)

    def filed(self, point: Point, peak: float) -> Series:
        """The series with its full tail filed as a chunk, and a point behind it."""
        keep = max(1, self.limit // _CHUNK)
        chunks, digests = (*self.chunks, self.tail)[-keep:], (*self.digests, _digest(self.tail))[-keep:]
        envelope = None if self.envelope is None else self.envelope.after(self.tail)
        return Series(self.step_s, self.limit, chunks, (point,), peak, digests, envelope)

    @property
    def first(self) -> Point | None:
        """The oldest point that is kept."""
        return next((chunk[0] for chunk in (*self.chunks, self.tail) if chunk), None)

    @property
    def last(self) -> Point | None:
        """The newest point."""
        return self.tail[-1] if self.tail else None

    def points(self, since: datetime | None = None, until: datetime | None = None) -> list[Point]:
        """The points from ``since`` to ``until``, both included, oldest first."""
        low = float("-inf") if since is None else since.timestamp()
        high = float("inf") if until is None else until.timestamp()
        found: list[Point] = []
        for chunk in (*self.chunks, self.tail):
            if not chunk or chunk[-1].time_s < low or chunk[0].time_s > high:
                continue
            if low <= chunk[0].time_s and chunk[-1].time_s <= high:
                found.extend(chunk)
            else:
                found.extend([point for point in chunk if low <= point.time_s <= high])
        return found

    def median_like(self, since: datetime, until: datetime, load: float, share: float, least: int) -> float | None:
        """The median figure at loads like a given one: ``|load of the point - load| <= share x load``.

        Args:
            since: Beginning of the time looked at, included.
            until: Its end, included.
            load: The load.
            share: How far others may lie from it, as a share of it.
            least: Fewer figures make no median: the answer is then None.
        """
        low, high, reach = since.timestamp(), until.timestamp(), share * load
        least_load, most_load = load - reach, load + reach
        found: list[float] = []
        for chunk, digest in zip_longest((*self.chunks, self.tail), self.digests):
            if not chunk or chunk[-1].time_s < low or chunk[0].time_s > high:
                continue
            whole = digest is not None and low <= chunk[0].time_s and chunk[-1].time_s <= high
            if whole and least_load <= digest.low_load and digest.high_load <= most_load:
                found.extend(digest.values)  # sorted runs are merged, which takes a fraction of the time of sorting
                continue
            found.extend([made for at, made, here in chunk if least_load <= here <= most_load and low <= at <= high])
        return median(found) if len(found) >= max(1, least) else None

    def at_or_before(self, at: datetime) -> Point | None:
        """The newest point that is no newer than ``at``."""
        known = self._before(at.timestamp() + 1e-6)
        return known[-1] if known else None

    def grown_at(self) -> datetime | None:
        """When the figure last rose to what it is; None before the first point."""
        risen = None
        for chunk in (self.tail, *reversed(self.chunks)):
            for point in reversed(chunk):
                if risen is not None and point.value < risen.value:
                    return datetime.fromtimestamp(risen.time_s, UTC)
                risen = point
        return None if risen is None else datetime.fromtimestamp(risen.time_s, UTC)

    def resampled(self, until: datetime, span_s: float, count: int) -> tuple[float | None, ...]:
        """Evenly spaced means for a sparkline.

        Args:
            until: The end of the newest cell.
            span_s: Seconds that all cells cover together.
            count: Number of cells.

        Returns:
            One mean per cell, oldest first; None where no point lies.
        """
        end = until.timestamp()
        width = span_s / count
        cells: list[list[float]] = [[] for _ in range(count)]
        for point in self.points(until - timedelta(seconds=span_s), until):
            place = count - 1 - int((end - point.time_s) // width)
            if 0 <= place < count:
                cells[place].append(point.value)
        return tuple(fmean(cell) if cell else None for cell in cells)

    def _before(self, time_s: float) -> tuple[Point, ...]:
        points = self.points()
        return tuple(points[: bisect_left(points, (time_s,))])

    def _rebuilt(self, points: tuple[Point, ...], peak: float) -> Series:
        whole = (len(points) - 1) // _CHUNK * _CHUNK
        chunks = tuple(points[start : start + _CHUNK] for start in range(0, whole, _CHUNK))
        digests = tuple(_digest(chunk) for chunk in chunks)
        envelope = None if self.envelope is None else self.envelope.before(points[-1].time_s).after(points)
        return Series(self.step_s, self.limit, chunks, points[whole:], peak, digests, envelope)


class SeriesDraft:
    """A series that grows in place; ``freeze`` gives what as many calls of ``Series.add`` would have given.

    Args:
        series: What it begins with.
    """

    __slots__ = ("_chunks", "_digests", "_envelope", "_limit", "_peak", "_step_s", "_tail")

    def __init__(self, series: Series) -> None:
        self._begin(series)

    def _begin(self, series: Series) -> None:
        self._step_s, self._limit = series.step_s, series.limit
        self._chunks, self._digests, self._envelope = series.chunks, series.digests, series.envelope
        self._tail = list(series.tail)
        self._peak = series.peak

    def add(self, at: datetime, value: float, load: float = 0.0) -> None:
        """One more point."""
        point, tail, step_s = Point(at.timestamp(), value, load), self._tail, self._step_s
        newest_s = tail[-1].time_s if tail else None
        if newest_s is not None and point.time_s < newest_s:
            self._begin(self.freeze().add(at, value, load))
            return
        if self._peak is None or value > self._peak:
            self._peak = value
        if newest_s is not None and point.time_s // step_s == newest_s // step_s:
            tail[-1] = point
        elif len(tail) < _CHUNK:
            tail.append(point)
        else:
            self._begin(self.freeze().filed(point, self._peak))

    def freeze(self) -> Series:
        """The series as it stands."""
        return Series(
            self._step_s, self._limit, self._chunks, tuple(self._tail), self._peak, self._digests, self._envelope
        )


def median_of(points: Iterable[Point], least: int = 1) -> float | None:
    """The median figure; None of fewer than ``least`` points."""
    values = [point.value for point in points]
    return median(values) if len(values) >= max(1, least) else None


def spread_of(points: Iterable[Point]) -> float | None:
    """How far figures usually lie from their median, as a share of it.

    ``1.4826 x MAD / median``: the standard deviation of a normal distribution by the median absolute deviation,
    which a few outliers do not move. None of fewer than three points or of a median of 0.
    """
    values = [point.value for point in points]
    if len(values) < 3 or not (middle := median(values)):  # noqa: PLR2004 -- two points always lie evenly about their median
        return None
    return 1.4826 * median(abs(value - middle) for value in values) / abs(middle)
