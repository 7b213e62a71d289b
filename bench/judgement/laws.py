"""How long answers are: the laws that simulated datasets draw from."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def dice_of(*words: object) -> random.Random:
    """A generator that the same words always seed alike, on every platform."""
    return random.Random(":".join(map(str, words)))  # noqa: S311 - simulation, no secret


@dataclass(frozen=True, slots=True)
class LengthLaw:
    """A distribution of answers' lengths before they are cut at ``max_tokens``.

    Attributes:
        shape: ``lognormal``, ``gamma``, ``weibull``, ``pareto``, ``mixture`` or ``fixed``.
        mean: Its mean, tokens (of the first hump for a mixture).
        spread: lognormal: sigma of the logarithm; gamma and weibull: shape; pareto: tail index; mixture: sigma of
            both humps; fixed: coefficient of variation.
        second: Mean of a mixture's second hump, tokens.
        share: Share of the second hump.
        drift: The scale grows by ``exp(drift)`` from the file's first prompt to its last.
    """

    shape: str
    mean: float
    spread: float
    second: float = 0.0
    share: float = 0.0
    drift: float = 0.0

    def draw(self, dice: random.Random, place: float = 0.5) -> float:
        """One length, tokens.

        Args:
            dice: Where chance comes from.
            place: Where in the file the prompt stands, 0 to 1.
        """
        scale = math.exp(self.drift * (place - 0.5)) if self.drift else 1.0
        return max(1.0, scale * _SHAPES[self.shape](self, dice))

    def capped_mean(self, cap: int, *, seed: int = 1, draws: int = 2_000) -> tuple[float, float]:
        """Mean length, and mean of what a running request still has to make, both cut at ``cap``.

        The second is ``E[L^2] / 2 E[L]``, the mean age of what is in flight.
        """
        dice = dice_of("mean", seed, self.shape, self.mean, self.spread)
        lengths = [min(cap, self.draw(dice, dice.random())) for _ in range(draws)]
        total = sum(lengths)
        return total / draws, sum(length * length for length in lengths) / (2 * total)


def _lognormal(mean: float, sigma: float, dice: random.Random) -> float:
    return math.exp(dice.gauss(math.log(mean) - sigma * sigma / 2, sigma))


def _weibull(law: LengthLaw, dice: random.Random) -> float:
    return dice.weibullvariate(law.mean / math.gamma(1 + 1 / law.spread), law.spread)


def _pareto(law: LengthLaw, dice: random.Random) -> float:
    return law.mean * (law.spread - 1) / law.spread * dice.paretovariate(law.spread)


def _mixture(law: LengthLaw, dice: random.Random) -> float:
    return _lognormal(law.second if dice.random() < law.share else law.mean, law.spread, dice)


_SHAPES: dict[str, Callable[[LengthLaw, random.Random], float]] = {
    "lognormal": lambda law, dice: _lognormal(law.mean, law.spread, dice),
    "gamma": lambda law, dice: dice.gammavariate(law.spread, law.mean / law.spread),
    "weibull": _weibull,
    "pareto": _pareto,
    "mixture": _mixture,
    "fixed": lambda law, dice: law.mean * max(0.2, dice.gauss(1.0, law.spread)),
}
