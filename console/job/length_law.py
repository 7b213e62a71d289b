"""A law of completion lengths: how likely an answer is to be longer than so many tokens.

A law is kept as its survival function ``S(x) = P(L > x)`` at the edges of a grid and is linear between them. That holds
any shape: one hump, two humps, nearly constant, cut at the limit. With ``E`` the mean,

    E = integral of S from 0 to the cap
    tokens left at age a = (integral of S from a to the cap) / S(a)
    mean age of requests in flight in the steady state = E[L^2] / 2E = (integral of x S) / E     (renewal theory)
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from math import exp, log
from operator import add, mul
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

BINS = 72
"""Bins of the grid: between the cap and a thousandth of it, each edge is 1.1 times the one before."""

STEP = log(1.1)
"""Width of a bin in log-tokens: an even spread within a bin moves a mean by 1 % at most."""

LONGEST = 131_072
"""Tokens that stand in for the cap when none is known: no server makes more of one answer."""


@lru_cache(maxsize=64)
def edges_up_to(cap: int) -> Sequence[float]:
    """Where the bins begin, tokens: 0, then ``cap / 1.1^i`` upwards; the last one is the cap itself."""
    return array("d", (0.0, *(cap * exp(-STEP * place) for place in range(BINS - 1, 0, -1)), float(cap)))


@dataclass(frozen=True, slots=True, eq=False)
class LengthLaw:
    """How long completions are; made by ``law_of``. Compared by identity, so that what is reckoned of it can be kept.

    Its figures take 8 bytes each: four hundred laws are held for a run of nine datasets.

    Attributes:
        family: The shape that it leans on where nothing was seen: ``lognormal``, ``gamma``, ``weibull`` or
            ``mixture``.
        params: ``S`` at the edges: 1 at the first; at the last the share that is cut at the cap.
        cap: New tokens of one request at most.
        edges: Tokens, ascending from 0 to the cap.
        areas: Integral of ``S`` from 0 to each edge, tokens.
        residual_mean_equilibrium: Mean age, and as well mean number of tokens left, of requests in flight in the steady
            state, tokens.
    """

    family: str
    params: Sequence[float]
    cap: int
    edges: Sequence[float]
    areas: Sequence[float]
    residual_mean_equilibrium: float

    @property
    def mean(self) -> float:
        """Mean length, tokens."""
        return self.areas[-1]

    @property
    def cut(self) -> float:
        """Share of completions that end at the cap, 0 to 1."""
        return self.params[-1]

    def survival(self, x: float) -> float:
        """``P(L > x)``; 0 from the cap on, where every completion ends."""
        if x >= self.cap:
            return 0.0
        return self._at(x)[0]

    def survivals(self, age: float, more: Sequence[float]) -> list[float]:
        """``P(L > age + x)`` for each ``x`` of ``more``, which rises; as ``survival``, in one go."""
        edges, kept, cap = self.edges, self.params, self.cap
        place = bisect_right(edges, max(0.0, age)) - 1
        found = []
        for x in more:
            length = age + x
            if length >= cap:
                found.append(0.0)
                continue
            while edges[place + 1] <= length:
                place += 1
            low, here = edges[place], kept[place]
            found.append(here + (kept[place + 1] - here) * (length - low) / (edges[place + 1] - low))
        return found

    def mean_left(self, age: float) -> float:
        """Tokens that a request still makes on average once it has made ``age`` of them."""
        if age >= self.cap:
            return 0.0
        kept, area = self._at(age)
        # Where no law expects anything to live, what does live is cut at the next moment.
        return min(self.cap - age, (self.mean - area) / kept) if kept > 1e-9 else 0.0  # noqa: PLR2004

    def quantile(self, p: float) -> float:
        """The length that a share ``p`` of the completions does not exceed, tokens."""
        target = 1.0 - p
        if target <= self.params[-1]:
            return float(self.cap)
        place = bisect_right(self.params, -target, key=lambda kept: -kept)
        here, there = self.params[place - 1], self.params[place]
        share = (here - target) / (here - there) if here > there else 1.0
        return self.edges[place - 1] + share * (self.edges[place] - self.edges[place - 1])

    def _at(self, x: float) -> tuple[float, float]:
        """``S`` and its integral from 0, at a length below the cap."""
        place = bisect_right(self.edges, max(0.0, x)) - 1
        low, high = self.edges[place], self.edges[place + 1]
        here, there = self.params[place], self.params[place + 1]
        kept = here + (there - here) * (max(0.0, x) - low) / (high - low)
        return kept, self.areas[place] + (max(0.0, x) - low) * (here + kept) / 2


def law_of(family: str, survival: Sequence[float], cap: int) -> LengthLaw:
    """A law by its survival function at the edges of ``edges_up_to(cap)``."""
    return _law(family, survival, cap, edges_up_to(cap), _parts_up_to(cap))


def scaled(law: LengthLaw, factor: float) -> LengthLaw:
    """The same law with all lengths but the cap multiplied."""
    *inner, near, _ = law.edges
    if near * factor < law.cap:
        # All bins but the last are as before, only wider or narrower.
        low, high, (here, there) = near * factor, law.cap, law.params[-2:]
        below = [area * factor for area in law.areas[:-1]]
        mean = below[-1] + (high - low) * (here + there) / 2
        former = law.residual_mean_equilibrium * law.mean - _moment(near, law.cap, here, there)
        moment = former * factor * factor + _moment(low, high, here, there)
        edges = array("d", (*[edge * factor for edge in inner], low, float(high)))
        areas = array("d", (*below, mean))
        return LengthLaw(law.family, law.params, law.cap, edges, areas, moment / mean if mean else 0.0)
    last = len(law.edges) - 1
    # Edges that would lie beyond the cap are laid just below it, in their order.
    laid = [min(edge * factor, law.cap * (1 - 1e-6 * (last - place))) for place, edge in enumerate(law.edges[:-1])]
    whole = array("d", (*laid, float(law.cap)))
    return _law(law.family, law.params, law.cap, whole, _parts(whole))


def _moment(low: float, high: float, here: float, there: float) -> float:
    """The integral of ``x S`` over a bin on which ``S`` is linear."""
    return (high - low) * (here * (2 * low + high) + there * (low + 2 * high)) / 6


_Parts = tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]
"""For each bin half its width, and what ``S`` at its beginning and at its end add to the integral of ``x S``."""


def _parts(edges: Sequence[float]) -> _Parts:
    pairs = list(pairwise(edges))
    return (
        tuple([(high - low) / 2 for low, high in pairs]),
        tuple([(high - low) * (2 * low + high) / 6 for low, high in pairs]),
        tuple([(high - low) * (low + 2 * high) / 6 for low, high in pairs]),
    )


@lru_cache(maxsize=64)
def _parts_up_to(cap: int) -> _Parts:
    return _parts(edges_up_to(cap))


def _law(family: str, survival: Sequence[float], cap: int, edges: Sequence[float], parts: _Parts) -> LengthLaw:
    halves, begins, ends = parts
    later = survival[1:]
    areas = array("d", accumulate(map(mul, halves, map(add, survival, later)), initial=0.0))
    moment = sum(map(mul, begins, survival)) + sum(map(mul, ends, later))
    return LengthLaw(family, array("d", survival), cap, edges, areas, moment / areas[-1] if areas[-1] else 0.0)
