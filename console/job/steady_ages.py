"""How far the requests in flight have come where only their sum is known: laid out as in a steady state.

A batch that has turned over holds requests of all ages. Of a law with survival function ``S`` and mean ``m`` their ages
have the density ``S(a) / m`` (the equilibrium law of renewal theory: Cox, Renewal Theory, 1962, ch. 5), so that a share
``p`` of them is no older than the age up to which the integral of ``S`` is ``p m``.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.job.length_law import LengthLaw

_GROUPS = 12
"""Groups of neighbours, each with the age of its middle: finer ones change nothing."""

_BEFORE_CAP = 0.99
"""Nobody in flight has come further, as a share of the cap."""


def steady_ages(law: LengthLaw, count: int, total: float) -> tuple[tuple[float, int], ...]:
    """Ages in tokens by rising age, and how many requests have each.

    Args:
        law: Of the completions' lengths.
        count: Requests in flight.
        total: Tokens that they have made in all; the law's own ages are stretched to it.
    """
    groups = min(count, _GROUPS)
    if groups <= 0:
        return ()
    sizes = [count // groups + (place < count % groups) for place in range(groups)]
    ages, before = [], 0
    for size in sizes:
        ages.append(_age(law, (before + size / 2) / count))
        before += size
    whole = sum([age * size for age, size in zip(ages, sizes, strict=True)])
    scale = total / whole if whole > 0.0 else 0.0
    return tuple([(min(_BEFORE_CAP * law.cap, age * scale), size) for age, size in zip(ages, sizes, strict=True)])


def _age(law: LengthLaw, share: float) -> float:
    """The age that a share of those in flight does not exceed."""
    target, areas, edges = share * law.mean, law.areas, law.edges
    place = min(len(areas) - 2, max(0, bisect_right(areas, target) - 1))
    area = areas[place + 1] - areas[place]
    part = min(1.0, (target - areas[place]) / area) if area > 0.0 else 0.0
    return edges[place] + part * (edges[place + 1] - edges[place])
