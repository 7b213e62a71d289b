"""A figure over a while, cut into columns for a chart: the least and the greatest of each, and gaps as gaps."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from console.job.series import Series
from console.job.spans import SPANS

if TYPE_CHECKING:
    from collections.abc import Iterable

Column = tuple[float, float]
"""The least and the greatest of one column."""

BRIDGE_S = 45.0
"""Up to this long without a figure the line goes on: a metrics page comes each 15 s, and one may be missed. A longer
silence is a gap."""

COLUMNS = 240
"""Columns at most: two dots a cell of the widest chart that anybody has. None is narrower than ``Series.step_s``."""

_MINUTE = 60.0
_STEPS_S = tuple(
    _MINUTE * m for m in (1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 360, 480, 720, 960, 1200, 1440)
)
"""While less has been seen than was asked for, the chart shows the next of these lengths, so that the first minutes are
a line too and the picture does not move with every second. Beyond a day it goes by half days."""
_HALF_DAY_S = 720 * _MINUTE


@dataclass(frozen=True, slots=True)
class Cut:
    """A figure over one span of time, in columns of equal width.

    Attributes:
        begins_at: The left edge, by the console's clock.
        span_s: Seconds from there to the right edge.
        columns: Oldest first; None where nothing was reported for more than ``BRIDGE_S``.
    """

    begins_at: datetime
    span_s: float
    columns: tuple[Column | None, ...]

    @property
    def low(self) -> float | None:
        """The least figure drawn."""
        return min((column[0] for column in self.columns if column), default=None)

    @property
    def high(self) -> float | None:
        """The greatest figure drawn."""
        return max((column[1] for column in self.columns if column), default=None)

    def middles(self) -> tuple[float | None, ...]:
        """The middle of each column, for a line of blocks."""
        return tuple(None if column is None else (column[0] + column[1]) / 2 for column in self.columns)


@dataclass(frozen=True, slots=True)
class Curve:
    """A figure over time.

    Attributes:
        series: Its points; with an envelope, which remembers what they have forgotten.
        ahead: How far the clock of the points is ahead of the console's.
    """

    series: Series = field(default_factory=Series)
    ahead: timedelta = timedelta()

    def cut(self, span: str, now: datetime) -> Cut | None:
        """The curve over a span up to now; None before the first point.

        Args:
            span: A key of ``SPANS``.
            now: The console's time.
        """
        first_s = self._first_s()
        if first_s is None:
            return None
        end_s = (now + self.ahead).timestamp()
        age_s, asked_s = max(0.0, end_s - first_s), SPANS[span]
        # The right edge may lie a column ahead of the present: the left one must hold the first figure all the same.
        span_s = min(asked_s, _step(age_s + max(self.series.step_s, 1.01 * age_s / COLUMNS)))
        count = max(1, min(COLUMNS, round(span_s / self.series.step_s)))
        width_s = span_s / count
        # Edges on a grid: else the same figures would fall into other columns at each look, and the line would tremble.
        begin_s = math.ceil(end_s / width_s) * width_s - span_s
        columns: list[Column | None] = [None] * count
        for time_s, low, high in self._samples(begin_s, width_s):
            place = int((time_s - begin_s) // width_s)
            if 0 <= place < count:
                there = columns[place]
                columns[place] = (low, high) if there is None else (min(there[0], low), max(there[1], high))
        begins_at = datetime.fromtimestamp(begin_s, UTC) - self.ahead
        return Cut(begins_at, span_s, tuple(_bridged(columns, width_s)))

    def _first_s(self) -> float | None:
        """When the first figure came, as far as is known."""
        first, envelope = self.series.first, self.series.envelope
        if envelope is not None and envelope.spans:
            return float(envelope.spans[0].time_s)
        return first.time_s if first else None

    def _samples(self, begin_s: float, width_s: float) -> Iterable[tuple[float, float, float]]:
        """Times, least and greatest; coarse where columns are much wider, and what the points have forgotten."""
        series = self.series
        if series.envelope is not None and series.envelope.spans and width_s >= 2 * series.envelope.width_s:
            yield from (span for span in series.envelope.spans if span.time_s >= begin_s)
            yield from ((point.time_s, point.value, point.value) for point in series.tail)
            return
        since = datetime.fromtimestamp(begin_s, UTC)
        yield from ((point.time_s, point.value, point.value) for point in series.points(since))


def _step(age_s: float) -> float:
    """The length shown for so much past."""
    return next((step for step in _STEPS_S if age_s <= step), math.ceil(age_s / _HALF_DAY_S) * _HALF_DAY_S)


def _bridged(columns: list[Column | None], width_s: float) -> list[Column | None]:
    """Columns with short silences drawn through, from one figure to the next."""
    known = [place for place, column in enumerate(columns) if column is not None]
    for left, right in pairwise(known):
        missing = right - left - 1
        start, end = columns[left], columns[right]
        if not missing or missing * width_s > BRIDGE_S or start is None or end is None:
            continue
        begin, rise = sum(start) / 2, (sum(end) - sum(start)) / 2
        for step in range(1, missing + 1):
            value = begin + rise * step / (missing + 1)
            columns[left + step] = (value, value)
    return columns
