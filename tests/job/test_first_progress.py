"""The first progress line of a batch that began all at once."""

from __future__ import annotations

import heapq
import random
from typing import TYPE_CHECKING

import pytest

from console.job.first_progress import first_due
from console.job.outlook import Outlook
from console.job.stage import Stage
from tests.job.laws import exponential, fixed

if TYPE_CHECKING:
    from console.job.length_law import LengthLaw

OUTLOOK = Outlook(
    a=0.06,
    b=0.0,
    c=0.0,
    d=0.0,
    each=0.0,
    prompt=500,
    pool=None,
    running=50,
    level_sd=0.05,
    other_sd=0.3,
    made=833.0,
    source="server",
)


def _stage(*laws: LengthLaw, prompts: int = 5_000) -> Stage:
    return Stage("B1", begun=True, laws=laws, prompts=prompts, concurrency=50)


def test_equal_answers_end_all_at_once() -> None:
    assert first_due(_stage(fixed(1_000)), OUTLOOK, 50).middle == pytest.approx(60.0)


@pytest.mark.parametrize("completions", [10, 25, 50])
def test_the_first_completions_of_a_refilled_batch_come_as_a_simulation_says(completions: int) -> None:
    dice, times = random.Random(5), []
    for _ in range(500):
        ends = [dice.expovariate(1 / 1_000) for _ in range(50)]
        heapq.heapify(ends)
        for _ in range(completions - 1):
            at = heapq.heappop(ends)
            heapq.heappush(ends, at + dice.expovariate(1 / 1_000))
        times.append(ends[0] * 0.06)
    due = first_due(_stage(exponential(1_000)), OUTLOOK, completions)
    assert due.middle == pytest.approx(sum(times) / len(times), rel=0.08)


def test_fewer_prompts_than_a_progress_line_needs_end_it_sooner() -> None:
    few, many = (first_due(_stage(exponential(1_000), prompts=prompts), OUTLOOK, 50) for prompts in (5, 500))
    assert few.middle < many.middle


def test_unsure_lengths_make_a_range() -> None:
    due = first_due(_stage(*map(exponential, range(500, 2_100, 100))), OUTLOOK, 50)
    assert due.low < 0.7 * due.middle < due.middle < due.high
