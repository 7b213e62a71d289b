"""How far a budget is overshot: seeded simulations with several laws of lengths, no process and no clock.

Beside the rule of the job stands what is simplest: each request in flight is taken for as long as the completions are
on average. 150 requests may be in flight, of 10,240 tokens at most; the server works on 150 or on 50 of them at a time.
"""

from __future__ import annotations

import random
import statistics
from pathlib import Path
from typing import TYPE_CHECKING

from remote.payload import run_inference as job
from tests.payload.test_run_inference_budget import play

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_TOKENS = 10_240
IN_FLIGHT = 150
BUDGETS = (160_000, 500_000, 2_000_000, 10_000_000)


def mixed(chance: random.Random, share: float, some: Callable[[], float], others: Callable[[], float]) -> float:
    """A length of one law for a share of all, of another one for the others."""
    return some() if chance.random() < share else others()


LAWS: dict[str, Callable[[random.Random], float]] = {
    "log-normal, sigma 0.9": lambda chance: chance.lognormvariate(0.0, 0.9) * 1333,
    "exponential": lambda chance: chance.expovariate(1 / 2000),
    "all alike (10 %)": lambda chance: chance.gauss(2000, 200),
    "heavy tail (Pareto 1.5)": lambda chance: 667 * chance.paretovariate(1.5),
    "15 % go to the limit": lambda chance: mixed(
        chance, 0.15, lambda: MAX_TOKENS, lambda: chance.lognormvariate(0, 0.6) * 1000
    ),
    "80 % of 500, 20 % of 8,000": lambda chance: mixed(
        chance, 0.8, lambda: chance.gauss(500, 100), lambda: chance.gauss(8000, 500)
    ),
}
"""Laws of lengths, each about 2,000 tokens on average (2,600 where some go to the limit)."""


class Averages(job.Figures):
    """Takes each request in flight for one of mean length."""

    def may_start(self, now: float) -> bool:
        """See ``Figures``."""
        lengths = self.plan.lengths
        if not lengths.count:
            return super().may_start(now)
        budget = self.plan.dataset.token_budget or 0
        return self.tokens + self.in_flight * lengths.tokens / lengths.count < budget


def overshoot(kind: type[job.Figures], law: str, budget: int, slots: int, seed: int) -> int:
    """Tokens beyond the budget."""
    dataset = job.Dataset("A", "short", Path("A"), IN_FLIGHT, MAX_TOKENS, budget, None, {}, None)
    plan = job.Plan(dataset)
    plan.todo.extend(range(budget // 100))
    figures = kind(plan, 0.0)
    chance = random.Random(seed)  # noqa: S311 - no secret
    play(figures, lambda: max(1, int(LAWS[law](chance))), slots)
    return figures.over


def table(seeds: int) -> None:
    """Prints one line for each budget, server and law."""
    print(f"\nTokens beyond a budget, {IN_FLIGHT} in flight, {seeds} seeds: mean and worst of the job,", end=" ")
    print("then with the mean for each in flight")
    for budget in BUDGETS:
        for slots in (150, 50):
            for law in LAWS:
                said = []
                for kind in (job.Figures, Averages):
                    over = [overshoot(kind, law, budget, slots, seed) for seed in range(seeds)]
                    worst = max(over)
                    said.append(f"{statistics.mean(over):>10,.0f}{worst:>10,} {worst / budget:>7.1%}")
                print(f"{budget:>12,}{slots:>5}  {law:<28}{'  |'.join(said)}", flush=True)
