"""The rest of the run, played through: each draw is one future, in which everything that is uncertain has a value.

For each draw, and each dataset in turn:

    law     one of its equally likely laws of lengths
    speed   e^(level + its own part)
    seconds = gap + (tokens owed - tokens of the drain) / tok/s + drain, the last answer's end being a chance too
    budget  what is done when it is used up, while that has not been seen

What datasets share, shows in all of them: a law's place among the laws follows ``sqrt(r) shared + sqrt(1 - r) own``
with r = 0.5, since what is not known of one kind of datasets is not known of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, log2, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

from console.job import deck
from console.job.budget_rule import BudgetRule
from console.job.drain import NOTHING, drain, drain_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.drain import Drain, StepTime
    from console.job.length_law import LengthLaw
    from console.job.outlook import Outlook
    from console.job.stage import Stage

_SHARED = 0.5
"""Correlation of the errors of datasets' mean lengths."""

_OWN_SPEED = 0.5
"""Share of the variance of the speed that each dataset has for itself."""

_SPEED, _LENGTHS, _FIRST = 0, 1, 2
"""Dimensions of the draws: the shared speed, the shared lengths, then five of each dataset's own."""
_EACH = 5

_NORMAL = NormalDist()

_ENDING = 0.3
"""How unsure a drain's length is beside its last answer's luck, one standard deviation of its logarithm: its law's far
end has been seen by few answers."""

_SHORT = 0.04
"""At most what a short time adds to the variance of the speed: the last minutes of a drain are not all chance."""


@dataclass(frozen=True, slots=True)
class Span:
    """Seconds from now until an end.

    Attributes:
        low: Early end of the range.
        middle: Median.
        high: Late end.
    """

    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class Played:
    """The rest of the run.

    Attributes:
        ends: Each dataset's, in order; the last is the run's.
        tokens: Still to be made, median.
    """

    ends: tuple[Span, ...]
    tokens: float


def play(stages: Sequence[Stage], outlook: Outlook, coverage: float) -> Played:
    """Play the rest of the run.

    Args:
        stages: The unfinished datasets in the order in which they are done; not empty.
        outlook: How fast tokens will be made.
        coverage: Of the ranges, 0 to 1.
    """
    clock = [0.0] * deck.DRAWS
    owed = [0.0] * deck.DRAWS
    ends = []
    tail = (1 - coverage) / 2
    for number, stage in enumerate(stages):
        _play_one(stage, number, outlook, clock, owed)
        rising = sorted(clock)
        ends.append(Span(deck.quantile(rising, tail), deck.quantile(rising, 0.5), deck.quantile(rising, 1 - tail)))
    return Played(tuple(ends), deck.quantile(sorted(owed), 0.5))


def _play_one(stage: Stage, number: int, outlook: Outlook, clock: list[float], owed: list[float]) -> None:
    """Move each draw's clock on to the dataset's end."""
    first = _FIRST + _EACH * number
    shared, own = deck.normals(_LENGTHS), deck.normals(first)
    speed, own_speed = deck.normals(_SPEED), deck.normals(first + 1)
    luck = deck.shares(first + 2)
    ways, lucky = deck.shares(first + 3), deck.normals(first + 4)
    known: dict[tuple[int, BudgetRule], _Case] = {}
    count = len(stage.laws)
    for draw in range(deck.DRAWS):
        chance = _NORMAL.cdf(sqrt(_SHARED) * shared[draw] + sqrt(1 - _SHARED) * own[draw])
        place = min(count - 1, int(chance * count))
        rule = stage.rules[int(ways[draw] * len(stage.rules))]
        case = known.get((place, rule))
        if case is None:
            case = known[place, rule] = _case(stage, stage.laws[place], rule, outlook)
        wander = sqrt(1 - _OWN_SPEED) * speed[draw] + sqrt(_OWN_SPEED) * own_speed[draw]
        bulk_s = max(0.0, case.bulk_s + case.chance_s * lucky[draw])
        work_s = bulk_s + case.ending_s(luck[draw]) * exp(_ENDING * lucky[draw])
        clock[draw] += stage.gap_s + work_s / exp(case.sd * wander)
        owed[draw] += case.owed


@dataclass(frozen=True, slots=True)
class _Case:
    """A dataset with one law and one rule.

    Attributes:
        owed: Tokens still to be made.
        bulk_s: Seconds until its drain.
        chance_s: What chance adds to them, one standard deviation: so many answers are not so many means.
        drain: Its drain.
        share: Of the drain's seconds that are still to come.
        step: Seconds of a decode step.
        sd: How unsure the speed is, one standard deviation of its logarithm.
    """

    owed: float
    bulk_s: float
    chance_s: float
    drain: Drain
    share: float
    step: StepTime
    sd: float

    def ending_s(self, luck: float) -> float:
        """Seconds of the drain, at a share of its chances."""
        return self.share * self.drain.seconds(luck, self.step)


def _case(stage: Stage, law: LengthLaw, rule: BudgetRule, outlook: Outlook) -> _Case:
    # A batch that has settled shows its speed itself; for any other, the law says what its requests will hold.
    step = outlook.step_now() if stage.running else outlook.step(law)
    running = max(1, round(stage.running)) if stage.running else outlook.batch(law, stage.concurrency)
    fresh = False
    if stage.prompts is not None and stage.prompts <= running:
        running, fresh = max(1, round(stage.prompts)), not stage.begun
    prompts, budget = stage.by_prompts(law), stage.by_budget(law, running, rule)
    owed = min(each for each in (prompts, budget) if each is not None)
    if owed <= 0.0:
        return _Case(0.0, 0.0, 0.0, NOTHING, 0.0, step, 0.0)
    speed = step.throughput(running)
    away = abs(log(max(1.0, running) / max(1.0, outlook.running)))
    sd = sqrt(outlook.level_sd**2 + (outlook.other_sd * away) ** 2 + min(_SHORT, outlook.noise_s * speed / owed))
    if rule is BudgetRule.DROPS and owed == budget:
        return _Case(owed, owed / speed, 0.0, NOTHING, 0.0, step, sd)
    ending = _ending(stage, law, running, fresh=fresh)
    bulk = owed - ending.tokens
    if bulk < 0.0:
        # Less is owed than a full batch would still make: only the end of its drain is left.
        return _Case(owed, 0.0, 0.0, ending, sqrt(owed / ending.tokens), step, sd)
    variance = law.mean * max(0.0, 2 * law.residual_mean_equilibrium - law.mean)
    chance = sqrt((stage.prompts or 0.0) * variance) if owed == prompts else 0.0
    sent = max(running, min(stage.concurrency or 0, stage.prompts or running))
    uneven = max(_uneven(outlook.ranks) * sqrt(sent * variance * outlook.ranks), outlook.behind(law, sent))
    return _Case(owed, (bulk + uneven) / speed, chance / speed, ending, 1.0, step, sd)


def _uneven(ranks: int) -> float:
    """By how many standard deviations the slowest of some ranks is behind their mean.

    Each DP rank has requests of its own, and those that got the longest answers end last: the expected greatest of so
    many normal figures (0.56 of two, 1.03 of four, 1.42 of eight), which ``0.56 log2(ranks)^0.85`` follows.
    """
    return 0.56 * log2(ranks) ** 0.85 if ranks > 1 else 0.0


def _ending(stage: Stage, law: LengthLaw, running: int, *, fresh: bool) -> Drain:
    flying = sum(number for _, number in stage.ages)
    if stage.prompts is not None and flying and stage.prompts <= flying:
        return drain_of(law, stage.ages)
    return drain(law, running, fresh=fresh)
