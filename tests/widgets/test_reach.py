"""The ends of a scale keep still: round, wide enough, and never nearer to each other than they were."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.reach import ROUND, round_down, round_up, widened

SIZES = st.floats(1.0, 1e12)


@pytest.mark.parametrize(
    ("value", "down", "up"),
    [(1.0, 1.0, 1.0), (1.4, 1.0, 1.5), (9.99, 7.0, 10.0), (10.0, 10.0, 10.0), (10_240, 10_000, 15_000), (70, 70, 70)],
)
def test_round_figures(value: float, down: float, up: float) -> None:
    assert (round_down(value), round_up(value)) == (down, up)


@given(SIZES)
def test_a_value_lies_between_its_round_figures_and_they_are_near(value: float) -> None:
    down, up = round_down(value), round_up(value)
    assert down <= value * (1 + 1e-6)
    assert up >= value * (1 - 1e-6)
    assert up / down <= max(b / a for a, b in pairwise((*ROUND, 10.0))) * (1 + 1e-6)
    assert (round_down(down), round_up(up)) == (down, up)


@given(st.lists(st.tuples(SIZES, SIZES).map(sorted), min_size=1, max_size=30))
def test_it_only_ever_widens_and_holds_all(shown: list[list[float]]) -> None:
    reaches = []
    reach = None
    for low, high in shown:
        reach = widened(reach, low, high)
        reaches.append(reach)
    for former, later in pairwise(reaches):
        assert later[0] <= former[0]
        assert later[1] >= former[1]
    assert reach is not None
    assert reach[0] <= min(low for low, _ in shown) * (1 + 1e-6)
    assert reach[1] >= max(high for _, high in shown) * (1 - 1e-6)


def test_what_grows_within_a_step_moves_nothing() -> None:
    reach = widened(None, 120.0, 3_100.0)
    assert reach == (100.0, 5_000.0)
    assert {widened(reach, 110.0 + more, 3_200.0 + 10 * more) for more in range(100)} == {reach}
