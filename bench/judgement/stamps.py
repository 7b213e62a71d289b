"""Times as logs print them: whole seconds of the host's local time."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

_DAY_S = 86_400


class LocalTime:
    """Prints times of one zone, which keeps the offset that it has at the beginning.

    Args:
        zone: IANA name.
        begin: Seconds since the epoch.
    """

    def __init__(self, zone: str, begin: float) -> None:
        offset = datetime.fromtimestamp(begin, ZoneInfo(zone)).utcoffset()
        self.zone = zone
        self.offset_s = int(offset.total_seconds()) if offset else 0
        self._day = -1
        self._date = ("", "")
        self._second = -1
        self._text = ("", "")

    def iso(self, at: float) -> str:
        """``2026-02-24 03:19:40``."""
        return self._at(at)[0]

    def short(self, at: float) -> str:
        """``02-24 03:19:40``."""
        return self._at(at)[1]

    def _at(self, at: float) -> tuple[str, str]:
        second = int(at) + self.offset_s
        if second != self._second:
            self._second = second
            day, rest = divmod(second, _DAY_S)
            if day != self._day:
                self._day = day
                date = datetime.fromtimestamp(day * _DAY_S, UTC)
                self._date = (f"{date:%Y-%m-%d}", f"{date:%m-%d}")
            clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
            self._text = (f"{self._date[0]} {clock}", f"{self._date[1]} {clock}")
        return self._text

    @property
    def line(self) -> str:
        """How the job's script says its zone."""
        sign, minutes = "-" if self.offset_s < 0 else "+", abs(self.offset_s) // 60
        return f"Time zone: {self.zone} (UTC{sign}{minutes // 60:02}:{minutes % 60:02})"


_seconds = (-1, "")


def utc(at: float) -> str:
    """``2026-02-24T03:19:40.125Z``, as ``progress.jsonl`` has it."""
    global _seconds  # noqa: PLW0603 - a memory of one second: thousands of events share it
    second = int(at)
    if second != _seconds[0]:
        _seconds = (second, f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}")
    return f"{_seconds[1]}.{int((at - second) * 1000):03}Z"
