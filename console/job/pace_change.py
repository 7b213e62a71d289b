"""Whether the server slowed down for good: a clear fall by two windows, a lesser one by a cumulative sum over hours."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, log, sqrt
from statistics import fmean, median
from typing import TYPE_CHECKING

from console.job.change import Change, chance_below, is_ramp, onset
from console.job.minutes import CHUNK
from console.job.minutes_bin import STEP_S
from console.job.pace_rests import clipped_mean, groups, judged
from console.job.step_learn import effective
from console.job.step_model import MISFIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.change import Group
    from console.job.limits import Limits
    from console.job.minutes import Minutes
    from console.job.step_model import StepModel

FAST_S, QUARTER_S, SLOW_S = 300, 900, 1800
"""Lengths of the windows, seconds."""

LONG_S = 5400
"""And of the one that a lesser change must fill before it counts as much."""

SUSPECT = 0.94
"""Share of what is expected, over half an hour, below which the history is searched."""

_HISTORY_S = 12 * 3600
"""How far back a change is looked for."""

_HOLD = 1.08
"""Once low, it counts as low until it is this much above the threshold, so that a verdict does not flutter ..."""

_HOLD_BINS = 60
"""... if it was low within the last half hour."""

_NOT_CHANCE = 0.99
"""How sure a change must be to be told."""

_MOST = 0.8
"""Share of the long window that must hold work."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What the search looks at.

    Attributes:
        minutes: The server's history.
        model: What is expected.
        now_s: Now on the history's clock, seconds since the epoch.
        sd: How unsure what is expected is, as a share.
        limits: Thresholds.
    """

    minutes: Minutes
    model: StepModel
    now_s: float
    sd: float
    limits: Limits


def long_share(looked: Looked) -> float | None:
    """The residual over the last hour and a half, a log; None with too little work in it."""
    found = groups(looked.minutes, looked.model, looked.now_s - LONG_S)
    return fmean([group.value for group in found]) if len(found) * CHUNK * STEP_S >= LONG_S * _MOST else None


def fall(looked: Looked, fast: float, quarter: float, slow: float) -> Change | None:
    """A lasting fall; None when there is none, or when it may be chance.

    Args:
        looked: What to look at.
        fast: Share of what is expected over five minutes, ...
        quarter: ... a quarter of an hour ...
        slow: ... and half an hour.
    """
    model = looked.model
    clear = _is_low(looked, fast, quarter)
    found = groups(looked.minutes, model, looked.now_s - _HISTORY_S)
    scatter = hypot(model.noise / sqrt(effective(CHUNK, model.lag)), MISFIT)
    began = onset([group.value for group in found], scatter)
    if not clear and (began is None or fast >= SUSPECT):
        return None
    ratio = quarter if clear else slow
    chance = hypot(looked.sd, model.noise / sqrt(effective(QUARTER_S / STEP_S, model.lag)))
    sure = chance_below(log(ratio), chance)
    if sure < _NOT_CHANCE:
        return None
    ramp = is_ramp(found)
    if ramp is not None:
        return Change("ramp", found[ramp].time_s, ratio, sure)
    return Change("step", _step_since(looked, found, began, -log(ratio)), ratio, sure)


def _is_low(looked: Looked, fast: float, quarter: float) -> bool:
    """Whether both windows are below the threshold, or a little above it after they were below."""
    limit = looked.limits.throughput_low
    if fast < limit and quarter < limit:
        return True
    if fast >= limit * _HOLD or quarter >= limit * _HOLD:
        return False
    since_s = looked.now_s - QUARTER_S - (_HOLD_BINS + 1) * STEP_S
    rests = [each.rest for each in judged(looked.minutes, looked.model, since_s)]
    size, short = QUARTER_S // STEP_S, FAST_S // STEP_S
    for end in range(len(rests) - 1, size - 1, -2):
        part = rests[end - size : end]
        if max(median(part), median(part[-short:])) < log(limit):
            return True
        if median(part) >= log(limit * _HOLD):
            return False
    return False


def _step_since(looked: Looked, found: Sequence[Group], began: int | None, height: float) -> float:
    """When a step came: by half minutes where it is recent, else by groups.

    Args:
        looked: What to look at.
        found: The groups.
        began: Which of them it began in, by their cumulative sum; None when that says nothing.
        height: How far it fell, as a log.
    """
    recent = looked.now_s - 4 * SLOW_S
    if began is None or (began < len(found) and found[began].time_s >= recent):
        steps = judged(looked.minutes, looked.model, recent)
        place = onset([clipped_mean([each.rest]) for each in steps], max(looked.model.noise, MISFIT), height)
        if place is not None and place < len(steps):
            return steps[place].step.time_s
    if began is not None and began < len(found):
        return found[began].time_s
    return looked.now_s - QUARTER_S
