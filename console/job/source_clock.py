"""How a log's clock stands to the console's, so that an age is true although the clocks differ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

_LIVE_GAP = timedelta(seconds=2)
"""A line that comes this long after the one before it was written just now: it was not waiting in a backlog."""

_NONE = timedelta()

_JUMP = timedelta(minutes=2)
"""Clocks are corrected by less all the time, and lines wait in buffers."""

_KNOWN = timedelta(minutes=10)
"""How long lines must have come live before it is known how far they lag."""

_FINE_S = 2.0
"""A host's clock is measured in whole seconds over a link with a delay: less than this is no offset."""


@dataclass(frozen=True, slots=True)
class SourceClock:
    """One log's clock.

    ``age = now - at - offset``. The offset is what lines that came live lag behind (a wrong zone, a slow clock), or
    how far any line lies in the future. Until learned it is what was measured of the host's clock, else 0: the last
    line of a backlog lags because it is old.

    Attributes:
        first_seen_at: When the first line was seen.
        last_seen_at: When the newest was seen.
        offset: What is added to a line's own time to have it on the console's clock.
        live_at: When the first line came that was written just then.
        least: The least that any such line lagged behind.
        jumped_at: When the log's clock was last seen to have jumped, on the console's clock.
        jump_s: By how many seconds: positive for ahead, negative for back.
        trusted: The log's own times are the time, as in a replay: nothing is learned from when its lines came.
    """

    first_seen_at: datetime | None = None
    last_seen_at: datetime | None = None
    offset: timedelta = _NONE
    live_at: datetime | None = None
    least: timedelta = _NONE
    jumped_at: datetime | None = None
    jump_s: float = 0.0
    trusted: bool = False

    def heard(self, at: datetime, seen_at: datetime, *, backlog: bool = False) -> SourceClock:
        """After a line with the stamp ``at`` was seen at ``seen_at``.

        Args:
            at: Its own time.
            seen_at: When it came.
            backlog: It may have waited while the link was away.
        """
        if self.trusted:
            return self
        lag = seen_at - at
        if self.last_seen_at is None or self.first_seen_at is None:
            return SourceClock(seen_at, seen_at, min(lag, self.offset))
        live = not backlog and seen_at - self.last_seen_at >= _LIVE_GAP
        offset = lag if live or lag < self.offset else self.offset
        if seen_at <= self.last_seen_at and offset == self.offset:
            return self
        clock = replace(self, last_seen_at=max(seen_at, self.last_seen_at), offset=offset)
        return clock.watched(lag, seen_at) if live or lag < self.least else clock

    def watched(self, lag: timedelta, seen_at: datetime) -> SourceClock:
        """A line can't come before it was written: one that lags far less than any did is of a clock set ahead."""
        if self.live_at is None:
            return replace(self, live_at=seen_at, least=lag)
        if lag >= self.least:
            return self
        if self.least - lag < _JUMP or seen_at - self.live_at < _KNOWN:
            return replace(self, least=lag)
        return replace(self, least=lag, jumped_at=seen_at, jump_s=(self.least - lag).total_seconds())

    def set_back(self, at: datetime, by_s: float) -> SourceClock:
        """After the log's own times were found to be set back."""
        known = self.jumped_at is not None and at <= self.jumped_at
        return self if known else replace(self, jumped_at=at, jump_s=-by_s)

    def measured(self, ahead_s: float) -> SourceClock:
        """After the host's clock was found to be so many seconds ahead; what lines have shown already stands."""
        offset = timedelta(seconds=-ahead_s) if abs(ahead_s) >= _FINE_S else _NONE
        return replace(self, offset=offset) if self.last_seen_at is None else self

    def on_our_clock(self, at: datetime) -> datetime:
        """A line's own time on the console's clock."""
        return at + self.offset
