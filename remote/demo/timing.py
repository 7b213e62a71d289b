"""What work costs the simulated GPU."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """What work costs, in simulated seconds.

    A decode step takes ``step_s + request_s x running + token_s x tokens in the pool``. The values give about
    850 tok/s with 50 requests running and a pool filled to 0.82, prefills between them included.

    Attributes:
        step_s: A decode step's fixed part.
        request_s: What each running request adds.
        token_s: What each token held in the pool adds (attention reads it).
        prefill_s: A prefill batch's fixed part.
        prefill_token_s: What each prompt token adds.
    """

    step_s: float = 0.0092
    request_s: float = 0.000_83
    token_s: float = 6.0e-8
    prefill_s: float = 0.012
    prefill_token_s: float = 1 / 20_000

    def prefill(self, tokens: int) -> float:
        """Seconds of a prefill batch with so many prompt tokens."""
        return self.prefill_s + tokens * self.prefill_token_s

    def decode(self, running: int, tokens: int, steps: int = 1) -> float:
        """Seconds of decode steps, in which each of the running requests adds a token to the pool.

        The pool's part is the sum of ``tokens + i x running`` for i from 0 to ``steps - 1``.

        Args:
            running: Requests in the batch.
            tokens: Tokens in the pool before the first step.
            steps: How many steps.
        """
        held = steps * tokens + running * steps * (steps - 1) / 2
        return steps * (self.step_s + self.request_s * running) + self.token_s * held
