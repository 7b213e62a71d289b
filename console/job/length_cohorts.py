"""Lengths of requests that no line tells apart, by how the job's counts grew while the batch was young.

vLLM logs sums each ten seconds and no admission. But those that began together are a cohort, whose age the batch's
clock tells (``console.job.batch_clock``), and one more cohort joins wherever some have ended. When the job says that 50
more have ended of which the mean is 380, they are shared among cohorts and ages by

    alive x hazard(age) x exp(theta x age),

where ``theta`` makes their mean what the job says. The hazard is learned from those that ended so (expectation and
maximization: Dempster, Laird & Rubin, J. R. Stat. Soc. B 1977 39(1):1).

After some mean lengths the cohorts have mixed, and counts tell of the mean alone: what comes later is left to sums.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from math import exp
from typing import TYPE_CHECKING, NamedTuple

from console.job.flight_hazard import BINS, RISING, bin_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.batch_clock import Word

_MIXED = 3.0
"""Mean lengths after which the cohorts have mixed."""

_PIECES = 48
"""Ages that are told apart in that time."""

_ROUNDS = 6
"""Of learning the hazard: from then on it hardly changes."""

_PRIOR = 1.0
"""Ended requests that the expected hazard counts for in each bin."""

_MOST = 0.98
"""Most of a cohort that ends within one stretch: that nobody is left would be taken as certain."""

_WORDS = 4
"""What the job said, the beginning included, from which on it tells of more than a mean."""

_LEAST = 10.0
"""And so many completions."""

_TRIES, _NEAR, _STEEPEST, _STRIDE = 12, 0.002, 30.0, 4.0
"""The search for ``theta``: steps, how near the mean must come, the greatest one, and the longest step, all in parts of
the oldest age."""

_NOBODY = 1e-4
"""Fewer are nobody."""

_ANY = 1e-12
"""A weight above 0 for all: the job's word counts for more than the hazard."""


class Cohorts(NamedTuple):
    """What was found.

    Attributes:
        ended: Lengths of requests that ended, tokens, and how many they stand for.
        alive: What those in flight had made then, tokens, and how many they are.
        later: How many more have ended since, and their mean in tokens; None when none did.
    """

    ended: tuple[tuple[float, float], ...]
    alive: tuple[tuple[float, float], ...]
    later: tuple[int, float] | None


def cohorts(words: tuple[Word, ...]) -> Cohorts | None:
    """How long requests were, by what the job said of a dataset; None when that tells too little.

    Args:
        words: On the batch's clock (``console.job.batch_clock.words_of``).
    """
    young = _young(words)
    if len(young) < _WORDS or young[-1].done < _LEAST:
        return None
    ended, alive = _found(young)
    more = round(words[-1].done - young[-1].done)
    later = (more, max(0.0, words[-1].tokens - young[-1].tokens) / more) if more > 0 else None
    return Cohorts(ended, alive, later)


