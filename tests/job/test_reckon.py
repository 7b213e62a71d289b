"""When it will be done, by all that a run's logs have said."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.job.dataset_run import DatasetRun
from console.job.forecasts import RUN
from console.job.plan import Plan, PlannedDataset
from console.job.reading import reading
from console.job.reckon import reckon
from console.job.series import Series
from console.job.snapshot import DatasetState
from console.job.speed import by_progress
from console.job.state import State
from tests.job.builders import BUDGET, PLAN, Scene, after

STEP_S = 40 * 50 / 846.3
"""Seconds between two reports of a batch of 50."""


def _work(scene: Scene, since: float, until: float, running: int = 50, tok_s: float = 846.3) -> None:
    at = since
    while at < until:
        scene.decode(at, running=running, queue=150 - running, tok_s=tok_s)
        at += 40 * running / tok_s


def _told(scene: Scene, seconds: float, done: int, mean: int, total: int = 9_998) -> None:
    made = (1_012 + done * mean) / 1e6
    scene.job(seconds, f"  {done}/{total} (0 err) 0.4 req/s avg_comp={mean}tok tot={made:.1f}M ETA=1.9h")


def _only(budget: int | None = BUDGET, prompts: int = 10_000) -> Plan:
    return Plan((PlannedDataset("B3_magicoder", prompts, budget, "SHORT"),))


@pytest.fixture
def scene() -> Scene:
    scene = Scene(_only())
    scene.ready()
    scene.begin()
    return scene


def test_there_is_a_range_from_the_first_minute(scene: Scene) -> None:
    _work(scene, 10, 60)
    eta = scene.tracker.snapshot(after(60)).eta
    assert eta.low is not None
    assert eta.high is not None
    assert eta.at is not None
    assert after(60) < eta.low < eta.at < eta.high


def test_the_budget_over_the_speed_is_the_time_when_the_budget_comes_first(scene: Scene) -> None:
    _work(scene, 10, 4_000)
    _told(scene, 3_990, 1_650, 2_000)
    taken = scene.tracker.snapshot(after(4_000))
    left_s = (BUDGET - 1_650 * 2_000 - 1_012) / 846.3
    assert taken.eta.at is not None
    assert (taken.eta.at - after(4_000)).total_seconds() == pytest.approx(left_s, rel=0.06)
    assert taken.datasets[0].eta == taken.eta.at


@given(st.lists(st.tuples(st.integers(0, 300), st.sampled_from([0.0, 0.01, 846.3, 1e9])), min_size=1, max_size=40))
@settings(max_examples=25, deadline=None)
def test_whatever_the_server_says_of_its_speed_an_end_is_told_or_not_but_nothing_breaks(
    reports: list[tuple[int, float]],
) -> None:
    scene = Scene(_only())
    scene.ready()
    scene.begin()
    for place, (running, tok_s) in enumerate(reports):
        scene.decode(10 + 3 * place, running=running, tok_s=tok_s)
    now = after(15 + 3 * len(reports))
    eta = scene.tracker.snapshot(now).eta
    assert eta.at is None or (eta.low is not None and eta.high is not None and now <= eta.low <= eta.at <= eta.high)


def test_a_server_that_makes_nothing_has_no_end(scene: Scene) -> None:
    for second in range(10, 200, 3):
        scene.decode(second, tok_s=0.0)
    assert scene.tracker.snapshot(after(200)).eta.at is None


def test_a_slower_server_takes_longer(scene: Scene) -> None:
    other = Scene(_only())
    other.ready()
    other.begin()
    for each, tok_s in ((scene, 846.3), (other, 423.0)):
        _work(each, 10, 4_000, tok_s=tok_s)
        _told(each, 3_990, 800, 2_000)
    fast, slow = (each.tracker.snapshot(after(4_000)).eta.at for each in (scene, other))
    assert fast is not None
    assert slow is not None
    assert (slow - after(4_000)) / (fast - after(4_000)) == pytest.approx(2.0, rel=0.08)


def test_the_range_narrows_as_the_run_goes_on(scene: Scene) -> None:
    widths = []
    for hours in (0.2, 2.0):
        until = hours * 3_600
        _work(scene, until - 700, until)
        _told(scene, until - 1, round(until * 0.42), 2_000)
        eta = scene.tracker.snapshot(after(until)).eta
        assert eta.low is not None
        assert eta.high is not None
        widths.append((eta.high - eta.low).total_seconds())
    assert widths[1] < widths[0]


def test_datasets_to_come_are_reckoned_with_and_make_it_wide() -> None:
    alone, many = Scene(_only()), Scene(PLAN)
    for each in (alone, many):
        each.ready()
        each.begin()
        _work(each, 10, 4_000)
        _told(each, 3_990, 1_650, 2_000)
    one, all_ = (each.tracker.snapshot(after(4_000)).eta for each in (alone, many))
    assert all_.at is not None
    assert one.at is not None
    assert all_.at > one.at + timedelta(hours=1)
    assert "1 dataset has not begun" in all_.basis
    assert "1 dataset" not in one.basis


def test_what_the_operator_expects_of_a_dataset_counts() -> None:
    ends = []
    for mean in (500, 4_000):
        plan = replace(_only(), datasets=(*_only().datasets, PlannedDataset("B9", 1_000, mean_tokens=mean)))
        scene = Scene(plan)
        scene.ready()
        scene.begin()
        _work(scene, 10, 600)
        ends.append(scene.tracker.snapshot(after(600)).eta.at)
    # And fewer of the longer ones fit into the pool at once.
    assert 0.7 < (ends[1] - ends[0]).total_seconds() / (1_000 * 3_500 / 846.3) < 2  # type: ignore[operator]


def test_a_job_that_counts_only_requests_has_an_end_all_the_same() -> None:
    scene = Scene(Plan((PlannedDataset("prompts", 1_000),)))
    for done in range(0, 501, 50):
        scene.job(done * 2, f"{done}/1000")
    eta = scene.tracker.snapshot(after(1_001)).eta
    assert eta.at is not None
    assert eta.low is not None
    assert (eta.low - after(1_000)).total_seconds() == pytest.approx(1_000, rel=0.1)
    assert "counts of requests alone" in eta.basis


def test_what_was_said_is_kept_and_scored_when_the_end_comes(scene: Scene) -> None:
    for quarter in range(1, 9):
        until = quarter * 900
        _work(scene, until - 700, until)
        _told(scene, until - 1, round(until * 0.42), 2_000)
        scene.tracker.snapshot(after(until))
    assert len(scene.tracker.forecasts.of(RUN)) == 8
    scene.job(7_300, "  B3_magicoder: done 3100 (0 err), 10,002,311 tokens in 2.03h, budget reached")
    taken = scene.tracker.snapshot(after(7_310))
    assert taken.eta.score.startswith("of ")
    assert reading(taken)["eta_score"] == taken.eta.score


def test_the_verdict_alone_is_that_of_the_snapshot(scene: Scene) -> None:
    _work(scene, 10, 2_000)
    _told(scene, 1_990, 800, 1_000)
    judged = scene.tracker.judge(after(2_000))
    taken = scene.tracker.snapshot(after(2_000)).verdict
    assert (judged.verdict, judged.cause, judged.since) == (taken.verdict, taken.cause, taken.since)


def test_ranges_of_a_moment_do_not_depend_on_what_was_asked_before(scene: Scene) -> None:
    other = Scene(_only())
    other.ready()
    other.begin()
    for each in (scene, other):
        _work(each, 10, 1_500)
        if each is other:
            other.tracker.snapshot(after(1_480))
        _told(each, 1_495, 500, 900)
    assert scene.tracker.snapshot(after(1_500)).eta == other.tracker.snapshot(after(1_500)).eta


def test_speed_by_the_jobs_own_counts_when_the_server_is_not_seen() -> None:
    progress = Series(step_s=20.0).add(after(0), 100_000).add(after(30), 110_000)
    assert by_progress(progress) is None
    assert by_progress(progress.add(after(100), 190_000)) == 900.0
    assert by_progress(Series()) is None


COUNT = st.integers(0, 20_000)
RUNS = st.builds(
    DatasetRun,
    st.sampled_from(["A", "B", "C"]),
    kind=st.sampled_from(["SHORT", "LONG"]),
    state=st.sampled_from(DatasetState),
    started_at=st.none() | st.just(after(0)),
    updated_at=st.none() | st.just(after(50)),
    done_before=COUNT,
    done_run=COUNT,
    tokens=st.none() | st.integers(0, 20_000_000),
    errors=COUNT,
    requests=st.none() | COUNT,
    total=st.none() | COUNT,
    budget=st.none() | st.integers(0, 10_000_000),
    max_tokens=st.none() | st.integers(1, 20_000),
    concurrency=st.none() | st.integers(1, 500),
)


@given(runs=st.lists(RUNS, max_size=3, unique_by=lambda run: run.name), moment=st.floats(0, 1e6))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_end_lies_before_now_whatever_is_known(scene: Scene, runs: list[DatasetRun], moment: float) -> None:
    if not scene.tracker.state.server.throughput:
        _work(scene, 10, 90)
    now = after(100 + moment)
    for state in (scene.tracker.state, State()):
        reckoned = reckon(state, runs, Plan(), 50, now)
        ends = list(reckoned.ends.values())
        assert all(now <= end.low <= end.middle <= end.high for end in ends)
        if reckoned.whole.at is not None and reckoned.whole.tokens_left:
            assert reckoned.whole.low is not None
            assert reckoned.whole.high is not None
            assert now <= reckoned.whole.low <= reckoned.whole.at <= reckoned.whole.high
