"""The job's counts on the clock of the batch."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.job.batch_clock import words_of
from console.job.dataset_run import DatasetRun
from console.job.minutes_bin import STEP_S, Bin
from console.job.snapshot import DatasetState
from console.job.trace import Trace
from tests.job.flight_runs import T0

BEGIN_S = int(T0.timestamp()) // STEP_S * STEP_S


def full(number: int, running: float, speed: float) -> Bin:
    """A bin in which so many ran, each at so many tokens a second."""
    each = float(STEP_S)
    return Bin(BEGIN_S + number * STEP_S, each, each, each, running * each, 0.0, 0.0, 0.0, running * speed * each)


def run_of(told: list[tuple[float, int, int]], begin_s: float = BEGIN_S) -> DatasetRun:
    trace = Trace()
    begin = T0 + timedelta(seconds=begin_s - T0.timestamp())
    for seconds, done, tokens in told:
        trace = trace.add(begin + timedelta(seconds=seconds), done, tokens)
    seconds, done, tokens = told[-1]
    return DatasetRun(
        "a", "SHORT", DatasetState.RUNNING, started_at=begin, updated_at=begin + timedelta(seconds=seconds),
        done_run=done, tokens=tokens, tokens_before=0, trace=trace,
    )  # fmt: skip


def test_the_clock_is_what_one_request_has_made() -> None:
    bins = [full(number, 40.0 if number < 4 else 80.0, 10.0 if number < 4 else 6.0) for number in range(10)]
    words = words_of(run_of([(60.0, 50, 20_000), (115.0, 100, 50_000), (210.0, 150, 90_000)]), bins)
    assert [word.clock for word in words] == pytest.approx([0.0, 600.0, 1_150.0, 1_200.0 + 90 * 6.0])
    assert [word.done for word in words] == [0, 50, 100, 150]
    assert [word.running for word in words] == [80.0, 40.0, 40.0, 80.0]


def test_the_end_of_the_dataset_before_is_not_on_the_clock() -> None:
    """In the bin in which a dataset begins few requests of another may run, with steps ten times as fast."""
    begin_s = BEGIN_S + 20.0
    bins = [full(0, 1.0, 120.0), *[full(number, 100.0, 8.0) for number in range(1, 10)]]
    words = words_of(run_of([(100.0, 50, 20_000)], begin_s), bins)
    assert 90 * 8.0 <= words[-1].clock <= 100 * 8.0


def test_without_a_server_or_tokens_nothing_is_known() -> None:
    assert len(words_of(run_of([(60.0, 50, 20_000)]), [])) == 1
    assert words_of(DatasetRun("a"), [full(0, 40.0, 10.0)]) == ()


@given(
    st.lists(st.tuples(st.integers(0, 400), st.floats(0.0, 60.0)), max_size=20),
    st.lists(st.tuples(st.floats(1.0, 300.0), st.integers(0, 90), st.integers(0, 90_000)), min_size=1, max_size=20),
)
def test_words_rise_whatever_was_said(loads: list[tuple[int, float]], told: list[tuple[float, int, int]]) -> None:
    bins = [full(number, float(running), speed) for number, (running, speed) in enumerate(loads)]
    second, done, tokens, said = 0.0, 0, 0, []
    for after, more, made in told:
        second, done, tokens = second + after, done + more, tokens + made
        said.append((second, done, tokens))
    words = words_of(run_of(said), bins)
    for last, word in pairwise(words):
        assert word.clock > last.clock
        assert word.done > last.done
        assert word.tokens >= last.tokens