def _young(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Those said before the cohorts have mixed."""
    made = 0.0
    for count, (last, word) in enumerate(pairwise(words), 1):
        made += (word.clock - last.clock) * word.running
        if count > 1 and word.clock > _MIXED * made / word.done:
            return words[: count + 1]
    return words


_Counted = tuple[tuple[float, float], ...]


@lru_cache(maxsize=4)
def _found(words: tuple[Word, ...]) -> tuple[_Counted, _Counted]:
    """Those that ended and those that live; kept, since a batch is young only once."""
    history = _lived(words, RISING)
    for _ in range(_ROUNDS - 1):
        history = _lived(words, history.hazard())
    return history.ended(), history.alive(words[-1].clock)


def _lived(words: Sequence[Word], hazard: Sequence[float]) -> _History:
    history = _History(words[0].running, words[-1].clock / _PIECES)
    for last, word in pairwise(words):
        history.pass_(last, word, hazard)
    return history


class _History:
    """Cohorts that live and end, from the dataset's beginning.

    Args:
        running: Requests that began with it.
        width: Tokens between two ages that are told apart.
    """

    def __init__(self, running: float, width: float) -> None:
        self._width = width
        self._born, self._count = [0.0], [running]
        self._ended: list[tuple[float, float]] = []
        self._died, self._exposed = [0.0] * BINS, [0.0] * BINS

    def pass_(self, last: Word, word: Word, hazard: Sequence[float]) -> None:
        """The stretch between two words of the job."""
        dies, span = word.done - last.done, word.clock - last.clock
        pieces = min(_PIECES, max(1, round(span / self._width)))
        step = span / pieces
        former = len(self._born)
        joins = max(0.0, dies + word.running - last.running) / pieces
        self._born += [last.clock + step * (piece + 0.5) for piece in range(pieces)]
        self._count += [joins] * pieces
        ages, owners = [], []
        for place, born in enumerate(self._born):
            joined = place - former
            if joined >= 0:
                ages.append(step / 4)  # the piece in which it joined is half over, and it ends somewhere in the rest
                owners.append(place)
            for piece in range(joined + 1 if joined >= 0 else 0, pieces):
                ages.append(last.clock + step * (piece + 0.5) - born)
                owners.append(place)
        bins = [bin_of(age) for age in ages]
        weights = [self._count[place] * hazard[at] + _ANY for place, at in zip(owners, bins, strict=True)]
        gone = [0.0] * len(self._born)
        for place, at, age, died in zip(owners, bins, ages, _tilted(ages, weights, dies, word, last), strict=True):
            self._exposed[at] += self._count[place] * step
            self._died[at] += died
            gone[place] += died
            if died > _NOBODY:
                self._ended.append((age, died))
        self._count = [max(count - lost, count * (1 - _MOST)) for count, lost in zip(self._count, gone, strict=True)]

    def hazard(self) -> list[float]:
        """The hazard of each bin by those that ended, smoothed over its neighbours."""
        usual = sum(self._died) / max(
            _ANY, sum([time * rise for time, rise in zip(self._exposed, RISING, strict=True)])
        )
        reached = max((place for place in range(BINS) if self._exposed[place] > 0.0), default=0)
        found = []
        for place in range(BINS):
            expected = max(_ANY, usual * RISING[min(place, reached)])
            died, time = _about(self._died, place), _about(self._exposed, place)
            found.append((died + _PRIOR) / (time + _PRIOR / expected))
        return found

    def ended(self) -> _Counted:
        """Those that ended."""
        return tuple(self._ended)

    def alive(self, clock: float) -> _Counted:
        """Those that live."""
        return tuple(
            [(clock - born, count) for born, count in zip(self._born, self._count, strict=True) if count > _NOBODY]
        )


def _about(figures: Sequence[float], place: int) -> float:
    return (figures[max(0, place - 1)] + 2 * figures[place] + figures[min(BINS - 1, place + 1)]) / 4


def _tilted(ages: Sequence[float], weights: Sequence[float], dies: float, word: Word, last: Word) -> list[float]:
    """Those that end in a stretch, shared by ``weights x exp(theta x age)`` so that their mean is what the job says."""
    oldest = max(ages)
    parts = [age / oldest for age in ages]
    aim = min(1.0 - 1 / _PIECES, max(1 / _PIECES, (word.tokens - last.tokens) / dies / oldest))
    theta, shares, whole = 0.0, list(weights), sum(weights)
    for _ in range(_TRIES):
        middle = sum([share * part for share, part in zip(shares, parts, strict=True)]) / whole
        if abs(middle - aim) < _NEAR:
            break
        spread = sum([share * (part - middle) ** 2 for share, part in zip(shares, parts, strict=True)]) / whole
        stride = max(-_STRIDE, min(_STRIDE, (aim - middle) / max(spread, _NOBODY)))
        theta = max(-_STEEPEST, min(_STEEPEST, theta + stride))
        shares = [weight * exp(theta * part) for weight, part in zip(weights, parts, strict=True)]
        whole = sum(shares)
    return [dies * share / whole for share in shares]
