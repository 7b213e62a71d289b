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
from functools import lru_cache
from math import exp, log, log2, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

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
        middle: Median, for one that has begun; see ``deck.fair`` for others.
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
    tail, latest = (1 - coverage) / 2, 0.0
    for number, stage in enumerate(stages):
        _play_one(stage, number, outlook, clock, owed)
        rising = sorted(clock)
        middle = deck.quantile(rising, 0.5) if stage.begun else deck.fair(rising)
        latest = max(middle, latest)
        ends.append(Span(deck.quantile(rising, tail), latest, deck.quantile(rising, 1 - tail)))
    return Played(tuple(ends), deck.quantile(sorted(owed), 0.5))


def _play_one(stage: Stage, number: int, outlook: Outlook, clock: list[float], owed: list[float]) -> None:
    """Move each draw's clock on to the dataset's end."""
    known: dict[tuple[int, BudgetRule], _Case] = {}
    batches: dict[int, _Batch] = {}
    laws, rules, gap_s, count = stage.laws, stage.rules, stage.gap_s, len(stage.laws)
    for draw, (chance, wander, luck, way, lucky, stretch) in enumerate(_chances(number)):
        place = min(count - 1, int(chance * count))
        rule = rules[int(way * len(rules))]
        case = known.get((place, rule))
        if case is None:
            batch = batches.get(place)
            if batch is None:
                batch = batches[place] = _batch(stage, laws[place], outlook)
            case = known[place, rule] = _case(stage, batch, rule, outlook)
        bulk_s = max(0.0, case.bulk_s + case.chance_s * lucky)
        work_s = bulk_s + case.ending_s(luck) * stretch
        clock[draw] += gap_s + work_s / exp(case.sd * wander)
        owed[draw] += case.owed


class _Chance(NamedTuple):
    """What one draw holds for one dataset.

    Attributes:
        law: Its law's place among the laws, 0 to 1.
        wander: Its speed, shared and its own, a standard normal figure.
        luck: The share of the cases in which its drain is over sooner.
        way: Which of the rules, 0 to 1.
        lucky: What chance adds to the bulk, a standard normal figure.
        stretch: By how much its drain is longer than its law says.
    """

    law: float
    wander: float
    luck: float
    way: float
    lucky: float
    stretch: float


@lru_cache(maxsize=64)
def _chances(number: int) -> tuple[_Chance, ...]:
    """The draws for the dataset in this place; they are the same ones in every simulation."""
    first = _FIRST + _EACH * number
    shared, own = deck.normals(_LENGTHS), deck.normals(first)
    speed, own_speed = deck.normals(_SPEED), deck.normals(first + 1)
    luck, ways, lucky = deck.shares(first + 2), deck.shares(first + 3), deck.normals(first + 4)
    return tuple(
        _Chance(
            _NORMAL.cdf(sqrt(_SHARED) * shared[draw] + sqrt(1 - _SHARED) * own[draw]),
            sqrt(1 - _OWN_SPEED) * speed[draw] + sqrt(_OWN_SPEED) * own_speed[draw],
            luck[draw],
            ways[draw],
            lucky[draw],
            exp(_ENDING * lucky[draw]),
        )
        for draw in range(deck.DRAWS)
    )


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


class _Batch(NamedTuple):
    """A dataset with one law, whatever ends it.

    Attributes:
        law: Of its completions' lengths.
        step: Seconds of a decode step.
        running: Requests that run at once.
        fresh: All of them have only begun.
        prompts: Tokens still to be made until all prompts are done; None when that is not known.
        speed: Tokens a second.
        variance: Of the logarithm of the speed, over a long time.
        spread: Variance of a length.
        uneven: Tokens by which the slowest rank is behind.
    """

    law: LengthLaw
    step: StepTime
    running: int
    fresh: bool
    prompts: float | None
    speed: float
    variance: float
    spread: float
    uneven: float


def _batch(stage: Stage, law: LengthLaw, outlook: Outlook) -> _Batch:
    # A batch that has settled shows its size and speed itself; of any other, the law says what its requests will hold.
    young = outlook.young(law) if stage.running else 1.0
    step = outlook.step(law, young=young, prompt=stage.prompt)
    usual = outlook.batch(law, stage.concurrency, begun=stage.begun, prompt=stage.prompt)
    running = max(1, round(young * usual + (1 - young) * (stage.running or usual)))
    fresh = False
    if stage.prompts is not None and stage.prompts <= running:
        running, fresh = max(1, round(stage.prompts)), not stage.begun
    away = abs(log(max(1.0, running) / max(1.0, outlook.running)))
    spread = law.mean * max(0.0, 2 * law.residual_mean_equilibrium - law.mean)
    sent = max(running, min(stage.concurrency or 0, stage.prompts or running))
    return _Batch(
        law,
        step,
        running,
        fresh,
        stage.by_prompts(law),
        step.throughput(running),
        outlook.level_sd**2 + (outlook.other_sd * away) ** 2,
        spread,
        max(_uneven(outlook.ranks) * sqrt(sent * spread * outlook.ranks), outlook.behind(law, sent)),
    )


def _case(stage: Stage, batch: _Batch, rule: BudgetRule, outlook: Outlook) -> _Case:
    law, step, running, fresh, prompts, speed, variance, spread, uneven = batch
    budget = stage.by_budget(law, running, rule)
    owed = min(each for each in (prompts, budget) if each is not None)
    if owed <= 0.0:
        return _Case(0.0, 0.0, 0.0, NOTHING, 0.0, step, 0.0)
    sd = sqrt(variance + min(_SHORT, outlook.noise_s * speed / owed))
    if rule is BudgetRule.DROPS and owed == budget:
        return _Case(owed, owed / speed, 0.0, NOTHING, 0.0, step, sd)
    ending = _ending(stage, law, running, fresh=fresh)
    bulk = owed - ending.tokens
    if bulk < 0.0:
        # Less is owed than a full batch would still make: only the end of its drain is left.
        return _Case(owed, 0.0, 0.0, ending, sqrt(owed / ending.tokens), step, sd)
    chance = sqrt((stage.prompts or 0.0) * spread) if owed == prompts else 0.0
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
