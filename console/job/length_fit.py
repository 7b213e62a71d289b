"""Laws of length that agree with what was seen, each as likely as the others.

Two parts, since neither is enough alone. Parametric laws (``console.job.length_tables``), weighed by

    log P = prior + sum over finished of log P(bin) + sum over in flight of log S(age) + cut x log S(cap)

tell of ages that nobody has reached yet. The product-limit estimate of Kaplan and Meier takes any form where much was
seen. A draw takes a parametric law ``G`` as ``k`` requests seen before, and adds those seen (a beta-Stacy process, the
conjugate form for survival with censoring; Walker & Muliere, Ann. Statist. 1997 25(4):1762):

    hazard of a bin = (k P_G(bin) + died') / (k S_G + died' + at risk - died),    died' ~ Gamma(died)

The parametric laws were fitted to the same requests, and averaging over both would make the draws too much alike: with
``n`` finished their variance is brought back by varying what was seen by ``sqrt(1 + 2 k / n)``.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from functools import lru_cache
from itertools import accumulate
from math import exp, log, sqrt
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from console.job.length_law import BINS, LONGEST, STEP, LengthLaw, edges_up_to, law_of, scaled
from console.job.length_tables import FINE, LEAST, LOWEST, Shape, place_of, shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.length_data import LengthData
    from console.job.length_prior import LengthPrior

DRAWS = 48
"""Laws that are drawn: enough for a tenth and a nine tenths quantile."""

_WEIGHT = 25.0
"""Requests that a parametric law counts for: by some hundreds finished, what was seen decides."""

_WIDEST = 2.0
"""Most by which what was seen is varied more than by its own chance."""

_NOBODY = 1e-12
"""Keeps a bin that nobody can have reached from dividing by 0."""

_HOPELESS = 7.0
"""A law this much less likely than the best one (log) is left out."""

_STEP_SHARE = 0.55
"""Means are tried in steps of this many of their own standard errors."""

_ROOM = 0.1
"""Log-means keep this far from the ends of the lattice."""


class _Point(NamedTuple):
    """A law that was weighed."""

    weight: float
    shape: Shape
    log_mean: float


def draws(
    data: LengthData, prior: LengthPrior, *, weight: float = _WEIGHT, shape_known: bool = True
) -> tuple[LengthLaw, ...]:
    """Laws that agree with what was seen, by ascending parametric mean.

    Args:
        data: What was seen.
        prior: What is expected of the mean.
        weight: ``k`` above.
        shape_known: The lengths are real ones; else only their sum is, and they tell nothing of a law's form.
    """
    log_first = log(edges_up_to(data.cap)[1])
    last = max((place for place, count in enumerate(data.at_risk) if count), default=-1) + 1
    died = data.died[:last]
    others = [count - gone for count, gone in zip(data.at_risk, died, strict=False)]
    terms = _terms(died, min(_WIDEST, sqrt(1 + 2 * weight / max(1.0, data.ended))))
    chosen = _resampled(_weighed(data, prior, shape_known=shape_known))
    laws = []
    for (_, shape, log_mean), noise in zip(chosen, _noise(), strict=True):
        start = place_of(log_first - log_mean)
        kept = (1.0, *shape.survival[start : start + FINE * BINS : FINE][:BINS])
        drawn = [
            n * root**3 if n and (root := a + b * z) > 0 else 0.0 for (n, a, b), z in zip(terms, noise, strict=False)
        ]
        survival = _blended(kept, weight, others, drawn) if last else kept
        laws.append(law_of(shape.family, survival, data.cap))
    return tuple(laws)


def moved(laws: Sequence[LengthLaw], count: float, later: tuple[int, float]) -> tuple[LengthLaw, ...]:
    """Laws that take into account requests of which only number and sum are known.

    With ``n`` told apart, whose law has the mean ``m``, and ``n'`` more of mean ``m'``, which are a fair sample in a
    steady state, all are multiplied by ``(n m + n' m') / ((n + n') m)``; ``m'`` is varied by its standard error.

    Args:
        laws: By those told apart.
        count: ``n``.
        later: ``n'`` and ``m'``, tokens.
    """
    more, mean = later
    found = []
    for law, noise in zip(laws, _noise(), strict=True):
        own = law.mean or 1.0
        spread = sqrt(max(0.0, 2 * law.residual_mean_equilibrium / own - 1))
        varied = mean * max(0.0, 1 + noise[0] * spread / sqrt(more))
        found.append(scaled(law, min(2.0, max(0.5, (count * own + more * varied) / ((count + more) * own)))))
    return tuple(found)


def blurred(laws: Sequence[LengthLaw], spread: float) -> tuple[LengthLaw, ...]:
    """Laws that differ more: lengths multiplied by log-normal figures of this spread, about 1."""
    return tuple([scaled(law, exp(spread * noise[1])) for law, noise in zip(laws, _noise(), strict=True)])


def shifted(laws: Sequence[LengthLaw], log_factor: float, sd: float) -> tuple[LengthLaw, ...]:
    """Laws of other requests, whose lengths are ``exp(log_factor)`` of these, give or take ``sd``."""
    return tuple([scaled(law, exp(log_factor + sd * noise[2])) for law, noise in zip(laws, _noise(), strict=True)])


def _weighed(data: LengthData, prior: LengthPrior, *, shape_known: bool) -> list[_Point]:
    """Laws worth looking at: along each shape's means, as far as they are likely."""
    log_first = log(edges_up_to(data.cap)[1])
    least, most = log_first + _ROOM, log_first - LOWEST - _ROOM
    middle = _guess(data, prior, least, most)
    spread = 1 / sqrt(data.ended + 1 / prior.spread**2)
    points: list[_Point] = []
    best = float("-inf")
    for shape in shapes():
        if shape.endless and (not shape_known or data.cap >= LONGEST):
            continue  # nothing that was seen can tell of it, or no limit would end it
        step = max(STEP / FINE, _STEP_SHARE * min(1.0, shape.spread) * spread)
        start = _at(data, prior, shape, middle, log_first)
        along = [_Point(start + log(step), shape, middle)]
        for way in (step, -step):
            here, before, top = middle + way, start, start
            while least < here < most:
                value = _at(data, prior, shape, here, log_first)
                along.append(_Point(value + log(step), shape, here))
                top = max(top, value)
                if value <= before and (value < top - _HOPELESS or top < best - _HOPELESS):
                    break
                here, before = here + way, value
        if shape_known:
            best = max(best, *[point.weight for point in along])
        else:
            top = max(point.weight for point in along) - shape.weight
            along = [point._replace(weight=point.weight - top) for point in along]
        points += along
    best = max(point.weight for point in points)
    return [point for point in points if point.weight > best - _HOPELESS]


def _guess(data: LengthData, prior: LengthPrior, least: float, most: float) -> float:
    """Where to begin: the total time on test, with what is expected."""
    weight = 1 / prior.spread**2
    mean = (data.tokens + weight * exp(prior.log_mean)) / (data.ended + weight)
    return min(most - 0.1, max(least + 0.1, log(mean)))


def _at(data: LengthData, prior: LengthPrior, shape: Shape, log_mean: float, log_first: float) -> float:
    """How likely one law is, the formula in the module's head."""
    start, end = (at := place_of(log_first - log_mean)), at + FINE * (BINS - 1)
    mean = log((1 - shape.endless) * exp(log_mean) + shape.endless * data.cap) if shape.endless else log_mean
    value: float = shape.weight - 0.5 * ((mean - prior.log_mean) / prior.spread) ** 2
    value += sum(map(mul, data.died_later, shape.log_bin[start:end:FINE]))
    value += sum(map(mul, data.lived_later, shape.log_survival[start:end:FINE]))
    if data.died[0]:
        value += data.died[0] * log(max(LEAST, 1 - shape.survival[start]))
    return value + data.cut * shape.log_survival[end]


def _resampled(points: Sequence[_Point]) -> list[_Point]:
    """Points as often as they are likely, evenly by rank: no chance in it."""
    ordered = sorted(points, key=lambda point: point.log_mean)
    best = max(point.weight for point in ordered)
    reach = list(accumulate(exp(point.weight - best) for point in ordered))
    return [ordered[bisect_left(reach, reach[-1] * (number + 0.5) / DRAWS)] for number in range(DRAWS)]


def _blended(kept: tuple[float, ...], weight: float, others: Sequence[float], drawn: Sequence[float]) -> list[float]:
    """A parametric survival function, with what was seen added; the formula in the module's head.

    Args:
        kept: It, at the edges.
        weight: ``k``.
        others: At risk less died, in each bin that somebody reached.
        drawn: ``died'``, likewise.
    """
    lives = [
        1 - (weight * (here - there) + gone) / (weight * here + rest + gone + _NOBODY)
        for here, there, rest, gone in zip(kept, kept[1:], others, drawn, strict=False)
    ]
    survival = [*accumulate(lives, mul, initial=1.0)]
    # Where nobody was seen, the parametric law goes on from what is alive.
    last, alive = len(lives), survival[-1]
    # The shares first: of hardly anything, alive / kept[last] would be infinite.
    survival += [alive * (each / kept[last]) if kept[last] > 0 else 0.0 for each in kept[last + 1 :]]
    return survival


def _terms(died: Sequence[float], wider: float) -> list[tuple[float, float, float]]:
    """Gamma figures of mean ``died`` by Wilson and Hilferty: ``died (a + b z)^3`` of a normal ``z``, ``b`` widened."""
    return [(n, 1 - 1 / (9 * n), wider / (3 * sqrt(n))) if n else (0.0, 0.0, 0.0) for n in died]


@lru_cache(maxsize=1)
def _noise() -> tuple[tuple[float, ...], ...]:
    """Normal figures, for each draw and bin; over the draws of each bin their mean is 0 and their variance 1."""
    dice = random.Random(1)  # noqa: S311 -- the same figures each time are wanted
    columns = []
    for _ in range(BINS):
        column = [dice.gauss(0.0, 1.0) for _ in range(DRAWS)]
        middle = sum(column) / DRAWS
        scale = sqrt(sum([(each - middle) ** 2 for each in column]) / DRAWS)
        columns.append([(each - middle) / scale for each in column])
    return tuple(zip(*columns, strict=True))
