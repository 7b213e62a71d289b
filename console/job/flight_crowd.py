"""Requests in flight that are no longer told apart one by one: ages to go on with, at next to no cost.

While requests were told apart, it was seen from which place in the order of ages those left that ended: the oldest, the
middle, the youngest. In a steady state that does not change, so from then on each departure takes the request at such a
place. Single ages are guesses; how they are spread is right.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

SHARES = 16
"""Places in the order of ages are told to so many parts."""

_DRAWS = 64
"""Places that are taken in turn."""

_TURN = 39
"""Steps through them: without a divisor in common with their number, and near its golden section, so that those taken
one after the other are spread."""


class Crowd(NamedTuple):
    """Requests that are not told apart.

    Attributes:
        births: Reading of the step clock at the admission of each, ascending: the oldest first.
        places: Where in that order one leaves, as a share of their number; taken in turn.
        turn: Which is next.
    """

    births: tuple[float, ...] = ()
    places: tuple[float, ...] = ()
    turn: int = 0


class CrowdDraft:
    """Requests that are not told apart, changing in place.

    Args:
        crowd: What is known.
    """

    __slots__ = ("_places", "_turn", "births")

    def __init__(self, crowd: Crowd) -> None:
        births, self._places, self._turn = crowd
        self.births = list(births)

    def freeze(self) -> Crowd:
        """The requests as they stand."""
        return Crowd(tuple(self.births), self._places, self._turn)

    def leave(self, gone: int) -> list[float]:
        """Requests left; gives when each was admitted."""
        births, places, turn = self.births, self._places, self._turn
        found = []
        for _ in range(min(gone, len(births))):
            turn = (turn + _TURN) % _DRAWS
            found.append(births.pop(int(places[turn] * len(births))))
        self._turn = turn
        return found


def crowd_of(births: Sequence[float], seen: Sequence[float]) -> Crowd:
    """Requests that were told apart until now.

    Args:
        births: When each was admitted.
        seen: How many left from each of ``SHARES`` parts of the order of ages, the oldest first.
    """
    heap = [*accumulate(count + 0.25 for count in seen)]
    places, part = [], 0
    for number in range(_DRAWS):
        point = heap[-1] * (number + 0.5) / _DRAWS
        while heap[part] < point:
            part += 1
        below = heap[part - 1] if part else 0.0
        places.append(min(0.999, (part + (point - below) / (heap[part] - below)) / SHARES))
    return Crowd(tuple(sorted(births)), tuple(places))
