"""How fast the GPU works at a moment: a wandering factor, what faults do to it, and short pauses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from bench.judgement.spec import ServerSpec

_EVERY_S = 10.0
"""The factor is drawn anew so often, seconds: finer than any correlation that matters."""


@dataclass(frozen=True, slots=True)
class Slowdown:
    """Work takes longer from a moment on.

    Attributes:
        begin: Seconds.
        end: Until when.
        speed: Share of the usual speed that is reached.
        over_s: It falls evenly over so many seconds; 0: at once.
    """

    begin: float
    end: float
    speed: float
    over_s: float = 0.0

    def factor(self, now: float) -> float:
        """By how much durations are longer at ``now``."""
        if not self.begin <= now < self.end:
            return 1.0
        part = min(1.0, (now - self.begin) / self.over_s) if self.over_s else 1.0
        return 1 / (1 - part * (1 - self.speed))


class Pace:
    """The factor by which each duration is multiplied.

    A first-order autoregression of its logarithm, ``x' = r x + sqrt(1 - r^2) s e`` with ``r = exp(-dt / tau)``.
    """

    def __init__(self, spec: ServerSpec, dice: Random, slowdowns: tuple[Slowdown, ...]) -> None:
        self._noise, self._tau, self._dice = spec.noise, spec.noise_tau_s, dice
        self._slowdowns = slowdowns
        self._level = dice.gauss(0.0, spec.noise)
        self._at = -math.inf
        self._factor = 1.0
        self._stalls_per_s, self._stall_s = spec.stalls_per_h / 3600, spec.stall_s
        self._stall_at = math.inf
        self._began = False

    def factor(self, now: float) -> float:
        """By how much durations are longer at ``now``; times never fall."""
        if now - self._at >= _EVERY_S:
            apart = min(now - self._at, 100 * self._tau)
            keep = math.exp(-apart / self._tau)
            self._level = keep * self._level + math.sqrt(1 - keep * keep) * self._dice.gauss(0.0, self._noise)
            self._at = now
            self._factor = math.exp(self._level)
            for slow in self._slowdowns:
                self._factor *= slow.factor(now)
        return self._factor

    def stall(self, now: float) -> float:
        """Seconds of a pause that begins now; 0 for none."""
        if not self._began:
            self._began = True
            self._stall_at = now + self._gap()
        if now < self._stall_at:
            return 0.0
        self._stall_at = now + self._gap()
        return self._dice.expovariate(1 / self._stall_s)

    def redraw(self, dice: Random) -> None:
        """Let chance be another from now on; the level of this moment stays."""
        self._dice = dice
        if self._began:
            self._stall_at = self._at + self._gap()

    def _gap(self) -> float:
        return self._dice.expovariate(self._stalls_per_s) if self._stalls_per_s else math.inf
