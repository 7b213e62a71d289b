"""The parametric shapes that lengths are compared with, tabulated once so that a fit is a few sums of products.

Log-normal, gamma and Weibull laws in several widths, and mixtures of two humps, all with mean 1, on a fine lattice of
log-lengths. A law of another mean is the same table, read from another place. Some come with a share of answers that
never end by themselves: beyond the longest age that was seen, only such a law expects what the limit must end.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from functools import lru_cache
from math import erfc, exp, gamma, lgamma, log, sqrt
from typing import TYPE_CHECKING

from console.job.length_law import STEP

if TYPE_CHECKING:
    from collections.abc import Callable

FINE = 4
"""Lattice points per bin: means are told apart to 2.4 %, finer than a fit to some hundred lengths can."""

LOWEST = -9.0
HIGHEST = 7.5
"""Ends of the lattice, log of length over mean."""

_STRAY = 0.005
"""Share of lengths and ages that may be anything: which request ended is not always told right, and one odd length must
not rule out a law."""

_ANY_BIN = 0.02
"""The probability of a bin for such a one: some fifty bins are in question."""

LEAST = _STRAY * _ANY_BIN
"""No bin is less likely."""

_HUMP = 0.4
"""Log-standard deviation of each hump of a mixture."""

_LAWS: dict[str, tuple[tuple[float, ...], ...]] = {
    "lognormal": ((0.06,), (0.12,), (0.2,), (0.3,), (0.42,), (0.55,), (0.7,), (0.85,), (1.0,), (1.2,), (1.5,)),
    "gamma": ((0.6,), (1.0,), (1.6,), (2.5,), (5.0,), (12.0,)),
    "weibull": ((0.6,), (0.8,), (1.25,), (1.8,), (3.0,)),
    "mixture": ((0.15, 5.0), (0.15, 10.0), (0.35, 4.0), (0.35, 8.0), (0.6, 6.0)),
}
"""Log-normal: standard deviation of the logarithm. Gamma, Weibull: the shape parameter (1 is the exponential law).
Mixture of two log-normal humps: the share of the longer one, and how many times as long it is."""

_USUAL, _STRAYS, _OTHER = 0.75, 0.7, -1.5
"""Answers of language models usually spread log-normally by a factor of two: the log-normal width to expect, how far
its logarithm strays, and the log-weight of every other law."""


_ENDLESS: tuple[tuple[float, float], ...] = ((0.01, -1.9), (0.03, -2.0), (0.08, -2.3))
"""Shares of answers that never end by themselves (a model that repeats itself does not stop), and the log-weight of
each beside none."""

_ENDLESS_LAWS = (0.42, 0.7, 1.0)
"""Widths of the log-normal laws that come with such a share too: finer ones would tell of the rest, not of it."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One law of mean 1, but for answers that never end by themselves.

    Attributes:
        family: Its name.
        params: What tells it from others of its family.
        weight: Log of how likely it is before anything is known.
        spread: Its standard deviation.
        survival: ``S`` at the lattice points.
        log_survival: The logarithm of what a request in flight is weighed by.
        log_bin: Likewise of a finished one, for the bin that begins at each lattice point.
        endless: Share of answers that only the limit ends, besides those of the law.
    """

    family: str
    params: tuple[float, ...]
    weight: float
    spread: float
    survival: array[float]
    log_survival: array[float]
    log_bin: array[float]
    endless: float = 0.0


def place_of(log_ratio: float) -> int:
    """The lattice point nearest to a log of length over mean."""
    return round((log_ratio - LOWEST) / STEP * FINE)


@lru_cache(maxsize=1)
def shapes() -> tuple[Shape, ...]:
    """All of them, the likeliest first."""
    made = [_shape(family, params) for family, laws in _LAWS.items() for params in laws]
    made += [_shape("lognormal", (width,), *share) for width in _ENDLESS_LAWS for share in _ENDLESS]
    return tuple(sorted(made, key=lambda shape: -shape.weight))


def _shape(family: str, params: tuple[float, ...], endless: float = 0.0, log_weight: float = 0.0) -> Shape:
    count = round((HIGHEST - LOWEST) / STEP * FINE)
    grid = [LOWEST + place * STEP / FINE for place in range(count + 1)]
    law = _TABLES[family](grid, *params)
    kept = [endless + (1 - endless) * each for each in law] if endless else law
    alive = [log(_STRAY + (1 - _STRAY) * each) for each in kept]
    bins = [log(LEAST + (1 - _STRAY) * (here - there)) for here, there in zip(kept, kept[FINE:], strict=False)]
    usual = family == "lognormal"
    weight = log_weight + (-0.5 * (log(params[0] / _USUAL) / _STRAYS) ** 2 if usual else _OTHER)
    return Shape(
        family, params, weight, _spread(grid, law), array("d", kept), array("d", alive), array("d", bins), endless
    )


def _spread(grid: list[float], kept: list[float]) -> float:
    """Standard deviation of a law of mean 1: ``E[x^2]`` is the integral of ``2 x S``, here over log-lengths."""
    step = grid[1] - grid[0]
    return sqrt(max(1e-4, 2 * step * sum([exp(2 * y) * each for y, each in zip(grid, kept, strict=True)]) - 1))


def _lognormal(grid: list[float], sigma: float) -> list[float]:
    return [0.5 * erfc((y + sigma * sigma / 2) / sigma / sqrt(2)) for y in grid]


def _weibull(grid: list[float], shape: float) -> list[float]:
    scale = log(gamma(1 + 1 / shape))
    return [exp(-exp(min(7.0, shape * (y + scale)))) for y in grid]


def _gamma(grid: list[float], shape: float) -> list[float]:
    """By summing the density over the lattice: good to 1e-3, which is enough for a comparison."""
    step = grid[1] - grid[0]
    norm = shape * log(shape) - lgamma(shape)
    parts = [exp(norm + shape * y - shape * exp(min(7.0, y))) * step for y in grid]
    total, kept, gone = sum(parts), [], 0.0
    for part in parts:
        kept.append(max(0.0, 1 - (gone + part / 2) / total))
        gone += part
    return kept


def _mixture(grid: list[float], share: float, ratio: float) -> list[float]:
    short = log(1 - share + share * ratio)
    first = _lognormal([y + short for y in grid], _HUMP)
    second = _lognormal([y + short - log(ratio) for y in grid], _HUMP)
    return [(1 - share) * one + share * other for one, other in zip(first, second, strict=True)]


_TABLES: dict[str, Callable[..., list[float]]] = {
    "lognormal": _lognormal,
    "gamma": _gamma,
    "weibull": _weibull,
    "mixture": _mixture,
}
