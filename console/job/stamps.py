"""Finds the time of a log line, and what stands around it.

Shapes, tried in this order; where wrappers (Ray, compose, a CI, ``docker logs -t``) put a stamp of their own before the
program's, the inner one counts, for outer ones are often in another zone:

- ``[2026-02-24 03:19:40] text``, with milliseconds, ranks (``[2026-02-24 03:19:40 DP1 TP4]``) or both; SGLang, our job.
- ``[03:19:40 TP0] text``: SGLang up to 0.3.2, no date.
- ``INFO 02-24 03:19:40 [file.py:1] text``: vLLM, no year.
- ``2026-02-24T03:19:40.123Z text`` and its relatives (ISO 8601, RFC 3339, ``logging``'s comma).
- ``[rank5]:[E0224 03:19:40.918469923 file.cpp:607] text``: glog (PyTorch, NCCL), no year.

A stamp without an offset is the host's local time. What a stamp leaves out is resolved against the time at which the
line was seen.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from console.job.local_clock import LocalClock

if TYPE_CHECKING:
    from datetime import tzinfo

_LAG = timedelta(minutes=1)
"""How long after a stamped line a line without a stamp still counts as written right behind it."""
_RANK = r"(?:DP|TP|PP|EP|ATTN_CP|MOE_DP)[0-9]+"
_RANKS = rf"(?P<ranks>{_RANK}(?: {_RANK})*)"
_DATE = r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
_TIME = r"(?P<time>[0-9]{2}:[0-9]{2}:[0-9]{2})"
_FRACTION = r"(?:[.,](?P<fraction>[0-9]{1,9}))?"
_OFFSET = r" ?(?P<offset>Z|[+-][0-9]{2}:?[0-9]{2})?"


class Shape(StrEnum):
    """Which kind of stamp a line has; it tells who wrote it."""

    BRACKET = "bracket"
    LEVEL = "level"
    ISO = "iso"
    GLOG = "glog"
    NONE = "none"


class Stamp(NamedTuple):
    """What a line's stamp says.

    Attributes:
        at: Its time in UTC; None when it has none.
        rest: The line behind the stamp.
        ranks: ``DP1 TP4`` as printed inside the stamp; empty without.
        before: What stands before the stamp: a wrapper's prefix, a progress bar, a process name.
        shape: Which kind it is.
    """

    at: datetime | None
    rest: str
    ranks: str = ""
    before: str = ""
    shape: Shape = Shape.NONE


_BRACKET = re.compile(rf"\[{_DATE}[ T]{_TIME}{_FRACTION}{_OFFSET}(?: {_RANKS})?(?P<more> [^\]]{{0,80}})?\] ?")
_CLOCK = re.compile(rf"\[{_TIME}{_FRACTION}(?: {_RANKS})?\] ?")
_LEVEL = re.compile(
    rf"\b(?:TRACE|DEBUG|INFO|WARNING|ERROR|CRITICAL) (?P<month>[0-9]{{2}})-(?P<day>[0-9]{{2}}) {_TIME}{_FRACTION} "
)
_LEVEL_HEAD = re.compile(rf"(?P<process>(?:\([^()]{{1,60}}\) )?){_LEVEL.pattern}")
_ISO = re.compile(
    rf"^(?:[\w.-]+ +\|)?\s*{_DATE}[ T]{_TIME}{_FRACTION}{_OFFSET}(?=[\s|\]:,-]|$)[ |:,-]*"
    rf"(?:[A-Z]+ [0-9]+ \[(?:{_RANKS} )?[\w.]+:[0-9]+\] )?"
)
_GLOG = re.compile(rf"(?:^|\[)[IWEF](?P<month>[0-9]{{1,2}})(?P<day>[0-9]{{2}}) {_TIME}{_FRACTION} +")
_SHAPES = (
    (Shape.BRACKET, _BRACKET, "[2"),
    (Shape.BRACKET, _CLOCK, "["),
    (Shape.LEVEL, _LEVEL, ":"),
    (Shape.ISO, _ISO, "-"),
    (Shape.GLOG, _GLOG, "."),
)
_RECORD = re.compile(r"\[2[0-9]{3}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:")
_WRAPPER = re.compile(r"\s*(?:\([^)]*\)|[\w.-]+ +\|)?\s*")
"""What a wrapper may put between its own stamp and the program's."""
_WRAPPERS = 3
"""Wrappers around one line at most: more stamps in a row are text."""
_PLAIN = Shape.BRACKET
_RANK_HEADS = frozenset({"DP", "TP", "PP"})
_TEXT = len("[2026-02-24 03:19:40")
_WIDEST = _TEXT + 50
"""Where the bracket of a stamp with all its ranks has ended."""


