"""Whether answers grow or shrink along a file is told from chance."""

from __future__ import annotations

import random
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.job.flight_rank import Ended
from console.job.length_drift import Drift, drift_of

CV = 0.8


def _ended(count: int, drift: float, whole: int, seed: int = 1) -> list[Ended]:
    """The first ``count`` of ``whole`` completions whose scale grows by ``exp(drift)`` along the file."""
    dice = random.Random(seed)
    sigma = log(1 + CV**2) ** 0.5
    return [
        Ended(float(place), 1_000 * exp(drift * place / whole + dice.gauss(-(sigma**2) / 2, sigma)), sure=True)
        for place in range(count)
    ]


@pytest.mark.parametrize("drift", [-0.6, 0.6])
def test_a_sorted_file_is_seen(drift: float) -> None:
    found = [drift_of(_ended(2_000, drift, 4_000, seed), 50, 2_000, CV**2) for seed in range(20)]
    middle = sorted(each.log_factor for each in found)[10]
    # Those to come lie half a file further on, by their middle.
    assert middle == pytest.approx(drift / 2, abs=0.12)  # less, since most files are in no order
    assert all(0.0 < each.sd < 0.2 for each in found)


def test_a_file_in_no_order_is_left_alone() -> None:
    found = [drift_of(_ended(2_000, 0.0, 4_000, seed), 50, 2_000, CV**2) for seed in range(40)]
    assert sorted(abs(each.log_factor) for each in found)[36] < 0.05


def test_few_completions_say_nothing() -> None:
    assert drift_of(_ended(150, 0.6, 4_000), 50, 3_850, CV**2) == Drift()


def test_at_the_end_nothing_is_to_come() -> None:
    assert drift_of(_ended(2_000, 0.6, 2_000), 50, 0, CV**2) == Drift()


@given(
    st.lists(st.tuples(st.floats(0.0, 1e6), st.integers(1, 50)), max_size=400),
    st.integers(0, 300),
    st.floats(0, 1e6),
    st.floats(0.0, 50.0),
)
def test_any_history_gives_a_bounded_factor(
    told: list[tuple[float, int]], in_flight: int, ahead: float, variance: float
) -> None:
    ended = [
        Ended(float(place), tokens, sure=False, apart=False, requests=requests)
        for place, (tokens, requests) in enumerate(told)
    ]
    found = drift_of(ended, in_flight, ahead, variance)
    assert -0.5 <= found.log_factor <= 0.5
    assert found.sd >= 0.0
