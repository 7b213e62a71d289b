"""One unfinished dataset, as a simulation plays it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from console.job.budget_rule import BudgetRule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.length_law import LengthLaw


@dataclass(frozen=True, slots=True)
class Stage:
    """What a dataset still needs, apart from how long its answers are.

    Attributes:
        name: The dataset.
        begun: Its requests have been sent.
        laws: Equally likely laws of its completions' lengths, by rising mean; not empty.
        prompts: Answers that have still to end, those in flight included; None when not known.
        budget: Tokens until its budget is used up, without those that are in flight; None when it has none.
        made: Tokens that the answers in flight have made.
        ages: Tokens made and how many answers in flight have made them, as far as known; empty when not known.
        queued: Requests that wait in the server, where it is the dataset at work and that is known.
        concurrency: Requests in flight at most; None when not known.
        running: Requests that run at once, where that has been seen; None lets it be reckoned.
        prompt: Its mean prompt, tokens; None for that of the dataset at work.
        gap_s: Seconds until its first token: prompts are read and tokenized first.
        rules: What may be done when its budget is used up, equally likely.
    """

    name: str
    begun: bool
    laws: Sequence[LengthLaw]
    prompts: float | None = None
    budget: float | None = None
    made: float = 0.0
    ages: tuple[tuple[float, int], ...] = ()
    queued: int | None = None
    concurrency: int | None = None
    running: float | None = None
    prompt: float | None = None
    gap_s: float = 0.0
    rules: tuple[BudgetRule, ...] = (BudgetRule.FORESEES,)

    def by_prompts(self, law: LengthLaw) -> float | None:
        """Tokens still to be made until all prompts are done, if lengths follow ``law``; None when that is not known.

        What has been made of what is in flight is not owed again; where its ages are not known, it counts as made by
        answers of mean length.
        """
        if self.prompts is None:
            return None
        flying = sum(number for _, number in self.ages)
        unaged = 0.0 if self.ages else self.made
        return max(0.0, self.in_flight(law) + max(0.0, self.prompts - flying) * law.mean - unaged)

    def in_flight(self, law: LengthLaw) -> float:
        """Tokens that what is in flight will still make, as far as its ages are known."""
        return _still_to_make(law, self.ages)

    def by_budget(self, law: LengthLaw, running: int, rule: BudgetRule) -> float | None:
        """Tokens still to be made until the budget has ended it, those of its drain included; None when it has none.

        Where only finished answers count, as many tokens as a full batch holds are made besides. What waits in the
        server is in flight, too, and has all of its answer still to come.
        """
        if self.budget is None:
            return None
        waits = self.queued if self.queued is not None else max(0, (self.concurrency or 0) - running)
        sent = self.in_flight(law) + waits * law.mean
        if rule in {BudgetRule.FORESEES, BudgetRule.AVERAGES}:
            longer = 2 * law.residual_mean_equilibrium - law.mean if rule is BudgetRule.AVERAGES else 0.0
            return max(self.budget - self.made + running * longer, sent if self.ages else 0.0)
        if self.budget <= 0.0 and rule is BudgetRule.FINISHES and self.ages:
            return sent
        held = running * law.residual_mean_equilibrium
        begun = max(0.0, self.budget + held - self.made)
        return begun if rule is BudgetRule.DROPS else begun + held + waits * law.mean


@lru_cache(maxsize=8)
def _still_to_make(law: LengthLaw, ages: tuple[tuple[float, int], ...]) -> float:
    """Tokens that requests of these ages will still make; kept for a moment, since prompts and budget both ask."""
    return sum([number * law.mean_left(age) for age, number in ages])
