"""How fast tokens will be made from here on, by how many requests run and how much each of them holds.

    running = min(concurrency, pool / (mean prompt + E[L^2] / 2 E[L]))
    tok/s   = running / (a + b running + c tokens held + d prompt tokens computed per step)

In a full batch a request has made ``E[L^2] / 2 E[L]`` tokens at a chance moment (the mean age in equilibrium of
renewal theory). So while a batch is young its requests hold less than they will, more of them fit into the pool, and
tok/s is higher than it will be.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING

from console.job.drain import StepTime

if TYPE_CHECKING:
    from console.job.length_law import LengthLaw

_STAYS_BEHIND = 0.5
"""Share of a rank's backlog that counts: ranks change places until a dataset ends, and one that is behind is at its
full speed while others already have too little to do. Found by simulation of two and four ranks."""


_SETTLES = 5.0
"""Mean ages in the steady state after which two thirds of a batch's way there are done, as averages over the past tell
it."""

_SETTLED = 0.05
"""A smaller share than this is none: what is seen is then the same for all laws, and is reckoned once."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is known of the speed ahead.

    Attributes:
        a: Seconds of a decode step with nothing running.
        b: Seconds more for each running request.
        c: Seconds more for each token held.
        d: Seconds more for each prompt token that is computed between two steps.
        each: Seconds more for each running request as requests are now, with what they hold and their prompts' share.
        prompt: Mean prompt of the dataset at work, tokens.
        pool: Tokens that are held when the server admits no more; None when that is not known, or never happens.
        running: Requests that run now.
        level_sd: Standard deviation of the logarithm of the speed ahead, over a long time.
        noise_s: What a short time adds to its variance, times that time in seconds.
        other_sd: Likewise for what a batch of another size adds, per unit of the logarithm of the ratio of sizes.
        made: tok/s lately.
        source: ``server`` or ``progress``.
        loads: Requests that run and that wait, on each DP rank; empty when not known.
        reach: Tokens that a request could have made since the dataset at work began.
        most: Requests that its job keeps in flight, seen while none waited; None when some did.
    """

    a: float
    b: float
    c: float
    d: float
    each: float
    prompt: float
    pool: float | None
    running: float
    level_sd: float
    other_sd: float
    made: float
    source: str
    noise_s: float = 0.0
    loads: tuple[tuple[float, float], ...] = ()
    reach: float = 0.0
    most: float | None = None

    @property
    def ranks(self) -> int:
        """DP ranks, each with requests of its own."""
        return max(1, len(self.loads))

    def behind(self, law: LengthLaw, sent: float) -> float:
        """Tokens that the whole server could make from when its ranks would end together until the last of them does.

        A request stays with the rank that it was sent to, also while it waits there. Where requests are dealt out in
        turn, whatever a rank has to do, as SGLang does unless told otherwise, a slow rank gathers most of those that
        wait, and ends last (in a closed network of like servers every division is as likely as any other: Gordon and
        Newell, 1967).

        Args:
            law: Of the completions' lengths.
            sent: Requests in flight, of all ranks.
        """
        flying = sum(running + waiting for running, waiting in self.loads)
        if self.ranks == 1 or not flying:
            return 0.0
        age = law.residual_mean_equilibrium
        work = [running * age + waiting * law.mean for running, waiting in self.loads]
        return _STAYS_BEHIND * (max(work) * self.ranks - sum(work)) * sent / flying

    def batch(
        self, law: LengthLaw, concurrency: int | None, *, begun: bool = False, prompt: float | None = None
    ) -> float:
        """Requests that will run at once.

        Args:
            law: Of the completions' lengths.
            concurrency: Requests in flight at most; None when not known.
            begun: It is the dataset at work.
            prompt: Mean prompt, tokens; None for that of the dataset at work.
        """
        words = self.prompt if prompt is None else prompt
        fits = self.pool / max(1.0, words + law.residual_mean_equilibrium) if self.pool else float("inf")
        most = float(concurrency) if concurrency is not None else max(self.running, 1.0)
        if begun and self.most is not None:
            most = min(most, self.most)
        return max(1.0, min(most, fits))

    def step(self, law: LengthLaw, *, young: float = 1.0, prompt: float | None = None) -> StepTime:
        """Seconds of a decode step of a batch of such answers, rounded so that like cases are one.

        Args:
            law: Of the completions' lengths.
            young: See ``young``; the rest is as it is now.
            prompt: Mean prompt, tokens; None for that of the dataset at work.
        """
        words = self.prompt if prompt is None else prompt
        prefill = self.d * words / max(1.0, law.mean)
        each = self.b + self.c * (words + law.residual_mean_equilibrium) + prefill
        return StepTime(_rounded(self.a), _rounded(young * each + (1 - young) * self.each))

    def young(self, law: LengthLaw) -> float:
        """The share of a batch's way to its usual ages that is still ahead of the dataset at work, 0 to 1.

        A request in flight at a chance moment is of length ``2 x age`` on average, so after that many tokens most of
        those that began first have ended.
        """
        share = exp(-self.reach / max(1.0, _SETTLES * law.residual_mean_equilibrium))
        return share if share > _SETTLED else 0.0


def _rounded(figure: float) -> float:
    return float(f"{figure:.3g}")
