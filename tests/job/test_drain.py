"""How a batch runs out."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.job.drain import StepTime, drain, drain_of
from tests.job.laws import exponential, fixed

STEP = StepTime(a=0.03, b=0.0006)


def test_a_drain_of_a_memoryless_law_makes_one_mean_for_each_request() -> None:
    assert drain(exponential(1_000), 50).tokens == pytest.approx(50 * 1_000, rel=0.03)


def test_a_drain_of_equal_answers_of_all_ages_makes_half_of_each() -> None:
    assert drain(fixed(1_000), 50).tokens == pytest.approx(50 * 500, rel=0.05)


def test_fresh_equal_answers_end_together() -> None:
    ending = drain(fixed(1_000), 50, fresh=True)
    assert ending.tokens == pytest.approx(50 * 1_000, rel=0.05)
    assert ending.seconds(0.5, STEP) == pytest.approx(1_000 * STEP.seconds(50), rel=0.06)


def test_the_last_of_many_ends_as_a_simulation_says() -> None:
    dice, law = random.Random(3), exponential(800)
    ends = []
    for _ in range(400):
        left = sorted(dice.expovariate(1 / 800) for _ in range(64))
        at = seconds = 0.0
        for number, x in enumerate(left):
            seconds += (x - at) * STEP.seconds(64 - number)
            at = x
        ends.append(seconds)
    ends.sort()
    ending = drain(law, 64)
    for share in (0.1, 0.5, 0.9):
        assert ending.seconds(share, STEP) == pytest.approx(ends[int(share * len(ends))], rel=0.06)


def test_known_ages_count() -> None:
    young = drain_of(fixed(1_000), ((100.0, 10),))
    old = drain_of(fixed(1_000), ((100.0, 5), (900.0, 5)))
    assert young.tokens == pytest.approx(9_000, rel=0.06)
    assert old.tokens == pytest.approx(5_000, rel=0.12)
    assert old.seconds(0.5, STEP) < young.seconds(0.5, STEP)


def test_an_answer_older_than_its_law_allows_ends_soon() -> None:
    assert drain_of(fixed(100), ((5_000.0, 3),)).seconds(0.5, STEP) < 5_000 * STEP.seconds(1)


@given(
    mean=st.floats(1, 1e5),
    running=st.integers(1, 2_000),
    shares=st.lists(st.floats(0, 1), min_size=2, max_size=8),
    fresh=st.booleans(),
)
def test_the_later_end_is_the_likelier_to_be_reached(
    mean: float, running: int, shares: list[float], *, fresh: bool
) -> None:
    ending = drain(exponential(mean), running, fresh=fresh)
    ends = [ending.seconds(share, STEP) for share in sorted(shares)]
    assert ends == sorted(ends)
    assert ending.tokens >= 0
