"""Lasting change in a series of residuals: steps, slow ramps, and how sure it is. Pure arithmetic, no units of its own.

A residual is ``log(made / expected)``: 0 as expected, -0.5 for 61 % of it. What is known of such tests: cumulative sums
(Page 1954; reviewed by Granjon, hal-00914697), Mann and Kendall's trend test with Hamed and Rao's (1998) correction for
correlated data, and Theil and Sen's slope.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import erf, sqrt
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_ALARM = 8.0
"""Height of a standardised cumulative sum that means something: with an allowance of half a standard deviation, chance
alone reaches it once in about 25,000 groups of eight minutes, and it is asked only when the last half hour is low."""

_ALLOWANCE = 0.5
"""Half of the shift that is looked for, in standard deviations, at least."""

_SHIFT = 0.1
"""The smallest shift worth finding, as a log: 10 %."""

_TREND_Z = -3.3
"""Mann and Kendall's statistic below which a fall is no chance (one in two thousand)."""

_TREND_LEAST = 8
"""Figures that a trend takes."""

_TREND_MOST = 40
"""Figures that it is given at most, neighbours joined: all pairs are compared."""

_BETTER = 0.8
"""A ramp must leave less than this share of a step's squares to be called one."""

_SIGNIFICANT = 1.96
"""Correlations below this over the square root of their number are not corrected for (Hamed & Rao)."""


@dataclass(frozen=True, slots=True)
class Change:
    """A lasting change.

    Attributes:
        kind: ``step`` or ``ramp``.
        since_s: When it began, seconds since the epoch.
        ratio: What is made now, as a share of what is expected.
        sure: Probability that it is not chance, 0 to 1.
    """

    kind: str
    since_s: float
    ratio: float
    sure: float


class Group(NamedTuple):
    """The mean residual of some minutes.

    Attributes:
        time_s: Their beginning, seconds since the epoch.
        value: The mean.
    """

    time_s: float
    value: float


def chance_below(value: float, sd: float) -> float:
    """Probability that a normal figure of mean 0 and standard deviation ``sd`` lies above ``value``."""
    return 0.5 * (1.0 - erf(value / (sd * sqrt(2.0)))) if sd > 0.0 else float(value < 0.0)


def cumulative(values: Sequence[float], sd: float, shift: float = _SHIFT) -> list[float]:
    """One-sided cumulative sums for a fall: ``S_i = max(0, S_(i-1) - v_i / sd - k)``, in standard deviations.

    Args:
        values: Residuals, oldest first.
        sd: Their standard deviation while nothing changes, above 0.
        shift: The fall that is looked for, as a log.

    Returns:
        ``S``, with ``k`` half of that fall, and at least half a standard deviation.
    """
    allowance = max(_ALLOWANCE, shift / 2 / sd)
    return list(accumulate(values, lambda sum_, value: max(0.0, sum_ - value / sd - allowance), initial=0.0))[1:]


def onset(values: Sequence[float], sd: float, shift: float = _SHIFT) -> int | None:
    """Where the present fall began: the place behind the last zero of the cumulative sum.

    Args:
        values: Residuals, oldest first.
        sd: Their standard deviation while nothing changes, above 0.
        shift: The fall that is looked for, as a log.

    Returns:
        None while the sum is below the alarm.
    """
    sums = cumulative(values, sd, shift)
    if not sums or sums[-1] < _ALARM:
        return None
    zeros = [place for place, each in enumerate(sums) if each == 0.0]
    return zeros[-1] + 1 if zeros else 0


def is_ramp(groups: Sequence[Group]) -> int | None:
    """Where a slow fall began, when a ramp describes the groups clearly better than a step does; else None.

    Both begin at 0. A step is 0 up to a place and a constant after it, a ramp 0 and then a straight line; places by
    least squares. A ramp must also pass Mann and Kendall's test, with a falling Theil-Sen slope.
    """
    if len(groups) < _TREND_LEAST:
        return None
    times = [group.time_s - groups[0].time_s for group in groups]
    values = [group.value for group in groups]
    place, ramp = _best_ramp(times, values)
    behind = values[place:]
    if ramp >= _BETTER * _best_step(values) or len(behind) < _TREND_LEAST:
        return None
    after = times[place:]
    while len(behind) > _TREND_MOST:
        after, behind = _halved(after), _halved(behind)
    falls = theil_sen(after, behind) < 0.0 and mann_kendall(behind) < _TREND_Z
    return place if falls else None


