"""The lines of one chunk for a log pane, made when they are looked at: a backlog is mostly never looked at."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, overload

from console.job.events import LogLine, Source
from console.job.levels import level_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

KEPT = 5_000
"""Lines of one chunk that are given, the newest: a pane keeps no more."""


class LogLines(Sequence[LogLine]):
    """The newest lines of a chunk, at most ``KEPT``.

    Args:
        source: Which log.
        texts: All its lines, cleaned.
        places: Where, in ``texts``, the time changes; begins with 0.
        times: The time of the lines from each of these places on.
    """

    __slots__ = ("_places", "_source", "_start", "_texts", "_times")

    def __init__(
        self, source: Source, texts: Sequence[str], places: list[int], times: list[datetime], kept: int = KEPT
    ) -> None:
        self._source, self._texts, self._places, self._times = source, texts, places, times
        self._start = max(0, len(texts) - kept)

    def whole(self) -> LogLines:
        """All lines of the chunk, for who prints a log rather than shows it."""
        return LogLines(self._source, self._texts, self._places, self._times, len(self._texts))

    def __len__(self) -> int:
        return len(self._texts) - self._start

    @overload
    def __getitem__(self, place: int) -> LogLine: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[LogLine, ...]: ...
    def __getitem__(self, place: int | slice) -> LogLine | tuple[LogLine, ...]:
        if isinstance(place, slice):
            return tuple(self)[place]
        here = range(self._start, len(self._texts))[place]
        return self._line(here, self._times[bisect_right(self._places, here) - 1])

    def __iter__(self) -> Iterator[LogLine]:
        edges = pairwise((*self._places, len(self._texts)))
        for (begin, end), at in zip(edges, self._times, strict=True):
            for here in range(max(begin, self._start), end):
                yield self._line(here, at)

    def _line(self, here: int, at: datetime) -> LogLine:
        text = self._texts[here]
        return LogLine(self._source, text, at, level_of(text))
