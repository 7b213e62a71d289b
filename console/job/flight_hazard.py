"""How likely a request is to end at the next token, by its age: the hazard, from those that ended and those in flight.

    hazard of a bin = requests that ended in it / tokens that were made in it

smoothed over neighbouring bins. While little is known it rises with the age up to the middle age and is flat from
there, as with answers of language models: hardly one ends with its first words. Only ratios matter.
"""

from __future__ import annotations

from itertools import accumulate
from math import exp, log2
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.flight_match import Flying

_PER_OCTAVE, _FIRST = 4, 4
"""Bins are a quarter of an octave wide; the first holds all below 2^4 tokens."""

BINS = _PER_OCTAVE * 13
"""Up to 2^17 tokens."""

_LEAD = 4_096
"""Ages just below 0 (requests that joined within the present interval) are looked up too."""

_CELL = 8
"""The bin of each eight tokens is looked up: faster than a logarithm."""

_TABLE = (0,) * (_LEAD // _CELL) + tuple(
    min(BINS - 1, max(0, int(_PER_OCTAVE * (log2(_CELL * (place + 0.5)) - _FIRST) + 1))) for place in range(16_384)
)
_WIDTHS = tuple(
    2.0 ** (_FIRST + place / _PER_OCTAVE) - (2.0 ** (_FIRST + (place - 1) / _PER_OCTAVE) if place else 0.0)
    for place in range(BINS)
)
_PRIOR = 12.0
"""What is expected counts like so many ended requests in each bin. Which request ended is drawn by the hazard that is
learned from such draws: with a weak expectation a few wrong short ones would bring ever more of their kind."""

_RISE = 0.26
"""Log by which the expected hazard rises from bin to bin: about with the power 1.5 of the age."""

RISING = tuple([exp(_RISE * place) for place in range(BINS)])
"""The hazard of each bin beside that of the first, while nothing is known."""

_LEAST = 0.005
"""No hazard is below this share of the mean one: nothing is impossible."""


def bin_of(age: float) -> int:
    """The bin of an age in tokens."""
    return _TABLE[min(16_383, max(0, int(age) // _CELL)) + _LEAD // _CELL]


def bins_of(flying: Sequence[Flying], clock: float) -> list[int]:
    """The bins of the ages of requests in flight."""
    table, base = _TABLE, clock + _LEAD
    try:
        return [table[int(base + key - prompt) // _CELL] for key, prompt, _ in flying]
    except IndexError:  # an age beyond the last bin
        return [bin_of(clock + key - prompt) for key, prompt, _ in flying]


def rates(deaths: Sequence[float], ages: Sequence[int]) -> tuple[float, ...]:
    """The hazard of each bin.

    Args:
        deaths: How many ended in each bin.
        ages: Bins of those in flight.
    """
    here = [0.0] * BINS
    for age in ages:
        here[age] += 1
    seen = [dead + alive for dead, alive in zip(deaths, here, strict=True)]
    beyond = [*accumulate(reversed(seen), initial=0.0)]
    exposed = [width * (after + inside / 2) for width, inside, after in zip(_WIDTHS, seen, beyond[-2::-1], strict=True)]
    died, whole = sum(deaths), sum(exposed)
    mean = (died + 1.0) / (whole + 1.0)
    middle = sorted(ages)[len(ages) // 2] if ages else 0
    found: list[float] = []
    expected = mean
    for place in range(BINS):
        low, high = max(0, place - 1), min(BINS - 1, place + 1)
        dead = deaths[low] + 2 * deaths[place] + deaths[high]
        open_ = exposed[low] + 2 * exposed[place] + exposed[high]
        # Beyond the middle it goes on as it was: nobody may have come so far yet.
        expected = mean * exp(_RISE * (place - middle)) if place < middle else max(mean, expected)
        expected = max(_LEAST * mean, (dead + _PRIOR * expected / mean) / (open_ + _PRIOR / mean))
        found.append(expected)
    return tuple(found)


EVEN = rates((0.0,) * BINS, ())
"""The hazard before anything is known."""
