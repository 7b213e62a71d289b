"""The demo's scenarios: what goes wrong with the simulated host, and when. Pure functions of time."""

from __future__ import annotations

from dataclasses import dataclass

from remote.demo.batching import POOL_TOKENS

SCENARIOS = ("kv-limited", "old-script", "server-hang", "error-storm", "slow-gpu", "link-cut", "first-checkpoint")
"""All scenarios; the first is the default, in which nothing goes wrong."""

TROUBLE_AFTER_S = 45.0
"""Wall seconds between the first request (``link-cut``: the host's start) and the trouble."""
RAMP_S = 30.0
"""``slow-gpu``: wall seconds in which the GPU gets slow."""
SLOW_SHARE = 0.45
"""``slow-gpu``: the share of its speed that is left."""
CUT_S = 20.0
"""``link-cut``: wall seconds without SSH."""
LARGE_POOL_TOKENS = 760_000
"""``first-checkpoint``: a KV pool into which all requests fit, so that the first batch starts all at once."""
FAILING_TENTHS = 7
"""``error-storm``: so many of ten requests fail."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What a scenario does to the server.

    Attributes:
        scenario: One of ``SCENARIOS``.
        after_s: Wall seconds between the first request and the trouble.
    """

    scenario: str = SCENARIOS[0]
    after_s: float = TROUBLE_AFTER_S

    @property
    def slow_start(self) -> bool:
        """Whether all answers are long, so that the first progress takes long."""
        return self.scenario == "first-checkpoint"

    @property
    def pool_tokens(self) -> int:
        """The server's KV pool, tokens."""
        return LARGE_POOL_TOKENS if self.slow_start else POOL_TOKENS

    def hung(self, elapsed_s: float) -> bool:
        """Whether the scheduler stands still, ``elapsed_s`` wall seconds after the first request."""
        return self.scenario == "server-hang" and elapsed_s >= self.after_s

    def fails(self, elapsed_s: float, number: int) -> bool:
        """Whether the request with this running number is answered with HTTP 500."""
        return self.scenario == "error-storm" and elapsed_s >= self.after_s and number % 10 < FAILING_TENTHS

    def slowdown(self, elapsed_s: float) -> float:
        """The factor on all durations."""
        if self.scenario != "slow-gpu":
            return 1.0
        share = min(1.0, max(0.0, (elapsed_s - self.after_s) / RAMP_S))
        return 1.0 / (1.0 - share * (1.0 - SLOW_SHARE))
