"""Whether answers get longer: the newest completions beside those before them."""

from __future__ import annotations

from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING

from console.job.marks import between
from console.job.snapshot import Trend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.marks import Marks, Stretch

_STRETCHES = 4
"""Stretches between progress lines from which on their spread says something."""

_COMPLETIONS = 100
"""Completions of which a tendency may be told: lengths of answers often vary as much as their mean."""

_CHANGE = 0.05
"""A change by less than this share is none to the eye: printed means, too, are off by about that."""

_SURE = 2.5
"""Standard errors by which the halves must differ: by chance they do so in one of eighty cases."""


def trend_of(marks: Marks) -> Trend:
    """How the mean length of completions moves over the recent past, an hour and a half at most.

    The stretches between marks are parted where half of the completions lie before. With ``n`` completions of mean
    ``m`` in a stretch, the variance of one completion is ``sum n (m - m_half)^2 / (stretches - 2)``, and Welch's
    statistic of the halves' means, with that one variance for both, must exceed 2.5.

    Args:
        marks: How far the dataset was at moments, oldest first.

    Returns:
        ``UNKNOWN`` where too little has been seen.
    """
    seen = [one for one in (between(old, new) for old, new in pairwise(marks)) if one.mean is not None]
    if len(seen) < _STRETCHES or sum(one.done for one in seen) < _COMPLETIONS:
        return Trend.UNKNOWN
    before, after = _halves(seen)
    first, second = _mean(before), _mean(after)
    if first <= 0:
        return Trend.UNKNOWN
    spread = _spread(before, first) + _spread(after, second)
    variance = spread / (len(seen) - 2)
    error = sqrt(variance * (1 / _count(before) + 1 / _count(after)))
    change = second - first
    if abs(change) <= max(_CHANGE * first, _SURE * error):
        return Trend.FLAT
    return Trend.RISING if change > 0 else Trend.FALLING


def _halves(seen: Sequence[Stretch]) -> tuple[Sequence[Stretch], Sequence[Stretch]]:
    """The stretches in two parts of about as many completions; each has one at least."""
    half, passed = _count(seen) / 2, 0
    for place, one in enumerate(seen[:-1], start=1):
        passed += one.done
        if passed >= half:
            return seen[:place], seen[place:]
    return seen[:-1], seen[-1:]


def _count(seen: Sequence[Stretch]) -> int:
    return sum(one.done for one in seen)


def _mean(seen: Sequence[Stretch]) -> float:
    return sum(one.done * (one.mean or 0.0) for one in seen) / _count(seen)


def _spread(seen: Sequence[Stretch], mean: float) -> float:
    return sum(one.done * ((one.mean or 0.0) - mean) ** 2 for one in seen)
