"""Lengths that were seen, in the bins of a law's grid: those of finished requests, and how far others have come."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from console.job.length_law import BINS, edges_up_to

if TYPE_CHECKING:
    from collections.abc import Iterable

_AT_CAP = 48.0
"""A length that is told from the server's log is good to some decode steps: this near the cap it was cut there."""


@dataclass(frozen=True, slots=True)
class LengthData:
    """What was seen.

    Attributes:
        cap: New tokens of one request at most.
        died: Finished requests in each bin.
        cut: Requests cut at the cap.
        lived: Requests in flight, by edge: one that lies between two edges counts in part at each.
        at_risk: Requests that reached each bin, those that were lost from sight within it in part.
        tokens: Tokens of all of these so far.
        ended: Finished requests, those cut included.
        died_later: ``died`` behind the first bin.
        lived_later: ``lived`` behind the first edge.
    """

    cap: int
    died: tuple[float, ...]
    cut: float
    lived: tuple[float, ...]
    at_risk: tuple[float, ...]
    tokens: float
    ended: float
    died_later: tuple[float, ...]
    lived_later: tuple[float, ...]


def data_of(
    cap: int, lengths: Iterable[tuple[float, float]], ages: Iterable[tuple[float, float]], cut: float = 0.0
) -> LengthData:
    """Sort into bins.

    Args:
        cap: New tokens of one request at most.
        lengths: Finished requests: tokens, and how many they stand for.
        ages: Requests in flight, likewise.
        cut: Finished ones that are known to have been cut, besides those whose length says so.
    """
    edges = edges_up_to(cap)
    died, lived = [0.0] * BINS, [0.0] * BINS
    tokens, near = cut * cap, cap - min(_AT_CAP, 0.02 * cap)
    for length, count in lengths:
        tokens += min(length, cap) * count
        if length >= near:
            cut += count
        else:
            died[bisect_right(edges, max(0.0, length)) - 1] += count
    for age, count in ages:
        reached = min(max(0.0, age), cap * 0.999)
        place = bisect_right(edges, reached) - 1
        share = (reached - edges[place]) / (edges[place + 1] - edges[place])
        tokens += reached * count
        lived[place] += count * (1 - share)
        if place + 1 < BINS:
            lived[place + 1] += count * share
    # A request counted in part at an edge has passed the bins before it, and none from it on.
    gone = [here + there for here, there in zip(died, [*lived[1:], 0.0], strict=True)]
    beyond = list(accumulate(reversed(gone), initial=cut))
    reach = beyond[:0:-1]
    return LengthData(
        cap, tuple(died), cut, tuple(lived), tuple(reach), tokens, sum(died) + cut, tuple(died[1:]), tuple(lived[1:])
    )
