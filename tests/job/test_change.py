"""Lasting change in a series of residuals."""

from __future__ import annotations

import random
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.job.change import Group, chance_below, cumulative, is_ramp, mann_kendall, onset, theil_sen

RANGE = st.lists(st.floats(-1, 1), max_size=60)


def wandering(count: int, seed: int, sd: float = 0.04, keep: float = 0.6) -> list[float]:
    """A first-order autoregression."""
    dice, level, found = random.Random(seed), 0.0, []
    for _ in range(count):
        level = keep * level + sqrt(1 - keep * keep) * dice.gauss(0, sd)
        found.append(level)
    return found


def groups(values: list[float]) -> list[Group]:
    return [Group(480.0 * place, value) for place, value in enumerate(values)]


def test_how_sure_a_fall_is() -> None:
    assert chance_below(0.0, 1.0) == pytest.approx(0.5)
    assert chance_below(-1.645, 1.0) == pytest.approx(0.95, abs=1e-3)
    assert chance_below(-0.5, 0.1) > 0.999999
    assert chance_below(-0.1, 0.0) == 1.0


def test_theil_and_sen_are_not_moved_by_one_bad_figure() -> None:
    assert theil_sen([0, 1, 2, 3, 4], [0, 2, 4, 6, 8]) == pytest.approx(2)
    assert theil_sen([0, 1, 2, 3, 4], [0, 2, 400, 6, 8]) == pytest.approx(2)
    assert theil_sen([3], [5]) == 0.0


def test_mann_and_kendall_against_worked_figures() -> None:
    # S = 10 of n = 5: var = 5 * 4 * 15 / 18 = 16.67, z = 9 / 4.08
    assert mann_kendall([1, 2, 3, 4, 5]) == pytest.approx(2.2045, abs=1e-3)
    assert mann_kendall([5, 4, 3, 2, 1]) == pytest.approx(-2.2045, abs=1e-3)
    assert mann_kendall([1, 1, 1, 1, 1]) == 0.0
    assert mann_kendall([1, 2, 3]) == 0.0


def test_correlated_noise_is_seldom_taken_for_a_trend() -> None:
    plain = sum(abs(mann_kendall(wandering(30, seed, keep=0.0))) > 1.96 for seed in range(200))
    correlated = sum(abs(mann_kendall(wandering(30, seed, keep=0.6))) > 1.96 for seed in range(200))
    assert plain < 30
    assert correlated < 60  # without the correction: over 80
    assert not any(mann_kendall(wandering(40, seed)) < -4.5 for seed in range(100))


def test_the_cumulative_sum_waits_and_then_knows_since_when() -> None:
    assert onset([], 0.05) is None
    quiet = wandering(200, 3)
    assert onset(quiet, 0.05) is None
    found = onset([*quiet, *(value - 0.2 for value in wandering(20, 4))], 0.05)
    assert found is not None
    assert abs(found - 200) <= 1
    assert onset([*quiet, -0.7], 0.1) is None  # one bad figure, however bad


def test_no_fall_is_seen_in_days_of_noise() -> None:
    for seed in range(60):
        assert max(cumulative(wandering(180, seed, keep=0.3), 0.05)) < 8.0


def test_a_ramp_is_told_from_a_step() -> None:
    noise = wandering(60, 5, sd=0.02)
    ramp = [value - 0.36 * max(0.0, place - 20) / 40 for place, value in enumerate(noise)]
    step = [value - (0.3 if place >= 30 else 0.0) for place, value in enumerate(noise)]
    place = is_ramp(groups(ramp))
    assert place is not None
    assert abs(place - 20) <= 5
    assert is_ramp(groups(step)) is None
    assert is_ramp(groups(noise)) is None
    assert is_ramp(groups(ramp[:5])) is None


@given(RANGE, st.floats(0.01, 1))
def test_any_figures(values: list[float], sd: float) -> None:
    assert all(each >= 0 for each in cumulative(values, sd))
    place = onset(values, sd)
    assert place is None or 0 <= place < len(values)
    ramp = is_ramp(groups(values))
    assert ramp is None or 0 <= ramp < len(values)
    assert abs(mann_kendall(values)) < 12
