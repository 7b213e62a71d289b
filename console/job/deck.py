"""The chances that a simulation plays through.

They are always the same ones, evenly spread, so that equal states give equal answers and few draws suffice. A Latin
hypercube (McKay, Beckman & Conover, Technometrics 1979, 21(2):239): along each dimension the draws lie in the middles
of equally likely strata, in an order of their own.
"""

from __future__ import annotations

import random
from functools import lru_cache
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
