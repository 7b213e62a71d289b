"""Half minutes at work, each with its residual: the log of what was made over what was to be expected of its load."""

from __future__ import annotations

from functools import lru_cache
from math import log
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from console.job.change import Group
from console.job.minutes import CHUNK
from console.job.minutes_bin import Bin, Step, steps_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from console.job.minutes import Minutes
    from console.job.step_model import StepModel

_FEW = 3.0
"""Running requests below which nothing is judged: the last answers of a dataset."""

_CLIP = 0.7
"""A residual beyond this (half, or double) counts as this in a mean."""


_RECENT = 64
"""Chunks whose half minutes are remembered, eight hours: some 10 kB each."""


class Judged(NamedTuple):
    """A half minute.

    Attributes:
        step: What it says of a decode step.
        rest: Its residual: 0 as expected, -0.5 for 61 % of it.
    """

    step: Step
    rest: float


def judged(minutes: Minutes, model: StepModel, since_s: float) -> list[Judged]:
    """The half minutes at work since then, oldest first.

    Args:
        minutes: The server's history.
        model: What is expected.
        since_s: On the history's clock, seconds since the epoch.
    """
    newest = (*minutes.tail, minutes.open) if minutes.open else minutes.tail
    parts = [_judge(model, newest)]
    for chunk in reversed(minutes.chunks):
        if chunk[-1].time_s < since_s:
            break
        parts.append(_judge_chunk(model, chunk))
    return [each for part in reversed(parts) for each in part if each.step.time_s >= since_s]


def groups(minutes: Minutes, model: StepModel, since_s: float) -> list[Group]:
    """The mean residuals of the eight minutes' chunks since then; the newest half minutes are one of them."""
    parts = [_group_of_chunk(model, chunk) for chunk in minutes.chunks if chunk[0].time_s >= since_s]
    newest = _group(_judge(model, minutes.tail)) if len(minutes.tail) >= CHUNK // 2 else None
    return [group for group in (*parts, newest) if group is not None]


def clipped_mean(rests: Iterable[float]) -> float:
    """The mean of residuals, of which none counts as more than half or double; there must be one."""
    return fmean([max(-_CLIP, min(_CLIP, rest)) for rest in rests])


def _judge(model: StepModel, bins: tuple[Bin, ...]) -> tuple[Judged, ...]:
    return tuple(
        [
            Judged(step, log(step.made / model.expected(step.running, step.held, step.prompt)))
            for step in steps_of(bins)
            if step.running >= _FEW
        ]
    )


def _group(part: tuple[Judged, ...]) -> Group | None:
    """Its mean; None when it holds little work."""
    if len(part) < CHUNK // 2:
        return None
    return Group(part[0].step.time_s, clipped_mean(each.rest for each in part))


@lru_cache(maxsize=_RECENT)
def _judge_chunk(model: StepModel, chunk: tuple[Bin, ...]) -> tuple[Judged, ...]:
    """A closed chunk never changes, and a model lives for hours. Of old ones only the mean is asked for again."""
    return _judge(model, chunk)


@lru_cache(maxsize=1024)
def _group_of_chunk(model: StepModel, chunk: tuple[Bin, ...]) -> Group | None:
    return _group(_judge(model, chunk))
