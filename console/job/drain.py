"""A dataset's end: nothing is left to send, the answers in flight run out, and the batch shrinks.

With ``R`` answers in flight, of which the share ``q(x)`` still needs more than ``x`` tokens, and a decode step that
takes ``a + b r`` seconds with ``r`` running:

    time until each has made x more   T(x) = integral from 0 to x of (a + b R q(y)) dy = a x + b made(x)
    the last one ends after           P(X <= x) = (1 - q(x))^R

``q`` is that of a batch in equilibrium, since requests of all ages are in flight when the last one is sent:

    q(x) = (1 / mean) integral from x on of S(y) dy

or, where the ages of those in flight are known, the mean of ``S(age + x) / S(age)``; ``S`` is the survival function
of completion lengths (renewal theory: Cox, Renewal Theory, 1962, chapter 5).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.length_law import LengthLaw

_COARSE = 3
"""Every third edge of a law's grid: times are good to a percent or two, far better than what they rest on."""


_JUST_BEFORE = 1 - 1e-9
"""At the limit itself nobody is alive."""


@dataclass(frozen=True, slots=True)
class StepTime:
    """Seconds of one decode step, in which every running request makes one token: ``a + b r``.

    Attributes:
        a: Seconds with none running: reading the weights.
        b: Seconds more for each running request.
    """

    a: float
    b: float

    def seconds(self, running: float) -> float:
        """Of one step with so many running."""
        return self.a + self.b * running

    def throughput(self, running: float) -> float:
        """Tokens a second with so many running."""
        return running / self.seconds(running)


@dataclass(frozen=True, slots=True)
class Drain:
    """How a batch runs out: its moments, in the order of time; the last is its end in nearly every case.

    Kept in columns, since a thousand of them are made and looked at for each reckoning, at 8 bytes a figure: some
    hundreds of them are remembered.

    Attributes:
        shares: Cases in which the last one has ended by then, 0 to 1.
        steps: Decode steps until then.
        made: Tokens made until then.
    """

    shares: array[float]
    steps: array[float]
    made: array[float]

    @property
    def tokens(self) -> float:
        """Made until the last one has ended."""
        return self.made[-1]

    def seconds(self, share: float, step: StepTime) -> float:
        """Until the last one ends, in ``share`` of the cases (0 to 1)."""
        shares, count = self.shares, len(self.shares)
        place = bisect_left(shares, share)
        last = min(place, count - 1)
        steps, made = self.steps[last], self.made[last]
        if place in {0, count}:
            return step.a * steps + step.b * made
        part = (share - shares[place - 1]) / (shares[place] - shares[place - 1])
        steps = self.steps[place - 1] + part * (steps - self.steps[place - 1])
        return step.a * steps + step.b * (self.made[place - 1] + part * (made - self.made[place - 1]))


NOTHING = Drain(array("d", [1.0]), array("d", [0.0]), array("d", [0.0]))
"""The drain of no request."""


@lru_cache(maxsize=256)  # some 10 kB each, the law included; those of the dataset at work are new each time
def drain(law: LengthLaw, running: int, *, fresh: bool = False) -> Drain:
    """How a batch of one law runs out.

    Args:
        law: Of the completions' lengths.
        running: Requests in flight, at least 1.
        fresh: All of them have only begun; else they are of all ages.
    """
    edges = _coarse(law.edges)
    if fresh:
        return _drain(edges, _coarse(law.params), running)
    mean = law.mean or 1.0
    return _drain(edges, [1 - area / mean for area in _coarse(law.areas)], running)


def drain_of(law: LengthLaw, ages: Sequence[tuple[float, int]]) -> Drain:
    """How the requests that are in flight now run out.

    Args:
        law: Of the completions' lengths.
        ages: Tokens made and how many requests have made them; not empty.
    """
    known = [(age, number, alive) for age, number in ages if (alive := law.survival(age)) > 0.0]
    running = sum(number for _, number, _ in known)
    if not running:
        return NOTHING
    room = law.cap - min(age for age, _, _ in known)
    grid = [*(edge for edge in _coarse(law.edges) if edge < room), room * _JUST_BEFORE]
    left = [0.0] * len(grid)
    for age, number, here in known:
        share = number / (here * running)
        left = [former + share * alive for former, alive in zip(left, law.survivals(age, grid), strict=True)]
    return _drain(grid, left, running)


def _coarse(figures: Sequence[float]) -> list[float]:
    """Every third of them, the first and the last included."""
    return [*figures[:-1:_COARSE], figures[-1]]


def _drain(grid: Sequence[float], alive: Sequence[float], running: int) -> Drain:
    """A drain by the share that is alive at each point; who is alive at the last one ends there."""
    shares = [(1 - (share if 0.0 <= share <= 1.0 else max(0.0, min(1.0, share)))) ** running for share in alive]
    parts = [
        running * (before + after) / 2 * (y - x)
        for x, y, before, after in zip(grid, grid[1:], alive, alive[1:], strict=False)
    ]
    shares.append(1.0)
    made = array("d", accumulate(parts, initial=0.0))
    made.append(made[-1])
    steps = array("d", grid)
    steps[0] = 0.0
    steps.append(grid[-1])
    return Drain(array("d", shares), steps, made)
