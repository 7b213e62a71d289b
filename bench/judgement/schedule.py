"""Simulated time: what is to happen when; it jumps from one to the next."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Schedule:
    """What is to happen, in order of time; what is due at one time happens in the order in which it was put in.

    Args:
        now: Seconds since the epoch.
    """

    def __init__(self, now: float) -> None:
        self.now = now
        self.over = False
        """Nothing happens any more."""
        self._heap: list[tuple[float, int, Callable[[float], object]]] = []
        self._order = 0

    def at(self, when: float, act: Callable[[float], object]) -> None:
        """Let something happen then."""
        self._order += 1
        heapq.heappush(self._heap, (when, self._order, act))

    def run(self, until: float) -> None:
        """Let time go by until nothing is left to happen, or until then."""
        heap = self._heap
        while heap and heap[0][0] <= until and not self.over:
            self.now, _, act = heapq.heappop(heap)
            act(self.now)

    def stop(self, _: float) -> None:
        """Let nothing happen any more."""
        self.over = True
