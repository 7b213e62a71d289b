"""The least and the greatest of a figure over the whole run, in bounded room: what a chart of days is drawn from.

Means over many minutes hide what the operator looks for, a dip of half a minute; the least and the greatest keep it.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

WIDTH_S = 30
"""Width of a span at first, seconds."""

LIMIT = 1024
"""Spans kept: four times what the widest chart draws side by side."""


class Span(NamedTuple):
    """What a figure was in one span of time.

    Attributes:
        time_s: Its beginning, seconds since the epoch, a multiple of the envelope's width.
        low: The least.
        high: The greatest.
    """

    time_s: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Envelope:
    """Spans of equal width, oldest first; those in which nothing was seen are left out.

    When there are too many, neighbours become one and the width doubles, so that nothing is forgotten: 1,024 spans hold
    eight and a half hours at 30 s, 68 hours at 4 min. Adding a figure twice changes nothing.

    Attributes:
        width_s: Seconds of a span.
        spans: The spans.
        limit: How many there may be.
    """

    width_s: int = WIDTH_S
    spans: tuple[Span, ...] = ()
    limit: int = LIMIT

    def after(self, points: Iterable[tuple[float, ...]]) -> Envelope:
        """The envelope with more figures.

        Args:
            points: Times (seconds since the epoch) and figures, in any order; further ones of a point are passed over.
        """
        spans, width_s = list(self.spans), self.width_s
        begin = end = 0
        low = high = 0.0
        for point in points:
            time_s, value = point[0], point[1]
            if not begin <= time_s < end:
                if end:
                    _add(spans, Span(begin, low, high))
                begin = int(time_s // width_s) * width_s
                end = begin + width_s
                low = high = value
            elif value < low:
                low = value
            elif value > high:
                high = value
        if end:
            _add(spans, Span(begin, low, high))
        while len(spans) > self.limit:
            width_s *= 2
            spans = _wider(spans, width_s)
        return Envelope(width_s, tuple(spans), self.limit)

    def before(self, time_s: float) -> Envelope:
        """Without what lies at a time or behind it, for a log whose clock was set back; the span around it stays."""
        return Envelope(self.width_s, tuple(span for span in self.spans if span.time_s < time_s), self.limit)


def _add(spans: list[Span], new: Span) -> None:
    """File a span into others in the order of time; nearly always it is the newest."""
    place = len(spans)
    if spans and new.time_s <= spans[-1].time_s:
        place = len(spans) - 1 if new.time_s == spans[-1].time_s else bisect_left(spans, new.time_s, key=_time_of)
    if place < len(spans) and spans[place].time_s == new.time_s:
        there = spans[place]
        if new.low < there.low or new.high > there.high:
            spans[place] = Span(new.time_s, min(there.low, new.low), max(there.high, new.high))
    else:
        spans.insert(place, new)


def _time_of(span: Span) -> int:
    return span.time_s


def _wider(spans: Iterable[Span], width_s: int) -> list[Span]:
    """The same in spans of a greater width."""
    found: list[Span] = []
    for span in spans:
        _add(found, Span(span.time_s // width_s * width_s, span.low, span.high))
    return found
