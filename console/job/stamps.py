"""Finds the time of a log line, and what stands around it.

Where wrappers (see ``wrappers``) put a stamp of their own before the program's, the inner one counts, for outer ones
are often in another zone. A stamp without an offset is the host's local time. What a stamp leaves out is resolved
against the time at which the line was seen.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from console.job.local_clock import AHEAD, LocalClock
from console.job.log_head import LogHead, clock_of
from console.job.stamp_shapes import CLOCK, GLOG, ISO, LEVEL_HEAD, MONTHS, OUTER, SHAPES, SYSLOG, Shape, Stamp, records
from console.job.steady_time import SteadyTime
from console.job.wrappers import prefix_end, who_writes, wraps

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence
    from datetime import tzinfo

__all__ = ["Shape", "Stamp", "StampReader", "records"]
_NONE = timedelta()
_LAG = timedelta(minutes=1)
"""How long after a stamped line a line without a stamp still counts as written right behind it."""
_WRAPPERS = 4
"""Wrappers around one line at most: more stamps in a row are text."""
_HALF_DAY = timedelta(hours=12)
_NEAR = timedelta(minutes=30)
"""How far a library's clock may be from that of the lines around it."""
_WRITERS = 64
"""Processes whose newest stamps are kept apart."""
_PLAIN = Shape.BRACKET
_RANK_HEADS = frozenset({"DP", "TP", "PP"})
_TEXT = len("[2026-02-24 03:19:40")
_WIDEST = _TEXT + 50
"""Where the bracket of a stamp with all its ranks has ended."""