def records(line: str) -> list[str]:
    """The records that share one physical line: output without a newline glues the next one behind it."""
    if line.count("[2") < 2:  # noqa: PLR2004  one stamp, one record
        return [line]
    starts = [found.start() for found in _RECORD.finditer(line)][1:]
    edges = [0, *starts, len(line)]
    return [line[here:there] for here, there in pairwise(edges)]


class StampReader:
    """Reads the stamps of one log; keeps what the next line's reading needs.

    Args:
        zone: The zone of stamps that name none.
    """

    def __init__(self, zone: tzinfo) -> None:
        self._clock = LocalClock(zone)
        self._seen: datetime | None = None
        self._stamped: datetime | None = None

    def adopt(self, zone: tzinfo) -> None:
        """Read what follows in the zone that the log itself names."""
        self._clock.adopt(zone)

    def read(self, line: str, seen_at: datetime) -> Stamp:
        """The stamp of a line, see ``find``; remembers it for ``guess``."""
        stamp = self.find(line, seen_at)
        if stamp.at is not None:
            self._seen, self._stamped = seen_at, stamp.at
        return stamp

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
        head = _LEVEL_HEAD.match(line)
        if head and (at := self._time(head, seen_at)):
            return Stamp(at, line[head.end() :], "", head["process"], Shape.LEVEL)
        for shape, pattern, needle in _SHAPES:
            if needle in line and (found := pattern.search(line)) and (at := self._time(found, seen_at)):
                groups = found.groupdict()
                stamp = Stamp(at, line[found.end() :], groups.get("ranks") or "", line[: found.start()], shape)
                return self._inner(stamp, seen_at, wrappers)
        return Stamp(None, line)

    def guess(self, seen_at: datetime) -> datetime:
        """The time of a line that has no stamp.

        Right behind a stamped line, as much after its time as it was seen after it: a log that is read hours later, and
        a host whose clock is off, then keep their order. By itself, the time it was seen.
        """
        if self._seen is None or self._stamped is None or not timedelta(0) <= seen_at - self._seen <= _LAG:
            return seen_at
        return min(seen_at, self._stamped + (seen_at - self._seen))

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
        if wrappers and outer.rest[:1] in {"[", "(", "I", "W", "E", "D"} and outer.shape in {Shape.BRACKET, Shape.ISO}:
            inner = self.find(outer.rest, seen_at, wrappers - 1)
            if inner.at is not None and _WRAPPER.fullmatch(inner.before):
                return inner._replace(before=outer.before + inner.before)
        return outer

    def _time(self, found: re.Match[str], seen_at: datetime) -> datetime | None:
        """The time of a matched stamp, in UTC; None for a 32nd of the month."""
        groups = found.groupdict()
        clock, date, month = groups["time"], groups.get("date"), groups.get("month")
        try:
            if date and (offset := groups.get("offset")):
                at: datetime | None = datetime.fromisoformat(f"{date}T{clock}{offset}").astimezone(UTC)
            elif date:
                at = self._clock.local(f"{date} {clock}", seen_at)
            elif month:
                at = self._clock.without_year(f"{int(month):02}-{groups['day']} {clock}", seen_at)
            else:
                at = self._clock.without_date(clock, seen_at)
            return at and at + _fraction(groups.get("fraction") or "")
        except (ValueError, OverflowError):
            return None


def _fraction(digits: str) -> timedelta:
    """Digits behind a second's point as a time; nanoseconds are cut."""
    return timedelta(microseconds=int(digits[:6].ljust(6, "0"))) if digits else timedelta(0)
