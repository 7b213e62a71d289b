"""Local times of a host, as its logs print them, become UTC: the zone, doubled hours, missing years and dates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import tzinfo

_AHEAD = timedelta(hours=3)
"""How far a host's clock may run before ours; a stamp beyond it is of the day or year before."""
_DISORDER = timedelta(seconds=30)
"""How far lines may stand out of order: ranks and buffers mix them by seconds, a doubled hour by sixty minutes."""
_FRESH = timedelta(minutes=10)
"""A first line this near to the time it was seen was written just then."""
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

    def adopt(self, zone: tzinfo) -> None:
        """Read what follows in the zone that the log itself names.

        A zone that has the same offset at the last line is kept: it knows of summer time, a bare offset does not.
        """
        if self._last is not None and self._last.astimezone(self._zone).utcoffset() == zone.utcoffset(None):
            return
        self._zone = zone
        self._last = None
        self._text = self._hour = ""

    def local(self, text: str, seen_at: datetime) -> datetime | None:
        """``2026-02-24 03:19:40`` of the host's zone, in UTC."""
        if text == self._text:
            return self._last
        try:
            naive = datetime.fromisoformat(text)
            shift = self._shift if text[:13] == self._hour else self._offset(naive)
            at = naive.replace(tzinfo=UTC) - (self._resolve(naive, seen_at) if shift is None else shift)
        except (ValueError, OverflowError):
            return None
        self._last = at
        self._text = "" if shift is None else text
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
        if self._last is None:
            return late if abs(seen_at - second) < _FRESH else early
        return late if first < self._last - _DISORDER <= second else early

    def without_year(self, text: str, seen_at: datetime) -> datetime | None:
        """The newest ``02-24 03:19:40`` that is not in the future; 29 February may be some years back."""
        if (at := self.local(f"{seen_at.year:04}-{text}", seen_at)) and seen_at - _YEAR < at <= seen_at + _AHEAD:
            return at
        year = seen_at.year + 1
        for back in range(10):
            at = self.local(f"{year - back:04}-{text}", seen_at)
            if at is not None and at <= seen_at + _AHEAD:
                return at
        return None

    def without_date(self, clock: str, seen_at: datetime) -> datetime | None:
        """The newest ``03:19:40`` that is not in the future."""
        today = seen_at.astimezone(self._zone).date()
        for days in (1, 0, -1):
            at = self.local(f"{(today + timedelta(days=days)).isoformat()} {clock}", seen_at)
            if at is not None and at <= seen_at + _AHEAD:
                return at
        return None