class StampReader:
    """Reads the stamps of one log; keeps what the next line's reading needs.

    Args:
        zone: The zone of stamps that name none.
    """

    def __init__(self, zone: tzinfo) -> None:
        self._clock = LocalClock(zone)
        self._steady = SteadyTime()
        self._ahead = _NONE
        self._head = LogHead()
        self._newest: dict[str, tuple[datetime, datetime]] = {}
        self._raw: datetime | None = None
        self._given: datetime | None = None

    def adopt(self, zone: tzinfo) -> None:
        """Read what follows in the zone that the log itself names."""
        self._clock.adopt(zone)

    def host_is_ahead(self, by: timedelta) -> None:
        """The host's clock was measured: what a stamp leaves out is resolved by it, not by ours."""
        self._ahead = by

    def on_host(self, seen_at: datetime) -> datetime:
        """What the host's clock showed when ours showed ``seen_at``, as far as it was measured."""
        return seen_at + self._ahead

    @property
    def set_back(self) -> tuple[datetime, float] | None:
        """When the log's clock was last seen to be set back, and by how many seconds."""
        return self._steady.set_back

    def needs_rest(self, lines: Sequence[str], seen_at: datetime) -> bool:
        """Whether the times of a backlog's lines depend on lines that are still to come; see ``LogHead``.

        Args:
            lines: The next ones; ``look_ahead`` is told of them later, with those before and behind.
            seen_at: When they came.
        """
        return self._head.needs_rest(lines, lambda line: self.find(line, self.on_host(seen_at)).at is not None)

    def look_ahead(self, lines: Sequence[str], seen_at: datetime) -> None:
        """Learn from lines that are about to be read in one go; costs next to nothing for most logs.

        Where stamps have no date the midnights are counted: lines may span days, and the last is taken for the newest.
        """
        host = self.on_host(seen_at)
        self._head.learn(lines, lambda line: self.find(line, host).at is not None)
        found = map(clock_of, lines) if self._head.is_dateless else ()
        self._clock.look_ahead([clock["time"] for clock in found if clock], host)
        if self._head.first and not self._newest and (at := self.find(self._head.first, host).at):
            self._newest[""] = (seen_at, at)  # lines without a stamp before the first one are about as old

    def read(self, line: str, seen_at: datetime) -> Stamp:
        """The stamp of a line, see ``find``; remembers it for ``guess``."""
        stamp = self.find(line, seen_at + self._ahead if self._ahead else seen_at)
        if stamp.at is not None:
            at = self._steady.steady(stamp.at, seen_at)
            if at is not stamp.at:
                stamp = stamp._replace(at=at)
            newest = (seen_at, at)
            self._newest[""] = newest
            if stamp.before and (who := who_writes(stamp.before)):
                self._remember(who, newest)
        return stamp

    def _remember(self, who: str, newest: tuple[datetime, datetime]) -> None:
        if who not in self._newest and len(self._newest) > _WRITERS:
            self._newest.clear()
            self._newest[""] = newest
        self._newest[who] = newest

    def plain(self, text: str, seen_at: datetime) -> datetime | None:
        """The time of a line whose stamp, ``2026-02-24 03:19:40``, is known already; remembers it as ``read`` does."""
        at = self._clock.local(text, seen_at + self._ahead if self._ahead else seen_at)
        if at is None or at is self._raw:
            return at and self._given  # a clock gives the same object for lines of the same second
        self._raw, self._given = at, self._steady.steady(at, seen_at)
        self._newest[""] = (seen_at, self._given)
        return self._given

    def find(self, line: str, seen_at: datetime, wrappers: int = _WRAPPERS) -> Stamp:
        """The stamp of a line.

        Args:
            line: Cleaned.
            seen_at: When it was first seen, aware; what the stamp leaves out is resolved against it.
            wrappers: How many outer stamps may stand before the program's own.

        Returns:
            ``at`` is None and ``rest`` the whole line when there is no stamp, or one that is no time.
        """
        if line[:2] == "[2" and (plain := self._plain(line, seen_at)):
            return plain
        head = LEVEL_HEAD.match(line)
        if head and (at := self._time(head, seen_at)):
            return Stamp(at, line[head.end() :], "", head["process"], Shape.LEVEL)
        for shape, pattern, needle in SHAPES:
            if needle in line and (found := pattern.search(line)) and (at := self._time(found, seen_at)):
                groups = found.groupdict()
                kind = Shape.ISO if groups.get("offset") else shape  # a bracket with an offset is a CI's
                stamp = Stamp(at, line[found.end() :], groups.get("ranks") or "", line[: found.start()], kind)
                sure = groups.get("offset") and at < seen_at  # what the inner one leaves out is known by the outer one
                return self._inner(stamp, at if sure else seen_at, wrappers)
        return self._unstamped(line, seen_at, wrappers)

    def _unstamped(self, line: str, seen_at: datetime, wrappers: int) -> Stamp:
        """A line without a stamp at its head; perhaps there is one behind a wrapper's prefix."""
        end = prefix_end(line)
        if not end or not wrappers:
            return Stamp(None, line)
        inner = self.find(line[end:], seen_at, wrappers - 1)
        return inner._replace(before=line[:end] + inner.before)

    def guess(self, seen_at: datetime, before: str = "") -> datetime:
        """The time of a line that has no stamp.

        Right behind a stamped line, as much after its time as it was seen after it: a log that is read hours later, and
        a host whose clock is off, then keep their order. By itself, the time it was seen, on the host's clock.

        Args:
            seen_at: When it was seen.
            before: Its wrapper's prefix; the newest stamped line with the same one counts, if there is one.
        """
        host = self.on_host(seen_at)
        newest = self._newest.get(who_writes(before) if before else "") or self._newest.get("")
        if newest is None or not _NONE <= seen_at - newest[0] <= _LAG:
            return host
        return min(host, newest[1] + (seen_at - newest[0])) if newest[1] <= host else newest[1]

    def _plain(self, line: str, seen_at: datetime) -> Stamp | None:
        """The commonest stamp, found without a pattern: nine lines in ten of a busy server have it."""
        end = line.find("]", _TEXT, _WIDEST)
        if end == _TEXT:
            ranks = ""
        elif end > 0 and line[_TEXT] == " " and line[_TEXT + 1 : _TEXT + 3] in _RANK_HEADS:
            ranks = line[_TEXT + 1 : end]
        else:
            return None
        rest = line[end + 2 :] if line[end + 1 : end + 2] == " " else line[end + 1 :]
        if rest[:1] == "[":
            return None
        at = self._clock.local(line[1:_TEXT], seen_at)
        return None if at is None else Stamp(at, rest, ranks, "", _PLAIN)

    def _inner(self, outer: Stamp, seen_at: datetime, wrappers: int) -> Stamp:
        """The program's own stamp behind a wrapper's, if there is one."""
        if not wrappers or outer.shape not in OUTER or not wraps(outer.rest):
            return outer
        inner = self.find(outer.rest, seen_at, wrappers - 1)
        if inner.at is None:
            return outer._replace(rest=inner.rest, before=outer.before + inner.before) if inner.before else outer
        return inner._replace(before=outer.before + inner.before) if _wraps_only(inner.before) else outer

    def _time(self, found: re.Match[str], seen_at: datetime) -> datetime | None:
        """The time of a matched stamp, in UTC; None for a 32nd of the month."""
        groups = found.groupdict()
        date, clock, offset = groups.get("date"), groups["time"], groups.get("offset")
        if year := groups.get("year"):
            date = f"{year}-{groups['month']}-{groups['day']}"
        try:
            if date and offset:
                at: datetime | None = datetime.fromisoformat(f"{date}T{clock}{offset}").astimezone(UTC)
            elif date:
                at = self._clock.local(f"{date} {clock}", seen_at)
            else:
                at = self._beside(found, self._undated(groups, self._until(found, seen_at)))
            return at and at + _fraction(groups.get("fraction") or "")
        except (ValueError, OverflowError):
            return None

    def _undated(self, groups: dict[str, str | None], seen_at: datetime) -> datetime | None:
        """The time of a stamp without a year, or without a date."""
        clock, month, day = groups["time"] or "", groups.get("month"), groups.get("day")
        if name := groups.get("name"):
            month = str(MONTHS.index(name) + 1)
        if month is None or day is None:
            return self._clock.without_date(clock, seen_at)
        return self._clock.without_year(f"{int(month):02}-{int(day):02} {clock}", seen_at)

    def _beside(self, found: re.Match[str], at: datetime | None) -> datetime | None:
        """A library's stamp without a year, in a log of dated lines: of its neighbours' time, if it is far from that.

        Its clock may be another container's, or its line a copy of an older one; what it tells of is news all the same.
        """
        newest = self._newest.get("")
        if at is None or found.re is not GLOG or not self._head.dated or newest is None:
            return at
        return newest[1] if abs(at - newest[1]) > _NEAR else at

    def _until(self, found: re.Match[str], seen_at: datetime) -> datetime:
        """The latest that a line without a full date can be of.

        When it was collected, where a stamp with an offset before the program's own says so. In a log of dated lines, a
        library's line without any date is of the half day around them. Else, when it was seen.
        """
        outer = ISO.match(found.string, 0, found.start()) if found.start() else None
        at = self._time(outer, seen_at) if outer and outer["offset"] else None
        if at is not None:
            return min(at, seen_at)
        newest = self._newest.get("")
        if not self._head.dated or newest is None or found.re is not CLOCK or found.start() != prefix_end(found.string):
            return seen_at
        return min(seen_at, newest[1] + (seen_at - self._ahead - newest[0]) + _HALF_DAY - AHEAD)


def _wraps_only(before: str) -> bool:
    """Whether nothing but wrappers' stamps and prefixes stands between two stamps."""
    while before:
        stamp = ISO.match(before) or SYSLOG.match(before)
        end = prefix_end(before) or (stamp.end() if stamp else 0)
        if not end:
            return False
        before = before[end:]
    return True


def _fraction(digits: str) -> timedelta:
    """Digits behind a second's point as a time; nanoseconds are cut."""
    return timedelta(microseconds=int(digits[:6].ljust(6, "0"))) if digits else timedelta(0)