def _halved(values: Sequence[float]) -> list[float]:
    """The means of neighbours."""
    return [(one + other) / 2 for one, other in zip(values[::2], values[1::2], strict=False)]


def _best_step(values: Sequence[float]) -> float:
    """Least sum of squares about 0 and then a mean."""
    total, squares = sum(values), sum(value * value for value in values)
    count, best, before = len(values), squares, 0.0
    for place, value in enumerate(values):
        rest = total - before
        best = min(best, squares - rest * rest / (count - place))
        before += value
    return best


def _best_ramp(times: Sequence[float], values: Sequence[float]) -> tuple[int, float]:
    """Where a ramp fits best, and its sum of squares."""
    squares = sum(value * value for value in values)
    best, found = squares, 0
    count, sum_t, sum_tt, sum_v, sum_tv = 0, 0.0, 0.0, 0.0, 0.0
    for place in range(len(values) - 1, -1, -1):
        time, value = times[place], values[place]
        count, sum_t, sum_tt = count + 1, sum_t + time, sum_tt + time * time
        sum_v, sum_tv = sum_v + value, sum_tv + time * value
        run = sum_tt - 2.0 * time * sum_t + count * time * time
        rise = sum_tv - time * sum_v
        left = squares - (rise * rise / run if run > 0.0 and rise < 0.0 else 0.0)
        if left < best:
            best, found = left, place
    return found, best


def theil_sen(times: Sequence[float], values: Sequence[float]) -> float:
    """The median of the slopes between all pairs; 0 of fewer than two points."""
    slopes = [
        (values[j] - values[i]) / (times[j] - times[i])
        for i in range(len(values))
        for j in range(i + 1, len(values))
        if times[j] != times[i]
    ]
    return median(slopes) if slopes else 0.0


def mann_kendall(values: Sequence[float]) -> float:
    """Mann and Kendall's trend statistic in standard deviations, corrected for autocorrelation.

        S = sum over pairs i < j of sign(v_j - v_i),   var S = n (n - 1) (2 n + 5) / 18 x (1 + c)
        c = 2 / (n (n - 1) (n - 2)) x sum_k (n - k) (n - k - 1) (n - k - 2) r_k

    with ``r_k`` the significant autocorrelations of the ranks once the slope is taken out (Hamed & Rao 1998); 0 of
    fewer than four figures.
    """
    count = len(values)
    if count < 4:  # noqa: PLR2004  the correction divides by n (n - 1) (n - 2), and three figures show no trend
        return 0.0
    score = sum((values[j] > values[i]) - (values[j] < values[i]) for i in range(count) for j in range(i + 1, count))
    slope = theil_sen(range(count), values)
    order = sorted(range(count), key=lambda place: values[place] - slope * place)
    ranks = [0.0] * count
    for rank, place in enumerate(order):
        ranks[place] = rank - (count - 1) / 2
    variance = count * (count - 1) * (2 * count + 5) / 18 * max(1.0, 1.0 + _correction(ranks))
    return (score - (score > 0) + (score < 0)) / sqrt(variance)


def _correction(ranks: Sequence[float]) -> float:
    count = len(ranks)
    power = sum(rank * rank for rank in ranks)
    limit, total = _SIGNIFICANT / sqrt(count), 0.0
    for lag in range(1, count - 2):
        correlation = sum(ranks[i] * ranks[i + lag] for i in range(count - lag)) / power
        if abs(correlation) > limit:
            total += (count - lag) * (count - lag - 1) * (count - lag - 2) * correlation
    return 2.0 / (count * (count - 1) * (count - 2)) * total
