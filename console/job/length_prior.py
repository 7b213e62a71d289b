"""What is expected of a dataset's lengths before it has told of any: from other datasets, else from its limit."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import TYPE_CHECKING

from console.job.dataset_run import FINAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from console.job.dataset_run import DatasetRun

WELL_KNOWN = 20
"""Completions from which on a dataset's mean says something of others."""

BETWEEN = 0.5
"""Log-standard deviation of means between datasets of one class until it is learned: means of two datasets of one
mix commonly differ by a factor of 1.5 to 2."""

_BETWEEN_WEIGHT = 4.0
"""That guess counts like so many datasets."""

_CLASSES = 0.5
"""Log-standard deviation between the classes (``SHORT``, ``LONG``), on top of that."""

_LONGER = 0.6
"""By how much the logarithm of a mean is expected to be greater in a class that is called ``LONG`` than in one called
``SHORT``: the words say which, and limits and concurrency are chosen for it."""

_FEWER, _FEWER_SPREAD = 0.4, 0.25
"""Datasets of longer answers are made smaller: a set with half as many prompts is expected to have answers 2^0.4 times
as long, until the run's own datasets show by how much. (Where the work is made equal the exponent would be 1, where
sizes are chosen without regard to it 0.)"""

_SHARE = 0.17
"""Mean length as a share of the limit when nothing else is known: a limit is set so that few answers reach it."""

_BY_LIMIT = 0.8
"""Log-standard deviation of that guess."""

_NO_LIMIT_MEAN, _NO_LIMIT = 1_000.0, 1.2
"""The guess in tokens, and its spread, where no limit is known either."""


@dataclass(frozen=True, slots=True)
class LengthPrior:
    """A log-normal expectation of a dataset's mean length.

    Attributes:
        log_mean: Middle of the logarithm of the mean, log-tokens.
        spread: Its standard deviation.
        datasets: Datasets that it rests on; 0 for a guess by the limit alone.
    """

    log_mean: float
    spread: float
    datasets: int = 0


def prior_of(
    others: Iterable[DatasetRun],
    kind: str,
    max_tokens: int | None,
    means: Mapping[str, float] | None = None,
    prompts: int | None = None,
) -> LengthPrior:
    """What other datasets lead to expect of one.

    Every dataset counts once, however large: between datasets means differ far more than by their own errors. With
    log-means ``y``, ``k`` datasets of the same class and ``m`` of others,

        s^2      = (4 x 0.5^2 + sum of (y - its class's mean)^2) / (4 + sum of (datasets of a class - 1))
        log_mean = the two groups' means, weighted by 1 / (s^2 / k) and 1 / (s^2 / m + 0.5^2)
        spread^2 = s^2 + 1 / (sum of these weights) + (variance of the exponent) x (how far its size is from theirs)^2

    so that the spread between datasets is shrunk towards 0.5 until it has been learned. The means of other classes are
    moved by what the classes' names say, and all by the number of prompts, with an exponent that is learned from them
    (a regression whose slope is expected to be 0.4 +- 0.25).

    Args:
        others: The other datasets of the run; those that have told too little do not count.
        kind: Class of the dataset in question.
        max_tokens: New tokens of one of its requests at most; None when not known.
        means: Dataset to its believed mean, tokens, for those that are at work.
        prompts: How many prompts the dataset in question has; None when not known.
    """
    known = []
    for run in others:
        mean = _mean(run, means or {})
        if mean:
            size = log(run.total / prompts) if run.total and prompts else 0.0
            known.append((run.kind, log(mean) + _shift(kind) - _shift(run.kind), size))
    slope, unsure = _fewer([(size, middle) for _, middle, size in known])
    away = sum([size for *_, size in known]) / len(known) if known else 0.0
    classes: dict[str, list[float]] = {}
    for which, middle, size in known:
        classes.setdefault(which, []).append(middle + slope * size)
    if not classes:
        if max_tokens is None:
            return LengthPrior(log(_NO_LIMIT_MEAN), _NO_LIMIT)
        return LengthPrior(log(_SHARE * max_tokens), _BY_LIMIT)
    groups = list(classes.values())
    off = sum([(each - sum(logs) / len(logs)) ** 2 for logs in groups for each in logs])
    freedom = sum([len(logs) - 1 for logs in groups])
    between = (_BETWEEN_WEIGHT * BETWEEN**2 + off) / (_BETWEEN_WEIGHT + freedom)
    alike = classes.pop(kind, [])
    apart = [each for logs in classes.values() for each in logs]
    weights = [len(alike) / between, 1 / (between / len(apart) + _CLASSES**2) if apart else 0.0]
    sums = [sum(alike) / between, weights[1] * sum(apart) / len(apart) if apart else 0.0]
    weight = sum(weights)
    return LengthPrior(sum(sums) / weight, sqrt(between + 1 / weight + unsure * away**2), len(alike) + len(apart))


def _fewer(known: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """By how much log-means fall with the logarithm of the number of prompts, and its variance."""
    if not known:
        return _FEWER, _FEWER_SPREAD**2
    x, y = (sum(each[k] for each in known) / len(known) for k in (0, 1))
    wide = sum([(size - x) ** 2 for size, _ in known]) / BETWEEN**2
    falls = -sum([(size - x) * (middle - y) for size, middle in known]) / BETWEEN**2
    expected = 1 / _FEWER_SPREAD**2
    return (expected * _FEWER + falls) / (expected + wide), 1 / (expected + wide)


def _shift(kind: str) -> float:
    """What a class's name says of its lengths, relative to one that says nothing."""
    return {"LONG": _LONGER / 2, "SHORT": -_LONGER / 2}.get(kind.upper(), 0.0)


def _mean(run: DatasetRun, means: Mapping[str, float]) -> float | None:
    """The mean of a dataset as far as it can be trusted: finished answers of one at work are its short ones."""
    if run.name in means:
        return means[run.name]
    if not run.tokens or run.done < WELL_KNOWN:
        return None
    if run.state not in FINAL and run.done_run and run.done < 3 * (run.concurrency or WELL_KNOWN):
        return None
    return run.tokens / run.done
