"""Figures as logs print them, read as values; None for what is no figure, never an exception."""

from __future__ import annotations

import re

_LONGEST = 18
"""Digits of a whole number; no counter of a run has more, and Python refuses thousands."""
_HUGE = 1e18
"""No figure of a run is as large; the comparison is false for ``nan``, too."""
_UNITS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_SHORT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)([kKMGBT]?)")
_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s?(ms|min|s|m|h|d)")
_CLOCK = re.compile(r"(?:(?:([0-9]{1,4}):)?([0-9]{1,3}):)?([0-9]{1,6})")
NUMBER = r"[0-9][0-9,]{0,23}"
"""A pattern for a whole number, with or without comma groups."""


def whole(text: str | None) -> int | None:
    """``9,998`` or ``9998`` as 9998."""
    digits = (text or "").replace(",", "")
    return int(digits) if digits.isdecimal() and digits.isascii() and len(digits) <= _LONGEST else None


def count(text: str | None) -> int:
    """As ``whole``, 0 for what is no number; for figures whose pattern has matched."""
    return whole(text) or 0


def real(text: str | None) -> float | None:
    """``846.33`` as a float; ``nan`` and ``inf`` are no figures."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if -_HUGE < value < _HUGE else None


def magnitude(text: str | None) -> float | None:
    """``0.1M`` as 100,000; ``123k``, ``1.2B`` (thousand million) likewise."""
    found = _SHORT.fullmatch(text or "")
    return float(found[1]) * _UNITS[found[2]] if found else None


def seconds(text: str | None) -> float | None:
    """``45s``, ``12m``, ``1.9h``, ``2.1d`` or ``1h30m`` in seconds; None for ``?``."""
    parts = _PART.findall(text or "")
    if not parts or _PART.sub("", text or "").strip():
        return None
    return sum(float(figure) * _SECONDS[unit] for figure, unit in parts)


def clock(text: str | None) -> float | None:
    """``MM:SS`` or ``H:MM:SS`` as tqdm prints it, in seconds; None for ``?``."""
    found = _CLOCK.fullmatch(text or "")
    return None if not found else int(found[1] or 0) * 3600.0 + int(found[2] or 0) * 60.0 + int(found[3])


def after(text: str, key: str, end: str = ",") -> float | None:
    """The figure between ``key`` and ``end`` (or the line's end); None when the key is missing or its figure cut.

    A search for a fixed text, not a pattern: batch lines come by the ten thousand.
    """
    start = text.find(key)
    if start < 0:
        return None
    start += len(key)
    stop = text.find(end, start)
    try:
        value = float(text[start:stop] if stop > 0 else text[start:])
    except ValueError:
        return None
    return value if -_HUGE < value < _HUGE else None


def whole_after(text: str, key: str, end: str = ",") -> int | None:
    """As ``after``, for a count."""
    value = after(text, key, end)
    return None if value is None else int(value)
