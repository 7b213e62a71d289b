"""Figures as words for people: one place, so that the same figure reads the same everywhere.

Unknown (None, or a number that is not finite) is ``--`` in every function, never 0.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

UNKNOWN = "--"
"""What stands for a figure that is not known."""

_MINUTE = 60
_HOUR = 3_600
_DAY = 86_400


def duration(seconds: float | None) -> str:
    """Seconds as at most two units: ``42 s``, ``7 min``, ``1 h 30 min``, ``2 d 3 h``.

    Rounded to the smaller unit shown. Negative durations read as 0, since nothing shown here runs backwards.
    """
    if seconds is None or not isfinite(seconds):
        return UNKNOWN
    whole = max(0, round(seconds))
    if whole < _MINUTE:
        return f"{whole} s"
    minutes = round(whole / _MINUTE)
    if minutes < _HOUR // _MINUTE:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < _DAY // _HOUR:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(round(whole / _HOUR), 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def age(then: datetime | None, now: datetime) -> str:
    """How long ago ``then`` was: ``now`` below one second, else ``12 s ago``."""
    if then is None:
        return UNKNOWN
    seconds = (now - then).total_seconds()
    return "now" if seconds < 1 else f"{duration(seconds)} ago"


def ahead(then: datetime | None, now: datetime) -> str:
    """How far away ``then`` is: ``in 3 h 5 min``; ``now`` when it has come."""
    if then is None:
        return UNKNOWN
    seconds = (then - now).total_seconds()
    return "now" if seconds < 1 else f"in {duration(seconds)}"


def count(number: float | None) -> str:
    """A count with thousands separated: ``83,288``."""
    return UNKNOWN if number is None or not isfinite(number) else f"{round(number):,}"


def plural(number: int, word: str) -> str:
    """A count and its noun: ``1 request``, ``1,200 requests``."""
    return f"{count(number)} {word}" if number == 1 else f"{count(number)} {word}s"


_SCALES = ((1e9, 999_950_000, "G"), (1e6, 999_950, "M"), (1e3, 999.5, "k"))
"""A scale, from where on it is used (where the next smaller one would be rounded up to 1000), and its sign."""


def tokens(number: float | None) -> str:
    """A token count in thousands or millions with one decimal: ``950``, ``83.3 k``, ``10.0 M``."""
    if number is None or not isfinite(number):
        return UNKNOWN
    for scale, begins, sign in _SCALES:
        if abs(number) >= begins:
            return f"{number / scale:.1f} {sign}"
    return f"{number:.0f}"


def rate(tokens_per_s: float | None) -> str:
    """Token throughput: ``846 tok/s``; one decimal below 10."""
    if tokens_per_s is None or not isfinite(tokens_per_s):
        return UNKNOWN
    shown = f"{tokens_per_s:,.0f}" if tokens_per_s >= 9.95 or tokens_per_s == 0 else f"{tokens_per_s:.1f}"  # noqa: PLR2004 -- where one decimal would show "10.0"
    return f"{shown} tok/s"


def requests_rate(requests_per_s: float | None) -> str:
    """Request throughput: ``0.42 req/s``."""
    return UNKNOWN if requests_per_s is None or not isfinite(requests_per_s) else f"{requests_per_s:.2g} req/s"


def share(of_one: float | None) -> str:
    """A share of a whole as servers print it, two decimals: ``0.82``."""
    return UNKNOWN if of_one is None or not isfinite(of_one) else f"{of_one:.2f}"


def percent(of_one: float | None) -> str:
    """A share of a whole as per cent: ``82 %``; one decimal below 10 % unless 0."""
    if of_one is None or not isfinite(of_one):
        return UNKNOWN
    hundred = of_one * 100
    return f"{hundred:.1f} %" if 0 < hundred < 9.95 else f"{hundred:.0f} %"  # noqa: PLR2004 -- where one decimal would show "10.0"


def latency(seconds: float | None) -> str:
    """An answer's time: ``38 ms`` below one second, else ``1.0 s``."""
    if seconds is None or not isfinite(seconds):
        return UNKNOWN
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def size(number: float | None) -> str:
    """Bytes in powers of 1,024: ``512 B``, ``1.5 KiB``, ``2.0 GiB``."""
    if number is None or not isfinite(number):
        return UNKNOWN
    value, units = float(number), ["B", "KiB", "MiB", "GiB", "TiB"]
    while abs(value) >= 1023.95 and len(units) > 1:  # noqa: PLR2004 -- where one decimal would show "1024.0"
        value /= 1024
        units.pop(0)
    return f"{value:.0f} B" if units[0] == "B" else f"{value:.1f} {units[0]}"
