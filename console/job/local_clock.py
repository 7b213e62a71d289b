"""Local times of a host, as its logs print them, become UTC: the zone, doubled hours, missing years and dates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date, tzinfo

AHEAD = timedelta(hours=3)
"""How far a host's clock may run before ours; a stamp beyond it is of the day or year before."""
_DISORDER = timedelta(seconds=30)
"""How far lines may stand out of order: ranks and buffers mix them by seconds, a doubled hour by sixty minutes."""
_FRESH = timedelta(minutes=10)
"""A first line this near to the time it was seen was written just then."""
_SECONDS = {f":{second:02}": timedelta(seconds=second) for second in range(60)}
_HOUR, _DAY = 60, 24 * 60
"""Minutes."""
_YEAR = timedelta(days=360)
"""Within this there is but one day of the same name."""


class LocalClock:
    """Turns one log's local times into UTC; keeps what the next one's reading needs.

    Args:
        zone: The zone of the log's stamps.
    """

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._last: datetime | None = None
        self._text = ""
        self._hour = ""
        self._shift: timedelta | None = None
        self._minute = ""
        self._minute_at: datetime | None = None
        self._live = False
        self._time_of_day = ""
        self._days_back = 0
        self._last_day: date | None = None

    def adopt(self, zone: tzinfo) -> None:
        """Read what follows in the zone that the log itself names.

        A zone that has the same offset at the last line is kept: it knows of summer time, a bare offset does not.
        """
        if self._last is not None and self._last.astimezone(self._zone).utcoffset() == zone.utcoffset(None):
            return
        self._zone = zone
        self._last = None
        self._text = self._hour = self._minute = ""

    def local(self, text: str, seen_at: datetime) -> datetime | None:
        """``2026-02-24 03:19:40`` of the host's zone, in UTC."""
        if text == self._text:
            return self._last
        if text[:16] == self._minute and self._minute_at and (seconds := _SECONDS.get(text[16:])) is not None:
            self._text, self._last = text, self._minute_at + seconds
            return self._last
        try:
            naive = datetime.fromisoformat(text)
            shift = self._shift if text[:13] == self._hour else self._offset(naive)
            at = naive.replace(tzinfo=UTC) - (self._resolve(naive, seen_at) if shift is None else shift)
        except (ValueError, OverflowError):
            return None
        self._last = at
        self._live = abs(seen_at - at) < _FRESH
        self._text, self._minute = ("", "") if shift is None else (text, text[:16])
        self._minute_at = at.replace(second=0)
        return at

    def _offset(self, naive: datetime) -> timedelta | None:
        """The zone's offset in this hour, remembered; None in an hour that the clock goes through twice."""
        early = naive.replace(tzinfo=self._zone, fold=0).utcoffset() or timedelta(0)
        late = naive.replace(tzinfo=self._zone, fold=1).utcoffset() or timedelta(0)
        self._hour = naive.isoformat(" ")[:13]
        self._shift = early if early == late else None
        return self._shift

    def _resolve(self, naive: datetime, seen_at: datetime) -> timedelta:
        """The offset in a doubled or skipped hour: the one that lets time run on."""
        early, late = (naive.replace(tzinfo=self._zone, fold=fold).utcoffset() or timedelta(0) for fold in (0, 1))
        first, second = (naive.replace(tzinfo=UTC) - offset for offset in (early, late))
        if self._last is None or self._live:
            # Lines that come live are known by when they come, also when the clock was just set back.
            if abs(seen_at - second) < _FRESH:
                return late
            if self._last is None or abs(seen_at - first) < _FRESH:
                return early
        return late if first < self._last - _DISORDER <= second else early

    def without_year(self, text: str, seen_at: datetime) -> datetime | None:
        """The newest ``02-24 03:19:40`` that is not in the future; 29 February may be some years back."""
        former = self._last, self._live
        if (at := self.local(f"{seen_at.year:04}-{text}", seen_at)) and seen_at - _YEAR < at <= seen_at + AHEAD:
            return at
        (self._last, self._live), self._text = former, ""
        years = range(seen_at.year + 1, seen_at.year - 9, -1)
        return self._first_until(seen_at + AHEAD, [f"{year:04}-{text}" for year in years], seen_at)

    def look_ahead(self, clocks: Sequence[str], seen_at: datetime) -> None:
        """Count the midnights in times of day that are about to be read; the last of them is taken for the newest.

        Args:
            clocks: ``03:19:40`` each, in the order of the log.
            seen_at: When they came.
        """
        self._days_back, self._last_day = 0, None
        if clocks and (newest := self._peek(clocks[-1], seen_at)):
            former = [self._time_of_day] if self._time_of_day else []
            self._days_back = sum(_midnights(one, other) for one, other in pairwise([*former, *clocks]))
            self._last_day = newest.astimezone(self._zone).date()

    def without_date(self, clock: str, seen_at: datetime) -> datetime | None:
        """The newest ``03:19:40`` that is not in the future, or that of the day that ``look_ahead`` has found."""
        if self._time_of_day:
            self._days_back -= _midnights(self._time_of_day, clock)
        self._time_of_day = clock
        if self._last_day:
            return self.local(f"{self._last_day - timedelta(days=self._days_back)} {clock}", seen_at)
        return self._newest_of(clock, seen_at)

    def _peek(self, clock: str, seen_at: datetime) -> datetime | None:
        """The time of a line that is still to be read, in its turn: it says nothing of those before it."""
        former, live = self._last, self._live
        newest = self._newest_of(clock, seen_at)
        self._last, self._live, self._text = former, live, ""
        return newest

    def _newest_of(self, clock: str, seen_at: datetime) -> datetime | None:
        today = seen_at.astimezone(self._zone).date()
        texts = [f"{today + timedelta(days=days)} {clock}" for days in (1, 0, -1)]
        return self._first_until(seen_at + AHEAD, texts, seen_at)

    def _first_until(self, limit: datetime, texts: Iterable[str], seen_at: datetime) -> datetime | None:
        """The first of some local times that is no later than a limit; those that are leave no trace."""
        former, live = self._last, self._live
        for text in texts:
            at = self.local(text, seen_at)
            if at is not None and at <= limit:
                return at
            self._last, self._live, self._text = former, live, ""
        return None


def _midnights(one: str, other: str) -> int:
    """Midnights from one time of day to the next line's: 1 when it is more than an hour lower (a doubled hour is not).

    -1 where it is nearly a day higher: lines that ranks mix go back across midnight too.
    """
    lower = _minutes(one) - _minutes(other)
    return 1 if lower > _HOUR else -1 if lower < _HOUR - _DAY else 0


def _minutes(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:5])
