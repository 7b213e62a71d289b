"""The job's counts on the clock of the batch: tokens that a request has made which began with the dataset.

All requests of a batch make a token in each step. One that runs since the dataset began has made

    clock(t) = sum over the server's reports up to t of (tokens a second / running) x seconds.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from console.job.minutes_bin import STEP_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.dataset_run import DatasetRun
    from console.job.minutes_bin import Bin

_LAG_S = 10.0
"""A server that prints sums prints them each ten seconds, of the ten before: what it first says of a dataset is that
much older, and part of it prompts."""

_AT_FIRST = 6
"""Bins in which a batch fills."""


class Word(NamedTuple):
    """What the job said once, beside what the server did.

    Attributes:
        clock: When, tokens.
        done: Completions of this process.
        tokens: Their sum.
        running: Requests that ran.
    """

    clock: float
    done: float
    tokens: float
    running: float


def words_of(run: DatasetRun, bins: Sequence[Bin]) -> tuple[Word, ...]:
    """What the job said of a dataset at work, oldest first, beginning with nothing done; empty when that is not known.

    Args:
        run: The dataset.
        bins: What the server did since it began.
    """
    if run.started_at is None or run.updated_at is None or run.tokens is None:
        return ()
    begin_s = run.started_at.timestamp()
    times, clocks, sizes = _clock(begin_s, bins)
    words = [Word(0.0, 0.0, 0.0, max(sizes[: _AT_FIRST + 1]))]
    before, former = run.tokens_before or 0, run.done_before
    told = [(each.time_s, each.done - former, (each.tokens or 0) - before) for each in run.trace.points]
    told = [(time_s, done, tokens) for time_s, done, tokens in told if time_s > begin_s and done > 0]
    for time_s, done, tokens in (*told, (run.updated_at.timestamp(), run.done_run, run.tokens - before)):
        place = min(bisect_right(times, time_s), len(times) - 1)
        share = 0.0
        if place and times[place] > times[place - 1]:
            share = min(1.0, (time_s - times[place - 1]) / (times[place] - times[place - 1]))
        clock = clocks[place - 1] + share * (clocks[place] - clocks[place - 1]) if place else 0.0
        last = words[-1]
        if done > last.done and clock > last.clock and tokens >= last.tokens:
            words.append(Word(clock, float(done), float(tokens), sizes[place]))
    return tuple(words)


def _clock(begin_s: float, bins: Sequence[Bin]) -> tuple[list[float], list[float], list[float]]:
    """Moments, the clock at each, and how many ran until then.

    The bin in which the dataset began holds the end of the one before, few requests and fast steps: the next one's
    speed stands in for it.
    """
    times, steps, sizes = [begin_s], [0.0], [0.0]
    for each in bins:
        running, made = each.mean(each.running) or 0.0, each.throughput() or 0.0
        if running <= 0.0 or each.time_s < begin_s:
            continue
        speed = made / running
        if each.time_s > times[-1]:
            # Whatever was not reported on is no time at work, but for what lies before the first whole bin.
            before = 0.0 if len(times) > 1 else max(0.0, each.time_s - begin_s - _LAG_S)
            times.append(float(each.time_s))
            steps.append(speed * before)
            sizes.append(running)
        times.append(float(each.time_s + STEP_S))
        steps.append(speed * STEP_S)
        sizes.append(running)
    return times, [*accumulate(steps)], sizes
