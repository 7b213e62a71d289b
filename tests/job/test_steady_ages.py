"""Ages of requests in flight by their sum alone."""

from __future__ import annotations

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.job.length_law import edges_up_to, law_of
from console.job.steady_ages import steady_ages


def exponential(mean: float, cap: int = 16_384) -> object:
    return law_of("gamma", [exp(-edge / mean) for edge in edges_up_to(cap)], cap)


def test_ages_of_an_exponential_law_are_exponential() -> None:
    law = exponential(500.0)
    ages = steady_ages(law, 120, 120 * 500.0)  # type: ignore[arg-type]
    middle = sum(age * count for age, count in ages[:6]) / sum(count for _, count in ages[:6])
    older = ages[6][0]
    assert middle < 0.6931 * 500 < older * 1.1  # half of them are younger than the median
    assert law.mean_left(ages[0][0]) == pytest.approx(500.0, rel=0.1)  # type: ignore[attr-defined]


@given(
    mean=st.floats(20.0, 9_000.0),
    count=st.integers(1, 400),
    share=st.floats(0.0, 0.5),
)
def test_they_sum_to_what_was_made(mean: float, count: int, share: float) -> None:
    law = exponential(mean)
    total = share * mean * count
    ages = steady_ages(law, count, total)  # type: ignore[arg-type]
    assert sum(number for _, number in ages) == count
    assert [age for age, _ in ages] == sorted(age for age, _ in ages)
    assert sum(age * number for age, number in ages) <= total * (1 + 1e-9) + 1e-9
    assert all(0.0 <= age < 16_384 for age, _ in ages)
    if ages[-1][0] < 0.98 * 16_384:
        assert sum(age * number for age, number in ages) == pytest.approx(total)


def test_nobody_in_flight_has_no_ages() -> None:
    assert steady_ages(exponential(500.0), 0, 0.0) == ()  # type: ignore[arg-type]
