"""Decode steps between two decode lines, and how much of a cached prompt a request holds alone: learned from the log.

An interval in which nothing left shows how many steps it had, ``(held after - held before - prompts) / running``.
Cached prompt tokens are counted in the pool once, however many requests share them; where the log names some, such an
interval shows what share of them came on top.
"""

from __future__ import annotations

from typing import NamedTuple

USUAL_STEPS = 40.0
"""SGLang's default; what is seen corrects it."""

_TRUST, _OFF = 8, 0.5
"""Measurements of the steps from which on one that is off by more than this share does not count."""

_CLEAR = 2.0
"""Cached tokens show their share even where the steps are not known when each request has so many times the steps."""


class Pace(NamedTuple):
    """What was learned.

    Attributes:
        steps: Usual number of decode steps between two lines: tokens that each running request makes.
        measured: How often that was measured, up to a limit.
        alone: Share of cached prompt tokens that a request holds alone, 0 to 1.
        shared: How often that was measured, up to a limit.
    """

    steps: float = USUAL_STEPS
    measured: int = 0
    alone: float = 0.0
    shared: int = 0


class PaceDraft:
    """What is being learned.

    Args:
        pace: What was learned before.
    """

    __slots__ = ("_measured", "_shared", "alone", "steps")

    def __init__(self, pace: Pace) -> None:
        self.steps, self._measured, self.alone, self._shared = pace

    def freeze(self) -> Pace:
        """As it stands."""
        return Pace(self.steps, self._measured, self.alone, self._shared)

    def measure(self, balance: float, working: float, cached: int, *, fresh: bool) -> float:
        """Steps of an interval in which nothing left.

        Args:
            balance: What it added to the pool besides prompts, tokens.
            working: Requests that ran in it, those that came later in part.
            cached: Cached prompt tokens of those that came.
            fresh: The server had idled; then the steps before that are in the interval too, and its own are fewer.
        """
        if fresh:
            return self._fresh(balance, working, cached)
        steps = balance / working
        if cached:
            self._learn_share((steps - self.steps) * working / cached)
            return self.steps
        if not steps > 0:
            return self.steps
        if self._measured >= _TRUST and abs(steps / self.steps - 1) > _OFF:
            self._measured -= 1
            return self.steps
        self._measured = min(self._measured + 1, 2 * _TRUST)
        self.steps += (steps - self.steps) / self._measured
        return steps

    def _fresh(self, balance: float, working: float, cached: int) -> float:
        if not cached or self._shared:
            return min(max(balance / working, 0.0), self.steps)
        middle = self.steps / 2
        if cached > _CLEAR * self.steps * working:
            self._learn_share((balance - middle * working) / cached)
        return middle

    def _learn_share(self, more: float) -> None:
        self._shared = min(self._shared + 1, _TRUST)
        self.alone = min(1.0, max(0.0, self.alone + more / self._shared))
