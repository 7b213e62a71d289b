"""When it will be done, and how sure that is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.job.dataset_run import DatasetRun
from console.job.estimate import estimate
from console.job.lengths import own_mean, pooled_mean, tokens_in_flight
from console.job.rank_report import RankReport
from console.job.series import Series
from console.job.server_events import ServerLoad
from console.job.server_state import ServerState
from console.job.snapshot import DatasetState
from console.job.speed import Speed, speed
from console.job.work_left import UnknownWork, Work, work_left

T0 = datetime(2026, 2, 24, tzinfo=UTC)
SPEED = Speed(1_000.0, 0.05, "server")


def running(**figures: object) -> DatasetRun:
    base = DatasetRun(
        "B3",
        "SHORT",
        DatasetState.RUNNING,
        done_run=1_000,
        tokens=2_000_000,
        requests=10_000,
        total=10_000,
        budget=10_000_000,
    )
    return replace(base, **figures)  # type: ignore[arg-type]


def steady_series(value: float, minutes: int = 20, load: float = 50) -> Series:
    series = Series()
    for second in range(0, minutes * 60, 5):
        series = series.add(T0 + timedelta(seconds=second), value, load)
    return series


def only(run: DatasetRun, server: ServerState | None = None) -> Work:
    (work,) = work_left([run], server or ServerState())
    assert isinstance(work, Work)
    return work


def test_the_budget_ends_a_dataset_before_its_prompts_do() -> None:
    assert only(running()).tokens == 8_000_000
    assert only(running(budget=None)).tokens == pytest.approx(9_000 * 2_000)
    assert only(running(requests=1_500)).tokens == pytest.approx(500 * 2_000)


def test_prompts_that_failed_are_not_awaited() -> None:
    assert only(running(requests=1_010, errors=10)).tokens == 0


def test_tokens_in_flight_mend_the_short_first_completions() -> None:
    report = RankReport(ServerLoad("", 50, 98, 0.82, 115_000, 846.0), T0)
    server = ServerState(ranks=(("", report),), prompts=100, prompt_tokens=80_000)
    run = running(done_run=50, tokens=50 * 400)
    assert tokens_in_flight(server, run) == 115_000 - 50 * 800
    biased, mended = own_mean(run, None, None), own_mean(run, 75_000.0, None)
    assert biased is not None
    assert mended is not None
    assert (biased.tokens, mended.tokens) == (400, 1_900)
    assert biased.high / biased.tokens > mended.high / mended.tokens


def test_a_dataset_not_begun_takes_its_mean_from_its_kind() -> None:
    short, other = running(name="B1"), running(name="B8", kind="LONG", done_run=100, tokens=800_000)
    both = pooled_mean([short, other], "LONG")
    assert both is not None
    assert both.tokens == pytest.approx(8_000)
    assert both.low < 4_200
    assert both.high > 15_000
    assert pooled_mean([running(done_run=5)], "SHORT") is None


def test_a_dataset_not_begun_is_capped_by_its_budget_and_wide() -> None:
    waiting = DatasetRun("B4", "SHORT", total=9_000, budget=10_000_000)
    works = work_left([running(), waiting], ServerState())
    assert isinstance(works[1], Work)
    assert works[1].tokens == 10_000_000
    assert works[1].low < 9_000_000
    assert isinstance(work_left([DatasetRun("B9")], ServerState())[0], UnknownWork)
    assert isinstance(work_left([DatasetRun("B9", total=10)], ServerState())[0], UnknownWork)
    assert only(DatasetRun("B9", budget=500)).tokens == 500


def test_the_end_is_tokens_left_over_tokens_a_second() -> None:
    result = estimate([Work("B3", 3_600_000, 3_500_000, 3_700_000, begun=True)], SPEED, T0, T0)
    assert result.whole.at == T0 + timedelta(hours=1)
    assert result.by_dataset == {"B3": result.whole.at}
    assert result.whole.low is not None
    assert result.whole.high is not None
    assert timedelta(minutes=50) < result.whole.low - T0 < timedelta(minutes=59)
    assert result.whole.high - T0 < timedelta(hours=1, minutes=10)
    assert result.whole.basis == "3.6 M tokens left at 1,000 tok/s."


@pytest.mark.parametrize("pace", [1.0, 20.0])
def test_a_datasets_end_costs_a_tail_that_scales_with_the_server(pace: float) -> None:
    work = Work("B3", 3_600_000, 3_500_000, 3_700_000, begun=True, mean=2_400)
    result = estimate([work], Speed(1_000.0 * pace, 0.05, "server", running=50), T0, T0)
    answer = timedelta(seconds=2_400 * 50 / 1_000 / pace)
    assert result.whole.at == T0 + timedelta(hours=1) / pace + 2 * answer
    assert result.whole.high is not None
    assert result.whole.high - result.whole.at > 5 * answer


def test_what_is_not_known_is_said() -> None:
    assert estimate([Work("B3", 1, 1, 1, begun=True)], None, T0, T0).whole.at is None
    result = estimate([Work("B3", 1_000, 1_000, 1_000, begun=True), UnknownWork("B4", "reasons")], SPEED, T0, T0)
    assert result.whole.at is None
    assert "reasons" in result.whole.basis
    assert list(result.by_dataset) == ["B3"]


def test_speed_is_the_median_without_ramps_and_tails() -> None:
    series = steady_series(846.0)
    for second in range(1_200, 1_300, 5):
        series = series.add(T0 + timedelta(seconds=second), 60.0, 3)
    found = speed(series, Series())
    assert found == Speed(846.0, 0.05, "server", running=50)


def test_speed_by_the_jobs_own_counts_when_the_server_is_not_seen() -> None:
    progress = Series(step_s=20.0).add(T0, 100_000).add(T0 + timedelta(seconds=30), 110_000)
    assert speed(Series(), progress) is None
    found = speed(Series(), progress.add(T0 + timedelta(seconds=100), 190_000))
    assert found == Speed(900.0, 0.3, "progress")
    assert speed(Series(), Series()) is None


COUNT = st.integers(0, 20_000)
RUNS = st.builds(
    DatasetRun,
    st.sampled_from(["A", "B", "C"]),
    kind=st.sampled_from(["SHORT", "LONG"]),
    state=st.sampled_from(DatasetState),
    done_before=COUNT,
    done_run=COUNT,
    tokens=st.none() | st.integers(0, 20_000_000),
    errors=COUNT,
    requests=st.none() | COUNT,
    total=st.none() | COUNT,
    budget=st.none() | st.integers(0, 10_000_000),
)


@given(st.lists(RUNS, max_size=4), st.floats(0.1, 1e5), st.floats(0, 2), st.integers(-10_000, 0))
def test_time_left_is_never_negative(runs: list[DatasetRun], rate: float, variation: float, anchor: int) -> None:
    left = work_left(runs, ServerState())
    for work in left:
        if isinstance(work, Work):
            assert 0 <= work.low <= work.tokens <= work.high
    if not left:
        return
    result = estimate(left, Speed(rate, variation, "server"), T0 + timedelta(seconds=anchor), T0)
    eta = result.whole
    if eta.at is not None:
        assert eta.low is not None
        assert eta.high is not None
        assert T0 <= eta.low <= eta.at <= eta.high
    assert all(end >= T0 for end in result.by_dataset.values())
