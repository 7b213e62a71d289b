"""How often requests are taken out of the running batch for want of KV cache, and what is made meanwhile.

SGLang's own guide calls about one a minute fine (hyperparameter tuning, docs.sglang.io): so it is the rise that counts,
and whether throughput falls with it and stays down (sglang #26248).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from statistics import median, quantiles
from typing import TYPE_CHECKING

from console.job.minutes import CHUNK
from console.job.minutes_bin import STEP_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.minutes import Minutes
    from console.job.minutes_bin import Bin, Totals
    from console.job.step_model import StepModel

_FAST_S, _NOW_S = 300.0, 900.0
"""The windows of now, seconds."""

_BEFORE_S = 12 * 3600.0
"""And how far back it is looked for what is usual, so that hours of trouble do not become usual."""

_LEAST_CHUNKS = 4
"""Chunks of eight minutes before now that a comparison takes."""

_LEAST_BINS = 20
"""Half minutes that the throughput before takes."""


_LEAST_ADMITTED = 20
"""Admissions that a usual prompt takes."""


@dataclass(frozen=True, slots=True)
class Retractions:
    """Retractions in the last quarter of an hour.

    Attributes:
        per_min: Requests a minute.
        churn: How often a running request is thrown out in a minute, on average; infinite when none ran.
        churn_before: The same in the quarter of an hour before.
        usual_per_min: Requests a minute, the median over the chunks of the twelve hours before; None with too little
            seen of them.
        quiet_per_min: Likewise the lower quartile: what is usual when there has been trouble for hours.
    """

    per_min: float
    churn: float
    usual_per_min: float | None = None
    quiet_per_min: float | None = None
    churn_before: float = 0.0


def retractions(minutes: Minutes, now_s: float) -> Retractions | None:
    """What was retracted lately; None when nothing was.

    Args:
        minutes: The server's history.
        now_s: Now on the clock of the server's log, seconds since the epoch.
    """
    half = minutes.bins(now_s - 2 * _NOW_S)
    bins = [each for each in half if each.time_s >= now_s - _NOW_S]
    recent = sum([each.retractions for each in bins])
    if not recent:
        return None
    churn, churn_before = _churn(bins), _churn([each for each in half if each.time_s < now_s - _NOW_S])
    before = [
        each.retractions * 60.0 / (each.bins * STEP_S)
        for each in _chunks_before(minutes, now_s)
        if each.time_s <= now_s - _NOW_S - CHUNK * STEP_S
    ]
    if len(before) < _LEAST_CHUNKS:
        return Retractions(recent * 60.0 / _NOW_S, churn, churn_before=churn_before)
    quiet, usual, _ = quantiles(before, n=4)
    return Retractions(recent * 60.0 / _NOW_S, churn, usual, quiet, churn_before)


def _churn(bins: Sequence[Bin]) -> float:
    """How often a running request is thrown out in a minute."""
    count, running_s = sum([each.retractions for each in bins]), sum([each.running for each in bins])
    if not count:
        return 0.0
    return count * 60.0 / running_s if running_s else inf


def wasted(minutes: Minutes, model: StepModel, now_s: float, span_s: float, usual: float | None) -> float:
    """The share of the time that went into prefills of retracted requests, 0 to 1, by the sums of a window.

    They come in bursts, so that a median of half minutes does not see them:

        again = prompt tokens computed - first admissions x the usual prompt, at most what retracted requests held

    Args:
        minutes: The server's history.
        model: What a prompt token costs.
        now_s: Now on its clock, seconds since the epoch.
        span_s: The window, seconds.
        usual: What ``usual_prompt`` says.
    """
    bins = minutes.bins(now_s - span_s)
    retracted, running = sum([each.retractions for each in bins]), sum([each.running for each in bins])
    wall_s = sum([each.wall_s for each in bins])
    if not retracted or not running or not wall_s:
        return 0.0
    held = sum([each.held for each in bins]) / running
    again, admitted = retracted * held, sum([each.admitted for each in bins])
    if admitted:  # without prefill lines (vLLM) prompts count once, however often they are computed
        computed = sum([each.prompt_tokens for each in bins])
        first = computed * (1 - min(1.0, retracted / admitted)) if usual is None else usual * (admitted - retracted)
        again = min(again, computed - max(0.0, first))
    return min(1.0, max(0.0, again) * model.prompt_s / wall_s)


def usual_prompt(minutes: Minutes, now_s: float) -> float | None:
    """Prompt tokens computed for an admission while nothing was retracted; None where that was not seen.

    Args:
        minutes: The server's history.
        now_s: Now on its clock, seconds since the epoch.
    """
    calm = [each for each in _chunks_before(minutes, now_s) if not each.retractions]
    admitted = sum([each.admitted for each in calm])
    computed = sum([each.prompt_tokens for each in calm])
    return computed / admitted if admitted >= _LEAST_ADMITTED else None


def _chunks_before(minutes: Minutes, now_s: float) -> list[Totals]:
    """The sums of the chunks that begin in the twelve hours before the last quarter of an hour."""
    ended = now_s - _NOW_S
    return [each for each in minutes.totals if ended - _BEFORE_S <= each.time_s <= ended]


def made_share(minutes: Minutes, now_s: float, since_s: float) -> tuple[float, float] | None:
    """Tokens a second now as a share of those since a time, over a quarter of an hour and over five minutes.

    Over the half minutes with a queue, for a batch short of requests makes less for another reason: medians now,
    and the upper quartile before, so that hours of trouble do not become usual.

    Args:
        minutes: The server's history.
        now_s: Now on its clock, seconds since the epoch.
        since_s: When what it is compared with began: a dataset, for others make more or less.

    Returns:
        None with too little to compare.
    """
    bins = minutes.bins(max(since_s, now_s - _NOW_S - _BEFORE_S))
    before = _made([each for each in bins if each.time_s < now_s - _NOW_S])
    quarter = _made([each for each in bins if each.time_s >= now_s - _NOW_S])
    fast = _made([each for each in bins if each.time_s >= now_s - _FAST_S])
    if len(before) < _LEAST_BINS or len(quarter) < _LEAST_BINS // 2 or len(fast) < _LEAST_BINS // 8:
        return None
    usual = quantiles(before, n=4)[-1]
    return median(quarter) / usual, median(fast) / usual


def _made(bins: Sequence[Bin]) -> list[float]:
    return [made for each in bins if each.queue >= each.span_s and (made := each.throughput())]
