"""A server that follows the law of a decode step exactly, but for a noise that wanders: its history, bin for bin."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from math import exp, sqrt
from typing import TYPE_CHECKING

from console.job.minutes import Minutes, MinutesDraft
from console.job.rank_report import RankReport
from console.job.server_events import ServerLoad, ServerPrefill

if TYPE_CHECKING:
    from collections.abc import Callable

T0 = datetime(2026, 2, 24, tzinfo=UTC)
FIXED_S, REQUEST_S, TOKEN_S, PROMPT_S = 0.0092, 0.000_83, 6e-8, 1 / 20_000
EVERY_S = 5
"""Seconds between reports."""


def step_s(running: float, held: float, prompt: float) -> float:
    """The law."""
    return FIXED_S + REQUEST_S * running + TOKEN_S * held + PROMPT_S * prompt


class StepWorld:
    """Grows a history.

    Args:
        seed: Of the noise.
        noise: Log-standard deviation of throughput.
        tau_s: Its correlation time.
    """

    def __init__(self, seed: int = 1, noise: float = 0.04, tau_s: float = 120.0) -> None:
        self.dice = random.Random(seed)
        self.draft = MinutesDraft(Minutes())
        self.second = 0
        self._noise, self._keep, self._level = noise, exp(-EVERY_S / tau_s), 0.0
        self.newest: RankReport | None = None

    @property
    def now_s(self) -> float:
        """Now, seconds since the epoch."""
        return (T0 + timedelta(seconds=self.second)).timestamp()

    def minutes(self) -> Minutes:
        """The history so far."""
        return self.draft.freeze()

    def work(
        self,
        hours: float,
        running: float | Callable[[float], float] = 50,
        held: float = 2_300,
        *,
        prompts: float = 0.4,
        speed: float | Callable[[float], float] = 1.0,
        queue: int = 98,
        retracted_per_min: float = 0.0,
    ) -> StepWorld:
        """Go on for some hours.

        Args:
            hours: How long.
            running: Requests running, or what gives it from the hours since this began.
            held: Tokens that each holds.
            prompts: Prompt tokens per made token.
            speed: Share of the speed by the law, likewise.
            queue: Requests waiting.
            retracted_per_min: Requests retracted; their prompts are not computed again.
        """
        prompt_tokens = retracted = 0.0
        for place in range(round(hours * 3600 / EVERY_S)):
            since = place * EVERY_S / 3600
            now = round(running(since) if callable(running) else running)
            share = speed(since) if callable(speed) else speed
            self._level = self._keep * self._level + sqrt(1 - self._keep**2) * self.dice.gauss(0, self._noise)
            made = now / step_s(now, now * held, now * prompts) * share * exp(self._level)
            self.second += EVERY_S
            at = T0 + timedelta(seconds=self.second)
            prompt_tokens += made * EVERY_S * prompts
            if prompt_tokens > 800:
                self.draft.prefill(ServerPrefill("", 1, int(prompt_tokens), 0, now, queue, 0.8), at)
                prompt_tokens -= int(prompt_tokens)
            retracted += retracted_per_min * EVERY_S / 60
            if retracted >= 1:
                self.draft.retracted(int(retracted), at)
                retracted -= int(retracted)
            load = ServerLoad("", now, queue, min(1.0, now * held / 141_312), round(now * held), made)
            if self.newest is not None:
                self.draft.load(load, at, self.newest, 1, None)
            self.newest = RankReport(load, at, made, at)
        return self

    def rest(self, minutes: float) -> StepWorld:
        """Nothing runs for some minutes."""
        self.second += round(minutes * 60)
        self.newest = None
        return self


def burst(since: float) -> float:
    """A batch that begins with 150 and settles at 50 within a quarter of an hour."""
    return 50 + 100 * exp(-since * 12)


def tail(since: float) -> float:
    """A batch that runs out within half an hour."""
    return max(1.0, 50 * exp(-since * 8))
