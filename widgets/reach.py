"""The ends of a scale of logarithms that keep still: round figures, which only ever move apart."""

from __future__ import annotations

import math

ROUND = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
"""Times a power of ten, the figures at which a scale may end: near enough to each other that little room is lost."""

_SLACK = 1e-9
"""Share by which a figure may miss a round one and still be it: sums of logarithms are not exact."""

Reach = tuple[float, float]
"""Where a scale begins and ends, both above 0."""


def widened(former: Reach | None, low: float, high: float) -> Reach:
    """Give ends that hold all from ``low`` to ``high``, and what was held before.

    Args:
        former: The ends so far; None for none.
        low: The least of what is shown, above 0.
        high: The greatest, not below it.
    """
    begin, end = round_down(low), round_up(high)
    if former is not None:
        begin, end = min(begin, former[0]), max(end, former[1])
    return begin, end


def round_down(value: float) -> float:
    """Give the greatest round figure that is not above a value above 0."""
    power = 10.0 ** math.floor(math.log10(value) + _SLACK)
    return max(factor * power for factor in ROUND if factor * power <= value * (1 + _SLACK) or factor == ROUND[0])


def round_up(value: float) -> float:
    """Give the least round figure that is not below a value above 0."""
    power = 10.0 ** math.floor(math.log10(value) + _SLACK)
    return next((factor * power for factor in ROUND if factor * power >= value * (1 - _SLACK)), 10.0 * power)
