"""When the run will be done: tokens left over tokens a second, never requests over requests a second.

    end = anchor + sum of (tokens left / tok/s + tail) over the unfinished datasets
    tail = 2 x mean completion x running requests / tok/s

The anchor is the moment of which the token counts are true: the newest progress line's. Requests a second fall while
answers grow longer and say nothing of the time left; tokens a second hold.

The tail is what a dataset's end costs beyond its tokens: its last long answers run with few beside them, and the next
one's first answers must come. By Little's law one answer of mean length takes mean x running / tok/s seconds, so the
tail scales with the server and its answers.

The range (coverage 0.8) adds up three independent sources, each as seconds on the low and the high side:

    tokens  sqrt((1 - r) sum d_i^2 + r (sum d_i)^2)   d_i: half range of dataset i's tokens over tok/s, r = 0.5, since
                                                      datasets that have not begun share what is expected of them
    speed   variation x seconds of work
    tail    0 to 7.5 answers of mean length, for each dataset
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import hypot, sqrt
from typing import TYPE_CHECKING

from console.job.snapshot import Eta
from console.job.units import rate, tokens
from console.job.work_left import UnknownWork, Work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.speed import Speed

_TAIL = 2.0
"""Answers of mean length that a dataset's end costs: the longest of those still running take several times the mean,
and half of the batch's places are empty meanwhile."""

_TAIL_EARLY = 1.8
"""How many fewer it may be: a dataset that ends by its budget need not wait for its tail."""

_TAIL_LATE = 5.5
"""How many more: an answer that runs to the limit of 10,240 tokens takes five times one of 2,000."""

_SHARED = 0.5
"""Correlation of the errors of datasets' tokens."""

_FAR_S = 100 * 365.25 * 86_400
"""No end is told beyond a hundred years: a server that makes next to nothing would otherwise leave the calendar."""

COVERAGE = 0.8
"""How often the range should hold."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """When it will be done.

    Attributes:
        whole: The whole run.
        by_dataset: Dataset to the time of its end, as far as known.
    """

    whole: Eta
    by_dataset: dict[str, datetime] = field(default_factory=dict)


def estimate(left: Sequence[Work | UnknownWork], speed: Speed | None, anchor: datetime, now: datetime) -> Estimate:
    """When each dataset and the whole run will be done.

    Args:
        left: What the unfinished datasets need, in the order in which they are done; not empty.
        speed: tok/s; None while not known.
        anchor: The moment of which the counts are true.
        now: No end lies before it.
    """
    if speed is None:
        return Estimate(Eta(basis="No throughput has been seen yet, so no end can be told."))
    known: list[Work] = []
    ends: dict[str, datetime] = {}
    seconds = 0.0
    for work in left:
        if isinstance(work, UnknownWork):
            return Estimate(Eta(basis=f"No end can be told: {work.why}."), ends)
        known.append(work)
        seconds += work.tokens / speed.tokens_per_s + _TAIL * _answer_s(work, speed)
        ends[work.name] = max(_after(anchor, seconds), now)
    return Estimate(_whole(known, speed, anchor, now), ends)


def _whole(known: Sequence[Work], speed: Speed, anchor: datetime, now: datetime) -> Eta:
    total = sum(work.tokens for work in known)
    seconds = total / speed.tokens_per_s
    wander = speed.variation * seconds
    answers_s = sum(_answer_s(work, speed) for work in known)
    early = hypot(_joint([work.tokens - work.low for work in known], speed), wander, _TAIL_EARLY * answers_s)
    late = hypot(_joint([work.high - work.tokens for work in known], speed), wander, _TAIL_LATE * answers_s)
    middle = seconds + _TAIL * answers_s
    return Eta(
        at=max(now, _after(anchor, middle)),
        low=max(now, _after(anchor, middle - min(early, middle))),
        high=max(now, _after(anchor, middle + late)),
        coverage=COVERAGE,
        basis=_basis(total, speed, sum(not work.begun for work in known)),
        tokens_left=round(total),
    )


def _after(anchor: datetime, seconds: float) -> datetime:
    return anchor + timedelta(seconds=min(seconds, _FAR_S))


def _answer_s(work: Work, speed: Speed) -> float:
    """Seconds that an answer of mean length takes; 0 while that is not known, or when nothing is left."""
    if work.mean is None or speed.running is None or not work.tokens:
        return 0.0
    return work.mean * speed.running / speed.tokens_per_s


def _joint(halves: Sequence[float], speed: Speed) -> float:
    squares = sum(half * half for half in halves)
    return sqrt((1 - _SHARED) * squares + _SHARED * sum(halves) ** 2) / speed.tokens_per_s


def _basis(total: float, speed: Speed, not_begun: int) -> str:
    by = "" if speed.source == "server" else " by the job's own counts"
    first = f"{tokens(total)} tokens left at {rate(speed.tokens_per_s)}{by}"
    if not_begun == 0:
        return f"{first}."
    return f"{first}; {not_begun} dataset{'s have' if not_begun > 1 else ' has'} not begun, so the range is wide."
