"""Which of the requests in flight left, when it is known how many did and what they held together.

Several sets fit the sum. Each is as likely as the product of its members' hazards (how likely a request of that age is
to end now) and of the agreement of their sum; one is drawn by these weights. Drawn, not the likeliest taken, for that
would make all lengths alike; by figures spread evenly over the unit instead of chance, so that a log read twice gives
the same.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from math import exp, sqrt
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

GOLDEN = 0.6180339887498949
"""Multiples of the golden section, less their whole parts, are spread evenly over the unit."""

_REACH = 2.5
"""Candidates lie within this many standard deviations of what is called for."""

_ALONE = 0.8
"""A request is surely the one that left when it has this share of all candidates' weight."""

_CHANCE = 0.7
"""A mean of keys is taken to differ by chance up to so many of its standard errors."""

_MOST_TILT = 2.5
"""Hazards are not tilted by more than this exponent: those far from the others would outweigh all."""

_HARDLY = 1e-9
"""The weight of a set whose sum is not met, one token off."""

_TRIES = 4
"""Sets that are tried, of which one is drawn."""


class Flying(NamedTuple):
    """A request in flight; ordered by its key.

    Attributes:
        key: Prompt less the step clock at its admission, tokens: what it holds is the clock plus this.
        prompt: Prompt tokens that it alone holds.
        loose: Its prompt is a mean of several.
    """

    key: float
    prompt: float
    loose: bool


class Match(NamedTuple):
    """Those that left.

    Attributes:
        places: Their places, ascending.
        off: By how much their keys fall short of what was called for, tokens.
        sure: No other set was nearly as likely.
    """

    places: list[int]
    off: float
    sure: bool


def leaving(
    flying: Sequence[Flying], hazards: Sequence[float], called: tuple[int, float], blur: tuple[float, float], seed: int
) -> Match:
    """The requests that left.

    Args:
        flying: By key, ascending; not empty.
        hazards: How likely each is to end, in the same order, on any scale; above 0.
        called: How many left, and the sum of their keys.
        blur: Standard deviations of a key that is not loose and of one that is, tokens.
        seed: Another one for each question.
    """
    count, total = called
    if count >= len(flying):
        places = list(range(len(flying)))
        return Match(places, total - sum([one[0] for one in flying]), sure=len(flying) == 1)
    wide = any([one[2] for one in flying])  # noqa: C419 -- a list is faster than a generator
    call = _Call(flying, hazards, blur[0], blur[1] if wide else 0.0)
    if count == 1:
        place, weight, share = _last(call, total, 0.0, (), seed * GOLDEN % 1.0)
        return Match([place], total - flying[place][0], sure=weight > 0 and share > _ALONE)
    return _several(call, count, total, seed)


class _Call(NamedTuple):
    """What is asked of: requests, their hazards, and how sure a key is, and a loose one (0: there is none)."""

    flying: Sequence[Flying]
    hazards: Sequence[float]
    blur: float
    loose: float


def _several(call: _Call, count: int, total: float, seed: int) -> Match:
    """All but one by their hazards alone, the last one so that the sum is met; of a few such sets one."""
    flying, weights = call.flying, _tilted(call, total / count, count)
    heap = list(accumulate(weights))
    step = heap[-1] / (count - 1)
    tried: list[tuple[float, list[int]]] = []
    for turn in range(_TRIES):
        shift = (seed * _TRIES + turn) * GOLDEN % 1.0
        chosen = {bisect_left(heap, (place + shift) * step) for place in range(count - 1)}
        if len(chosen) < count - 1:  # a weight wider than a step is met twice: those next in weight fill up
            rest = sorted(set(range(len(flying))) - chosen, key=weights.__getitem__)
            chosen.update(rest[len(chosen) - count + 1 :])
        called = total - sum([flying[place][0] for place in chosen])
        variance = call.blur * call.blur * (count - 1)
        if call.loose:
            variance += call.loose * call.loose * sum([flying[place][2] for place in chosen])
        place, weight, _ = _last(call, called, variance, chosen, shift)
        if weight <= 0:
            weight = _HARDLY / (1 + abs(called - flying[place][0]))
        tried.append((weight, [*chosen, place]))
    point = seed * GOLDEN % 1.0 * sum([weight for weight, _ in tried])
    places = tried[-1][1]
    for weight, one in tried:
        point -= weight
        if point <= 0:
            places = one
            break
    return Match(sorted(places), total - sum([flying[place][0] for place in places]), sure=False)


def _tilted(call: _Call, mean: float, count: int) -> Sequence[float]:
    """Hazards, made to agree with the mean key of those that left.

    Given the sum of ``count`` keys, each is distributed as by the hazards times ``exp(t key)``; with their standard
    deviation ``d`` about ``m``, ``t = (mean - m) / d^2`` makes up most of the difference. One that chance alone
    explains is let be.
    """
    keys = [one[0] for one in call.flying]
    whole = sum(call.hazards)
    middle = sum(map(mul, keys, call.hazards)) / whole
    moment = sum([weight * (key - middle) ** 2 for key, weight in zip(keys, call.hazards, strict=True)]) / whole
    spread = sqrt(moment) + 1.0
    off = (mean - middle) / spread
    chance = _CHANCE / sqrt(count)
    if abs(off) <= chance:
        return call.hazards
    tilt, most = off / spread, _MOST_TILT  # ``off`` is in standard deviations already
    return [
        weight * exp(max(-most, min(most, tilt * (key - middle))))
        for key, weight in zip(keys, call.hazards, strict=True)
    ]


def _last(
    call: _Call, key: float, variance: float, taken: set[int] | tuple[()], point: float
) -> tuple[int, float, float]:
    """One request by its key.

    Args:
        call: What is asked of.
        key: What is called for, tokens.
        variance: Of what is called for.
        taken: Places that can't be had.
        point: Draws one of the candidates, 0 to 1.

    Returns:
        Its place, the weight of all candidates together (0: none is near, this is the nearest), and its share of it.
    """
    flying, hazards, blur, far = call
    near = sqrt(variance + blur * blur)
    far = sqrt(variance + far * far) if far else 0.0
    reach = _REACH * (far or near)
    low, high = bisect_left(flying, (key - reach,)), bisect_left(flying, (key + reach,))
    weights: list[float] = []
    for place in range(low, high):
        mine, _, loose = flying[place]
        spread = far if loose else near
        off = (mine - key) / spread
        fits = -_REACH < off < _REACH and place not in taken
        weights.append(hazards[place] / spread * exp(-0.5 * off * off) if fits else 0.0)
    whole = sum(weights)
    if whole <= 0:
        return _nearest(flying, key, taken), 0.0, 0.0
    point *= whole
    for place, weight in enumerate(weights, low):
        point -= weight
        if point <= 0 and weight:
            return place, whole, weight / whole
    return low + weights.index(max(weights)), whole, max(weights) / whole


def _nearest(flying: Sequence[Flying], key: float, taken: set[int] | tuple[()]) -> int:
    """The place of the nearest key that is not taken."""
    above = bisect_left(flying, (key,))
    below, size = above - 1, len(flying)
    while below in taken:
        below -= 1
    while above in taken:
        above += 1
    if above >= size:
        return below
    if below < 0:
        return above
    return below if key - flying[below][0] < flying[above][0] - key else above
