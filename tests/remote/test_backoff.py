"""Waits between attempts: the formula, its limits, its jitter."""

from __future__ import annotations

import random
from itertools import islice, takewhile

from hypothesis import given
from hypothesis import strategies as st

from remote.backoff import CAP_S, EARLY_CAP_S, EARLY_S, FIRST_S, delays


def test_without_jitter_the_waits_double_up_to_the_limits() -> None:
    waits = list(islice(delays(random.Random(1), jitter=0.0), 1_300))
    assert waits[:5] == [0.5, 1.0, 1.5, 1.5, 1.5]
    assert waits[-1] == CAP_S
    young = list(takewhile(lambda wait: wait <= EARLY_CAP_S, waits))
    assert EARLY_S <= sum(young) < EARLY_S + EARLY_CAP_S


@given(seed=st.integers(), jitter=st.floats(0.0, 1.0))
def test_every_wait_is_within_its_limits(seed: int, jitter: float) -> None:
    waits = list(islice(delays(random.Random(seed), jitter=jitter), 80))
    assert all(0.0 <= wait <= CAP_S for wait in waits)
    assert FIRST_S * (1 - jitter) <= waits[0] <= FIRST_S


def test_two_consoles_do_not_knock_together() -> None:
    assert list(islice(delays(random.Random(1)), 5)) != list(islice(delays(random.Random(2)), 5))
