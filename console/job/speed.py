"""Tokens a second to reckon with, and how much they vary."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING

from console.job.series import median_of, spread_of

if TYPE_CHECKING:
    from console.job.series import Point, Series

_WINDOW = timedelta(minutes=15)
"""Long enough for hundreds of reports, short enough to follow a lasting change within the quarter of an hour."""

_PROGRESS_WINDOW = timedelta(hours=1)
"""Progress lines come minutes apart, and each sums whole completions: a shorter window would jump."""

_LEAST_APART_S = 60.0
"""Two progress figures closer than this say nothing of speed."""

_LEAST_VARIATION = 0.05
"""Throughput of a run wanders by this much over hours even when it is steady for minutes."""

_UNSURE = 0.3
"""Variation to allow for when there is too little to measure it by."""


@dataclass(frozen=True, slots=True)
class Speed:
    """A throughput to reckon with.

    Attributes:
        tokens_per_s: The middle.
        variation: Half of its 80 % range, as a share of it.
        source: ``server`` or ``progress``.
        running: Requests that usually ran meanwhile; None when not known.
    """

    tokens_per_s: float
    variation: float
    source: str
    running: float | None = None


def speed(throughput: Series, progress: Series) -> Speed | None:
    """The speed by the server's reports, else by the job's token counts; None while neither tells.

    Server: the median of the good figures of the last 15 min in which at least half as many requests ran as usual in
    that time, so that neither the ramp at the start nor the tail at the end of a dataset counts. Its variation is
    ``max(5 %, 1.28 x 1.4826 MAD / median)``.

    Args:
        throughput: Reports, tok/s, with running requests.
        progress: Completion tokens of the whole run against time.
    """
    return _by_server(throughput) or _by_progress(progress)


def _by_server(throughput: Series) -> Speed | None:
    busy = busy_points(throughput)
    middle = median_of(busy)
    if not middle:
        return None
    spread = spread_of(busy)
    variation = _UNSURE if spread is None else max(_LEAST_VARIATION, 1.28 * spread)
    return Speed(middle, variation, "server", median(point.load for point in busy))


def busy_points(throughput: Series) -> list[Point]:
    """The last quarter of an hour's reports, less ramps and tails."""
    if throughput.last is None:
        return []
    points = throughput.points(since=_time(throughput.last) - _WINDOW)
    usual_load = median(point.load for point in points)
    return [point for point in points if point.load >= usual_load / 2]


def _by_progress(progress: Series) -> Speed | None:
    if progress.last is None:
        return None
    points = progress.points(since=_time(progress.last) - _PROGRESS_WINDOW)
    first, last = points[0], points[-1]
    apart = last.time_s - first.time_s
    if apart < _LEAST_APART_S or last.value <= first.value:
        return None
    return Speed((last.value - first.value) / apart, _UNSURE, "progress")


def _time(point: Point) -> datetime:
    return datetime.fromtimestamp(point.time_s, UTC)
