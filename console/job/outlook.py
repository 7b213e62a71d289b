"""How fast tokens will be made from here on, by how many requests run and how much each of them holds.

    running = min(concurrency, pool / (mean prompt + E[L^2] / 2 E[L]))
    tok/s   = running / (a + b running + c tokens held + d prompt tokens computed per step)

In a full batch a request has made ``E[L^2] / 2 E[L]`` tokens at a chance moment (the mean age in equilibrium of
renewal theory). So while a batch is young its requests hold less than they will, more of them fit into the pool, and
tok/s is higher than it will be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.job.drain import StepTime

if TYPE_CHECKING:
    from console.job.length_law import LengthLaw


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is known of the speed ahead.

    Attributes:
        a: Seconds of a decode step with nothing running.
        b: Seconds more for each running request.
        c: Seconds more for each token held.
        d: Seconds more for each prompt token that is computed between two steps.
        prompt: Mean prompt, tokens.
        pool: Tokens that are held when the server admits no more; None when that is not known, or never happens.
        running: Requests that run now.
        level_sd: Standard deviation of the logarithm of the speed ahead, over a long time.
        noise_s: What a short time adds to its variance, times that time in seconds.
        other_sd: Likewise for what a batch of another size adds, per unit of the logarithm of the ratio of sizes.
        made: tok/s lately.
        source: ``server`` or ``progress``.
        ranks: DP ranks, each with requests of its own.
    """

    a: float
    b: float
    c: float
    d: float
    prompt: float
    pool: float | None
    running: float
    level_sd: float
    other_sd: float
    made: float
    source: str
    noise_s: float = 0.0
    ranks: int = 1

    def batch(self, law: LengthLaw, concurrency: int | None) -> int:
        """Requests that will run at once."""
        held = self.prompt + law.residual_mean_equilibrium
        fits = self.pool / max(1.0, held) if self.pool else float("inf")
        most = float(concurrency) if concurrency is not None else max(self.running, 1.0)
        return max(1, round(min(most, fits)))

    def step(self, law: LengthLaw) -> StepTime:
        """Seconds of a decode step of a batch of such answers, rounded so that like cases are one."""
        held = self.prompt + law.residual_mean_equilibrium
        prefill = self.d * self.prompt / max(1.0, law.mean)
        return StepTime(_rounded(self.a), _rounded(self.b + self.c * held + prefill))


def _rounded(figure: float) -> float:
    return float(f"{figure:.3g}")
