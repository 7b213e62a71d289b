"""The chances that a simulation plays through.

They are always the same ones, evenly spread, so that equal states give equal answers and few draws suffice. A Latin
hypercube (McKay, Beckman & Conover, Technometrics 1979, 21(2):239): along each dimension the draws lie in the middles
of equally likely strata, in an order of their own.
"""

from __future__ import annotations

import random
from functools import lru_cache
from math import sqrt
from statistics import NormalDist

DRAWS = 96
"""Futures that are played through: the ends of a range of 80 % then lie between the 9th and 10th from either side."""


@lru_cache(maxsize=256)
def shares(dimension: int) -> tuple[float, ...]:
    """One share of chance for each draw, 0 to 1."""
    order = list(range(DRAWS))
    # The same chances for everyone, not secrets.
    random.Random(dimension).shuffle(order)  # noqa: S311
    return tuple((place + 0.5) / DRAWS for place in order)


@lru_cache(maxsize=256)
def normals(dimension: int) -> tuple[float, ...]:
    """One standard normal figure for each draw."""
    normal = NormalDist()
    return tuple(normal.inv_cdf(share) for share in shares(dimension))


def quantile(rising: list[float], share: float) -> float:
    """The value that a share of a rising list does not pass, between its members in proportion."""
    place = share * len(rising) - 0.5
    if place <= 0:
        return rising[0]
    if place >= len(rising) - 1:
        return rising[-1]
    low = int(place)
    return rising[low] + (rising[low + 1] - rising[low]) * (place - low)


def fair(rising: list[float]) -> float:
    """The middle of rising times, where an error counts as a share of the time: an hour is more of two than of ten.

    The median with each time ``t`` weighed by ``1 / sqrt(t)``. Where times are nearly alike it is the median; of
    log-normal ones it is ``exp(-sd^2 / 2)`` of it. Weighed by ``1 / t`` the mean relative error would be least (the
    optimum of the mean absolute percentage error: Gneiting, J. Am. Stat. Assoc. 2011 106:746), and half of all ends
    would come later than told by far more than come earlier; this is half the way.
    """
    weights = [1 / sqrt(max(time, 1e-9)) for time in rising]
    half, reached = sum(weights) / 2, 0.0
    for time, weight in zip(rising, weights, strict=True):
        reached += weight
        if reached >= half:
            return time
    return rising[-1]
