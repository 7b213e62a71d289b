"""Whether answers grow or shrink along a dataset's prompts, and by how much those to come differ from those seen.

Files are often sorted, by source or by difficulty. Completions are taken in the order in which they ended, without the
first ones, which are the short ones of a batch that began at once, and their two halves are compared. With ``h``
completions in each half, of the mean ``m1`` and ``m2``, and ``n`` that the dataset will have in all:

    r = log(m2 / m1),   se^2 = cv^2 (1/h + 1/h),   drift from the first prompt to the last  b = r n / h

Most files are in no order. So a drift is taken to be 0, or, with the odds of one to six, normal of spread 0.45; by
Bayes' rule each half of this counts by how likely it makes ``r``. Those to come are, by their middle, half the file
away from the middle of those seen, whatever was seen: their mean is ``exp(b / 2)`` of the mean seen.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.flight_rank import Ended

_ORDERED, _SPREAD = 0.15, 0.45
"""Share of the datasets whose lengths drift, and the log-standard deviation of such a drift over a whole file."""

_LEAST = 60
"""Completions of a half, at least: fewer tell nothing that a guess would not."""

_TURNS = 2.0
"""Completions for each request in flight after which those that end are a fair sample."""

_ROUGH = 1.5
"""By how much chance varies more than by lengths alone: neighbours end together, and which ended is not always told
right."""

_EVEN = 0.01
"""Lengths are never taken for more alike than this (their variance, as a share of the squared mean)."""

_SURE = 50.0
"""Log-odds beyond which nothing changes."""

_MOST = 0.5
"""A drift is not taken for more than this, as a logarithm, between those seen and those to come."""


class Drift(NamedTuple):
    """How much longer those to come are than those seen.

    Attributes:
        log_factor: The logarithm of the ratio of the means.
        sd: Its standard deviation.
    """

    log_factor: float = 0.0
    sd: float = 0.0


def drift_of(ended: Sequence[Ended], in_flight: int, ahead: float, variance: float) -> Drift:
    """How much longer those to come will be.

    Args:
        ended: Completions in the order in which they ended, those of the dataset alone.
        in_flight: Requests in flight at once.
        ahead: Completions still to come.
        variance: Of a length, as a share of the squared mean.
    """
    seen = sum([one.requests for one in ended])
    half = (seen - min(_TURNS * in_flight, seen / 2)) / 2
    if half < _LEAST or ahead <= 0:
        return Drift()
    later, earlier = _halves(ended, half)
    if later <= 0.0 or earlier <= 0.0:
        return Drift()
    scale = (seen + ahead) / half
    found = log(later / earlier) * scale
    noise = _ROUGH * max(_EVEN, variance) * 2 / half * scale**2
    odds = log(_ORDERED / (1 - _ORDERED)) + _log_density(found, noise + _SPREAD**2) - _log_density(found, noise)
    share = 1 / (1 + exp(-max(-_SURE, min(_SURE, odds))))
    shrunk = found * _SPREAD**2 / (_SPREAD**2 + noise)
    spread = _SPREAD**2 * noise / (_SPREAD**2 + noise)
    middle = share * shrunk / 2
    sd = sqrt(share * spread + share * (1 - share) * shrunk**2) / 2
    return Drift(max(-_MOST, min(_MOST, middle)), sd)


def _halves(ended: Sequence[Ended], half: float) -> tuple[float, float]:
    """Mean lengths of the newest ``half`` completions, and of as many before them."""
    means = []
    count = tokens = 0.0
    for _, length, _, _, requests in reversed(ended):
        count, tokens = count + requests, tokens + requests * length
        if count >= half:
            means.append(tokens / count)
            count = tokens = 0.0
            if len(means) == 2:  # noqa: PLR2004 -- two halves
                break
    return (means[0], means[1]) if len(means) == 2 else (0.0, 0.0)  # noqa: PLR2004 -- as above


def _log_density(figure: float, variance: float) -> float:
    return -figure * figure / (2 * variance) - log(variance) / 2
