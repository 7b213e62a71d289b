"""How far a dataset was over all of its time, in few points; failed attempts by kind; whether answers get longer."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.job import events as ev
from console.job.dataset_run import DatasetRun
from console.job.dataset_views import budget_share, dataset_view
from console.job.events import Source, Stamped
from console.job.failure_kinds import OTHER, FailureKind, FailureKinds
from console.job.frozen import freeze
from console.job.length_belief import LengthBelief
from console.job.marks import Mark, marked
from console.job.mean_trend import trend_of
from console.job.snapshot import DatasetState, Trend
from console.job.state import State, apply
from console.job.trace import LIMIT, Trace
from console.job.tracker import Tracker
from tests.job.builders import PLAN, after, announcement, steady_run

T0 = datetime(2026, 2, 24, tzinfo=UTC)

MOMENTS = st.lists(st.tuples(st.sampled_from([0, 1, 4, 5, 9, 60, 700, -3, -4_000]), st.integers(0, 50)), max_size=600)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def trace_of(steps: list[tuple[int, int]]) -> Trace:
    trace, second, done = Trace(), 0, 0
    for step, more in steps:
        second, done = second + step, done + more
        trace = trace.add(at(second), done, done * 10)
    return trace


@given(MOMENTS)
@settings(max_examples=60, deadline=None)
def test_points_are_few_in_order_and_apart(steps: list[tuple[int, int]]) -> None:
    trace = trace_of(steps)
    assert len(trace.points) <= LIMIT
    for old, new in pairwise(trace.points):
        assert new.time_s > old.time_s
        assert new.done >= old.done
    assert bool(trace.points) == bool(steps)


@given(MOMENTS, st.data())
@settings(max_examples=60, deadline=None)
def test_a_moment_told_twice_changes_nothing(steps: list[tuple[int, int]], data: st.DataObject) -> None:
    trace, second, done = Trace(), 0, 0
    told = []
    for step, more in steps:
        second, done = second + step, done + more
        told.append((at(second), done, done * 10))
        trace = trace.add(*told[-1])
        assert trace.add(*told[-1]) is trace
    if told:
        assert trace.add(*data.draw(st.sampled_from(told))) is trace


def test_a_long_time_takes_no_more_points_than_a_short_one_and_keeps_its_ends() -> None:
    trace = trace_of([(10, 1)] * 20_000)
    assert LIMIT // 2 <= len(trace.points) <= LIMIT
    assert trace.points[0].done == 1
    assert 20_000 - trace.points[-1].done <= trace.step_s / 10
    gaps = [new.time_s - old.time_s for old, new in pairwise(trace.points)]
    assert max(gaps) <= 4 * trace.step_s


def test_the_trace_goes_on_over_a_restart_and_survives_freezing() -> None:
    scene = steady_run(60)
    before = next(run for run in scene.tracker.state.log.datasets if run.name == "B3_magicoder")
    scene.dataset(3_700, "B3_magicoder")
    scene.progress(3_900, 50, 1_000)
    run = next(run for run in scene.tracker.state.log.datasets if run.name == "B3_magicoder")
    assert run.trace.points[: len(before.trace.points)] == before.trace.points
    assert len(run.trace.points) > len(before.trace.points)
    other = Tracker(PLAN)
    assert other.thaw(scene.tracker.freeze())
    assert other.state.log.find("B3_magicoder") == run
    assert other.freeze() == scene.tracker.freeze()


def test_a_process_that_starts_from_nothing_starts_there() -> None:
    scene = steady_run(60)
    run = scene.tracker.state.log.find("B3_magicoder")
    assert run is not None
    assert run.trace.points[-1].tokens
    scene.job(
        3_700,
        *announcement("B3_magicoder"),
        "  B3_magicoder: 10000 prompts tokenized",
        "  Running 10000 requests (concurrency=150, max_tokens=10240, token_budget=10,000,000)...",
    )
    run = scene.tracker.state.log.find("B3_magicoder")
    assert run is not None
    assert (run.trace.points[-1].done, run.trace.points[-1].tokens) == (0, 0)


def failed(name: str, prompt: str, kind: str, attempt: int, *, final: bool) -> ev.RequestFailed:
    return ev.RequestFailed(name, prompt, kind, attempt, final)


FAILURES = st.builds(
    ev.RequestFailed,
    st.sampled_from(["A", "B"]),
    st.sampled_from("abcd"),
    st.sampled_from(["timeout", "connect", "http_500"]),
    st.integers(1, 3),
    st.booleans(),
)


@given(st.lists(st.tuples(st.integers(0, 5), FAILURES), max_size=30))
@settings(max_examples=60, deadline=None)
def test_a_failed_attempt_counts_once_however_often_its_line_is_read(told: list[tuple[int, ev.RequestFailed]]) -> None:
    state, second, seen = State(), 0, 0
    for step, event in told:
        second += step
        before = sum(one.attempts for name in "AB" for one in state.progress.kinds.of(name))
        state = apply(state, Stamped(at(second), event), source=Source.PROGRESS)
        again = apply(state, Stamped(at(second), event), source=Source.PROGRESS)
        assert again == state
        now = sum(one.attempts for name in "AB" for one in state.progress.kinds.of(name))
        assert now - before in {0, 1}
        seen = now
    assert seen == int(state.progress.failed.count)


def test_kinds_are_sorted_counted_and_bounded() -> None:
    kinds = FailureKinds()
    for place in range(40):
        kinds = kinds.add("A", failed("A", str(place), f"kind_{place}", 1, final=False))
    for place in range(3):
        kinds = kinds.add("A", failed("A", str(place), "kind_7", 2, final=True))
    found = kinds.of("A")
    assert len(found) == 17
    assert found[0] == FailureKind(OTHER, 24, 0)
    assert found[1] == FailureKind("kind_7", 4, 3)
    assert sum(one.attempts for one in found) == 43
    assert kinds.of("B") == ()
    for place in range(100):
        kinds = kinds.add(str(place), failed(str(place), "x", "timeout", 1, final=False))
    assert len(kinds.datasets) == 64
    assert freeze(kinds, (), "") == freeze(kinds, (), "")


def marks_of(means: list[float], each: int = 50) -> tuple[Mark, ...]:
    marks: tuple[Mark, ...] = ()
    tokens = 0.0
    for place, mean in enumerate([0.0, *means]):
        tokens += each * mean
        marks = marked(marks, Mark(at(place * 120), each * (place + 1), round(tokens)))
    return marks


@pytest.mark.parametrize(
    ("means", "trend"),
    [
        ([1_000] * 20, Trend.FLAT),
        ([1_000 + 40 * place for place in range(20)], Trend.RISING),
        ([2_000 - 40 * place for place in range(20)], Trend.FALLING),
        ([1_000] * 10 + [1_030] * 10, Trend.FLAT),
        ([1_000, 2_000] * 10, Trend.FLAT),
        ([1_000] * 3, Trend.UNKNOWN),
        ([], Trend.UNKNOWN),
        ([0.0] * 20, Trend.UNKNOWN),
    ],
)
def test_answers_get_longer_when_the_newest_are_longer_by_more_than_chance(means: list[float], trend: Trend) -> None:
    assert trend_of(marks_of(means)) is trend


def test_chance_is_seldom_taken_for_a_tendency() -> None:
    """Lengths that vary as much as their mean, 50 to a line, two hundred times: none of these moves."""
    random = Random(7)
    means = [[sum(random.expovariate(1 / 1_500) for _ in range(50)) / 50 for _ in range(20)] for _ in range(200)]
    told = [trend_of(marks_of(one)) for one in means]
    assert told.count(Trend.FLAT) >= 190
    grown = [[value * (1 + place / 20) for place, value in enumerate(one)] for one in means]
    assert [trend_of(marks_of(one)) for one in grown].count(Trend.RISING) >= 180


def test_marks_without_tokens_tell_no_tendency() -> None:
    marks = tuple(Mark(at(place * 60), place * 50, None) for place in range(20))
    assert trend_of(marks) is Trend.UNKNOWN


RUN = DatasetRun(
    "B3",
    state=DatasetState.RUNNING,
    done_before=1_000,
    done_run=1_000,
    tokens=4_000_000,
    budget=10_000_000,
    total=10_000,
)


def believed(mean: float) -> LengthBelief:
    return LengthBelief(mean, mean, mean, (), "progress")


def test_the_budget_ends_it_where_its_tokens_are_used_up() -> None:
    assert budget_share(RUN, believed(3_000)) == pytest.approx(0.4)
    assert budget_share(RUN) == pytest.approx(0.5)
    assert budget_share(RUN, believed(700)) is None, "the prompts end first"
    assert budget_share(replace(RUN, tokens=12_000_000)) == pytest.approx(0.2), "it is used up already"


def test_without_a_budget_prompts_or_lengths_no_mark_can_be_told() -> None:
    assert budget_share(replace(RUN, budget=None)) is None
    assert budget_share(replace(RUN, total=None)) is None
    assert budget_share(DatasetRun("x", budget=10, total=10)) is None


def test_of_what_its_budget_ended_the_mark_is_what_was_done() -> None:
    ended = replace(RUN, state=DatasetState.BUDGET_REACHED, done_run=4_000, tokens=10_000_300)
    assert budget_share(ended, believed(1.0)) == pytest.approx(0.5)
    assert budget_share(replace(ended, done_run=9_000)) is None
    assert dataset_view(ended).mean_trend is Trend.UNKNOWN


RUNS = st.builds(
    DatasetRun,
    st.just("x"),
    state=st.sampled_from(DatasetState),
    done_run=st.integers(0, 3_000),
    tokens=st.none() | st.integers(0, 10**8),
    budget=st.none() | st.integers(1, 10**8),
    total=st.none() | st.integers(1, 2_000),
    mean=st.none() | st.floats(0, 1e6),
)


@given(RUNS)
def test_the_mark_lies_on_the_bar(run: DatasetRun) -> None:
    share = budget_share(run)
    assert share is None or 0 < share < 1


def test_a_snapshot_tells_mark_and_tendency() -> None:
    scene = steady_run(60)
    view = next(view for view in scene.tracker.snapshot(after(3_600)).datasets if view.name == "B3_magicoder")
    assert view.budget_share is not None
    assert 0.3 < view.budget_share < 0.7
    assert view.mean_trend is Trend.FLAT or view.mean_trend is Trend.RISING
