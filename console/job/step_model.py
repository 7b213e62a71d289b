"""How long a decode step takes at a given load, learned from the run, and hence what throughput to expect.

    step time   s(R, H, p) = a + b R + c H + d p        a, b, c, d >= 0
    throughput  v = R / s

with R running requests, H tokens held in the KV pool, and p prompt tokens computed per step (prefills between the
steps take their share of the time). Memory traffic of the weights gives ``a``, work per request ``b``, attention ``c``,
prefill ``d``. The form is that of simulators of such servers (Vidur, arXiv 2405.05465).

``console.job.step_learn`` fits it. In a load that the run has visited, what was seen there counts
beside the fit: log step time = fit + an effect of the cell, shrunk towards 0 by how little is known of it (the best
linear unbiased prediction of a mixed model). The uncertainty far from all that was seen is wide.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, hypot, log, sqrt
from typing import TYPE_CHECKING

from console.job.step_cells import Key, key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

Z_80 = 1.2816
"""Half of a central 80 % interval of a normal distribution, in standard deviations."""

MISFIT = 0.04
"""Log-standard deviation of a load's true step time about the fit: kernels change in steps with the batch size."""

_UNSEEN = 0.1
"""Log-standard deviation that is added where prefills are not seen (a metrics page alone): they take their share all
the same, and other prompts another one."""

_BEYOND = 0.12
"""Log-standard deviation that is added per factor e of running requests beyond what was seen."""


@dataclass(frozen=True, slots=True, eq=False)
class StepModel:
    """The fitted model. Compared by identity: one reference gives one model.

    Attributes:
        fixed_s: ``a``, seconds.
        request_s: ``b``, seconds per running request.
        token_s: ``c``, seconds per token held.
        prompt_s: ``d``, seconds per prompt token.
        scales: Seconds that a share of 1 stands for: per step, request, token held and prompt token.
        spread: Covariance of the four shares.
        cells: Cell to its effect on the log step time, and that one's standard deviation there.
        known: Cells that were seen early, for five minutes at least.
        lightest: Fewest running requests seen.
        heaviest: Most running requests seen.
        prompts: Prompt tokens per made token, over the reference.
        noise: Log-standard deviation of half a minute's throughput.
        lag: Its correlation with the next half minute's.
        bins: Bins in the reference.
    """

    fixed_s: float
    request_s: float
    token_s: float
    prompt_s: float
    scales: tuple[float, float, float, float]
    spread: tuple[tuple[float, ...], ...]
    cells: dict[Key, tuple[float, float]]
    known: frozenset[Key]
    lightest: float
    heaviest: float
    prompts: float
    noise: float
    lag: float
    bins: int

    def expected(self, running: float, held: float, prompt: float) -> float:
        """Tokens a second at a load.

        Args:
            running: Requests running, above 0.
            held: Tokens held.
            prompt: Prompt tokens computed per step.
        """
        seconds = self.fixed_s + self.request_s * running + self.token_s * held + self.prompt_s * prompt
        effect = self.cells.get(key_of(running, held, prompt))
        return running / (seconds * exp(effect[0]) if effect else seconds)

    def relative_sd(self, running: float, held: float, prompt: float) -> float:
        """How unsure ``expected`` is, as a share of it (one standard deviation)."""
        effect = self.cells.get(key_of(running, held, prompt))
        sd = effect[1] if effect else hypot(self.fit_sd(running, held, prompt), MISFIT)
        return hypot(sd, self._beyond(running), 0.0 if self.prompts else _UNSEEN)

    def familiar(self, running: float, held: float, prompt: float) -> bool:
        """Whether such a load was seen early in the run, so that it is judged by its like."""
        return key_of(running, held, prompt) in self.known

    def throughput(self, running: float, tokens_held: float, prompts: float | None = None) -> tuple[float, float]:
        """Tokens a second to expect in the long run at a load, and how unsure that is.

        Args:
            running: Requests running, above 0.
            tokens_held: Tokens held in the KV pool.
            prompts: Prompt tokens computed per made token; as in the reference when not given.

        Returns:
            Tokens a second, and one standard deviation as a share of it.
        """
        prompt = running * (self.prompts if prompts is None else prompts)
        return self.expected(running, tokens_held, prompt), self.relative_sd(running, tokens_held, prompt)

    def curve(
        self,
        concurrency: Sequence[int],
        mean_held_per_request: float,
        pool_tokens: float | None,
        prompts: float | None = None,
    ) -> list[tuple[int, float, float, float]]:
        """Throughput against concurrency: as many run as were sent, or as the pool holds.

        Args:
            concurrency: Requests in flight, each above 0.
            mean_held_per_request: Tokens that a running request holds, prompt included, the mean over its life.
            pool_tokens: Tokens that are held when the pool is as full as it gets; None when it sets no limit.
            prompts: See ``throughput``.

        Returns:
            For each: requests in flight, requests running, tokens a second, one standard deviation as a share.
        """
        found = []
        for sent in concurrency:
            room = pool_tokens / mean_held_per_request if pool_tokens and mean_held_per_request else float(sent)
            running = max(1.0, min(float(sent), room))
            made, spread = self.throughput(running, running * mean_held_per_request, prompts)
            found.append((sent, running, made, spread))
        return found

    def gain_sd(self, to: tuple[float, float], since: tuple[float, float], prompts: float | None = None) -> float:
        """How unsure the ratio of two expected throughputs is, as a share of it: what both rest on cancels out.

        Args:
            to: Running requests and tokens held, here ...
            since: ... and there.
            prompts: See ``throughput``.
        """
        share = self.prompts if prompts is None else prompts
        here, there = (self._slope(running, held, running * share) for running, held in (to, since))
        apart = [mine - other for mine, other in zip(here, there, strict=True)]
        return hypot(self._norm(apart), MISFIT, self._beyond(to[0]), self._beyond(since[0]))

    def fit_sd(self, running: float, held: float, prompt: float) -> float:
        """How unsure the log of the fitted step time is, effects of cells aside."""
        return self._norm(self._slope(running, held, prompt))

    def _slope(self, running: float, held: float, prompt: float) -> list[float]:
        """The derivatives of the log of the fitted step time by the four shares."""
        seconds = self.fixed_s + self.request_s * running + self.token_s * held + self.prompt_s * prompt
        load = (1.0, running, held, prompt)
        return [scale * each / seconds for scale, each in zip(self.scales, load, strict=True)]

    def _norm(self, slope: Sequence[float]) -> float:
        square = 0.0
        for one, row in zip(slope, self.spread, strict=True):
            for other, covariance in zip(slope, row, strict=True):
                square += one * other * covariance
        return sqrt(max(0.0, square))

    def _beyond(self, running: float) -> float:
        """What is added outside the loads that were seen."""
        return _BEYOND * max(0.0, log(running / self.heaviest), log(self.lightest / running))
