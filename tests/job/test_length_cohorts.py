"""Lengths by how the job's counts grew while the batch was young."""

from __future__ import annotations

import random
from itertools import accumulate
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.job.batch_clock import Word
from console.job.length_cohorts import Cohorts, cohorts

if TYPE_CHECKING:
    from collections.abc import Callable


def told(draw: Callable[[], float], *, running: int = 100, each: int = 50, words: int = 10) -> tuple[Word, ...]:
    """What a job says of a batch that is filled again at once, on the batch's clock: each that ends makes room."""
    clock, found = 0.0, [Word(0.0, 0.0, 0.0, float(running))]
    ends = sorted((length, length) for length in (max(1.0, draw()) for _ in range(running)))
    done, tokens = 0, 0.0
    while len(found) <= words:
        clock, length = ends.pop(0)
        done, tokens = done + 1, tokens + length
        new = max(1.0, draw())
        ends.append((clock + new, new))
        ends.sort()
        if done % each == 0:
            found.append(Word(clock + 1e-6 * done, float(done), tokens, float(running)))
    return tuple(found)


def quantile(found: Cohorts, share: float) -> float:
    """By the product-limit estimate; infinity where nobody has come so far."""
    seen = sorted(
        [(age, count, True) for age, count in found.ended] + [(age, count, False) for age, count in found.alive]
    )
    at_risk, lives = sum(count for _, count, _ in seen), 1.0
    for age, count, ended in seen:
        lives *= 1 - count / at_risk if ended and at_risk > count else 1.0
        at_risk -= count
        if lives <= 1 - share:
            return age
    return float("inf")


@pytest.mark.parametrize("spread", [0.1, 0.4, 0.8])
def test_quartiles_come_out_without_a_single_length_being_told(spread: float) -> None:
    dice = random.Random(11)
    found = cohorts(told(lambda: dice.lognormvariate(6.5, spread), running=200, words=8))
    assert found is not None
    truth = sorted(dice.lognormvariate(6.5, spread) for _ in range(4_000))
    for share in (0.25, 0.5, 0.75):
        assert quantile(found, share) == pytest.approx(truth[int(share * 4_000)], rel=0.25)


def test_what_comes_after_the_cohorts_have_mixed_is_left_to_sums() -> None:
    dice = random.Random(3)
    words = told(lambda: dice.expovariate(1 / 400), running=60, words=60)
    found = cohorts(words)
    assert found is not None
    assert found.later is not None
    count, mean = found.later
    ended = sum(number for _, number in found.ended)
    assert ended + count == pytest.approx(words[-1].done, rel=1e-3)
    made = sum(length * number for length, number in found.ended) + count * mean
    assert made == pytest.approx(words[-1].tokens, rel=0.02)


def test_little_said_is_not_guessed_at() -> None:
    assert cohorts(()) is None
    assert cohorts((Word(0.0, 0.0, 0.0, 100.0), Word(300.0, 50.0, 9_000.0, 100.0))) is None


STEPS = st.lists(
    st.tuples(st.floats(0.5, 500.0), st.integers(1, 60), st.floats(0.0, 1.5), st.integers(100, 500)),
    min_size=3, max_size=12,
)  # fmt: skip


@given(STEPS, st.integers(100, 500))
@settings(max_examples=25, deadline=None)
def test_whatever_is_said_as_many_end_as_it_says_and_nobody_is_older_than_the_batch(
    steps: list[tuple[float, int, float, int]], running: int
) -> None:
    clocks = [*accumulate([span for span, *_ in steps], initial=0.0)]
    counts = [*accumulate([count for _, count, *_ in steps], initial=0)]
    sums = [*accumulate([count * share * span for span, count, share, _ in steps], initial=0.0)]
    sizes = [running, *[size for *_, size in steps]]
    words = tuple(
        Word(clock, float(count), tokens, float(size))
        for clock, count, tokens, size in zip(clocks, counts, sums, sizes, strict=True)
    )
    found = cohorts(words)
    if found is None:
        return
    later = found.later[0] if found.later else 0
    assert sum(number for _, number in found.ended) + later == pytest.approx(words[-1].done, rel=0.02, abs=0.5)
    assert all(0.0 <= age <= clocks[-1] and number > 0.0 for age, number in (*found.ended, *found.alive))
