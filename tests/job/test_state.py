"""Events folded into what is known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from console.job import events as ev
from console.job.events import Source, Stamped
from console.job.job_merge import merged
from console.job.plan import Plan
from console.job.snapshot import DatasetState
from console.job.state import State, apply

if TYPE_CHECKING:
    from console.job.dataset_run import DatasetRun

T0 = datetime(2026, 2, 24, tzinfo=UTC)
PLAN = Plan()


def fold(*told: tuple[float, Any], source: Source | None = None, state: State | None = None) -> State:
    state = state or State()
    for seconds, event in told:
        state = apply(state, Stamped(T0 + timedelta(seconds=seconds), event), source=source)
    return state


def dataset(state: State, name: str = "B3") -> DatasetRun:
    return next(run for run in merged(state.log, state.progress, PLAN) if run.name == name)


def begun(done_before: int = 0, tokens: int = 0, at: float = 0) -> list[tuple[float, Any]]:
    resumed = [(at + 2, ev.DatasetResumed("B3", done_before, tokens))] if done_before else []
    return [
        (at, ev.DatasetAnnounced("B3", "SHORT")),
        (at + 1, ev.DatasetTokenized("B3", 10_000)),
        *resumed,
        (at + 3, ev.DatasetStarted("", 10_000 - done_before, 150, 10_240, 10_000_000)),
    ]


def test_counts_of_this_process_are_added_to_those_before() -> None:
    run = dataset(fold(*begun(2, 1_012), (60, ev.Progress("", 50, 9_998, 1, 0.3, 1_232.0, 100_000, 6_840.0))))
    assert (run.done, run.done_before, run.total, run.errors) == (52, 2, 10_000, 1)
    assert run.tokens == 1_012 + 50 * 1_232
    assert run.state is DatasetState.RUNNING


def test_two_datasets_at_work_are_counted_each_by_itself() -> None:
    def made(name: str, number: int) -> ev.Completion:
        return ev.Completion(name, f"p{number}", 3, 100, "stop", 1.0, 1)

    told: list[tuple[float, Any]] = [
        *begun(),
        *((10 + n, made("B3", n)) for n in range(4)),
        (20, ev.DatasetAnnounced("B4", "SHORT")),
        (21, ev.DatasetStarted("B4", 50, 150, 10_240)),
        *((30 + n, made("B4" if n % 2 else "B3", 100 + n)) for n in range(10)),
        (45, ev.Heartbeat("B3", 9, 0, 1, 900)),
        (45, ev.Heartbeat("B4", 5, 0, 149, 500)),
    ]
    state = fold(*told, source=Source.PROGRESS)
    assert fold(*told, source=Source.PROGRESS, state=state).progress == state.progress
    former, latter = dataset(state, "B3"), dataset(state, "B4")
    assert (former.done, former.mean, former.in_flight) == (9, 100.0, 1)
    assert (latter.done, latter.mean, latter.in_flight) == (5, 100.0, 149)
    assert state.progress.current == "B4"
    ended = fold((50, ev.DatasetFinished("B4", 50, 0, 5_000, 30.0, "all_done")), (51, made("B3", 500)), state=state)
    assert dataset(ended, "B3").done == 10


def test_a_missed_resuming_line_shows_in_the_printed_total() -> None:
    run = dataset(fold((60, ev.Progress("B3", 50, 9_998, 0, 0.3, 1_000.0, 4_000_000, None))))
    assert run.tokens == 4_000_000


def test_a_second_process_takes_the_first_ones_counts_as_done_before() -> None:
    first = [*begun(), (60, ev.Progress("", 400, 10_000, 3, 0.3, 1_000.0, 400_000, None))]
    restarted = fold(*first, (100, ev.RunStarted(77, ("B3",))))
    assert (dataset(restarted).done, dataset(restarted).state) == (400, DatasetState.WAITING)
    again = fold(
        *begun(390, 390_000, at=100), (200, ev.Progress("", 50, 9_610, 0, 0.3, 1_000.0, None, None)), state=restarted
    )
    run = dataset(again)
    assert (run.done, run.done_before, run.errors, run.tokens) == (440, 390, 0, 440_000)


def test_a_job_that_starts_from_nothing_again_counts_from_nothing() -> None:
    state = fold(*begun(), (60, ev.Progress("", 400, 10_000)), *begun(at=100), (200, ev.Progress("", 50, 10_000)))
    assert dataset(state).done == 50


def test_both_logs_agree_and_do_not_double() -> None:
    log = fold(*begun(2, 1_012), (60, ev.Progress("", 50, 9_998, 0, 0.3, 1_000.0, 100_000, None)))
    state = fold(*begun(2, 1_012), source=Source.PROGRESS, state=log)
    for number in range(60):
        done = ev.Completion("B3", str(number), 100, 1_000, "stop", 12.0)
        state = fold((61 + number, done), (61 + number, done), source=Source.PROGRESS, state=state)
    run = dataset(state)
    assert (run.done, run.tokens, run.requests_per_s) == (62, 61_012, 0.3)
    later = fold((500, ev.Progress("", 100, 9_998, 0, 0.4, 1_000.0, 100_000, None)), state=state)
    assert (dataset(later).done, dataset(later).tokens) == (102, 101_012)


def test_a_log_of_a_former_run_gives_way_to_the_other() -> None:
    old = fold(
        *begun(),
        *((10 + n, ev.Completion("B3", str(n), 1, 10, "stop", 1.0)) for n in range(30)),
        source=Source.PROGRESS,
    )
    state = fold(*begun(at=1_000), (1_060, ev.Progress("", 5, 10_000)), state=old)
    assert dataset(state).done == 5


def test_ends_and_skips() -> None:
    state = fold(*begun(), (60, ev.DatasetFinished("B3", 8_123, 4, 10_002_311, 11_556.0, "budget")))
    run = dataset(state)
    assert (run.state, run.done, run.errors, run.tokens) == (DatasetState.BUDGET_REACHED, 8_123, 4, 10_002_311)
    skipped = fold(
        (100, ev.RunStarted(1)),
        (101, ev.DatasetAnnounced("B3")),
        (101, ev.DatasetSkipped("B3", "budget", tokens=10_002_311, budget=10_000_000)),
        state=state,
    )
    run = dataset(skipped)
    assert (run.state, run.done, run.tokens) == (DatasetState.SKIPPED, 8_123, 10_002_311)
    done = dataset(fold((1, ev.DatasetSkipped("B9", "all_done", total=300))), "B9")
    assert (done.done, done.state) == (300, DatasetState.SKIPPED)


def test_a_job_that_says_nothing_when_it_begins_anew() -> None:
    state = fold((0, ev.Progress("", 450, 1_000)), (10, ev.Progress("", 5, 550)))
    run = dataset(state, "prompts")
    assert (run.done, run.total) == (455, 1_000)


def test_a_new_process_seen_in_the_process_table() -> None:
    state = fold((0, ev.ProcessFact(True, 1, T0)), *begun(), (60, ev.Progress("", 400, 10_000)))
    same = fold((70, ev.ProcessFact(True, 1, T0)), state=state)
    assert dataset(same).state is DatasetState.RUNNING
    new = fold((100, ev.ProcessFact(True, 2, T0 + timedelta(seconds=90))), state=same)
    assert (dataset(new).state, dataset(new).done) == (DatasetState.WAITING, 400)
    assert fold((110, ev.ProcessFact(True, 2, T0 + timedelta(seconds=90))), state=new).log == new.log


def load(rank: str = "", running: int = 50, tok_s: float | None = 800.0, **more: Any) -> ev.ServerLoad:
    return ev.ServerLoad(rank, running, 10, 0.8, 100_000, tok_s, **more)


def test_ranks_are_summed_and_stale_ones_dropped() -> None:
    server = fold((0, load("DP0")), (2, load("DP1", 30, 500.0))).server
    assert (server.log_running(), server.log_throughput()) == (80, 1_300.0)
    server = fold((0, load("DP0")), (31, load("DP1", 30, 500.0))).server
    assert (server.log_running(), server.log_throughput()) == (30, 500.0)


def test_suspect_figures_are_left_out() -> None:
    server = fold((0, load()), (4, load(tok_s=0.02, suspect_throughput=True))).server
    assert server.log_throughput() == 800.0
    assert [point.value for point in server.throughput.points()] == [800.0]


def test_a_new_server_process_forgets_the_old_one() -> None:
    server = fold(
        (0, load()), (5, ev.ServerTrouble("crash", "boom", fatal=True)), (60, ev.EngineSeen("sglang", "", True))
    ).server
    assert (server.phase, server.ranks, server.trouble, server.throughput.peak) == ("starting", (), None, 800.0)


def test_the_first_fatal_cause_stays_and_a_live_server_clears_it() -> None:
    crash = ev.ServerTrouble("crash", "the cause", fatal=True)
    state = fold((0, load()), (5, crash), (6, ev.ServerTrouble("nccl", "what followed", fatal=True)), (8, load("DP1")))
    assert state.server.trouble == crash
    assert state.server.phase == "dead"
    assert fold((30, load()), state=state).server.phase == "ready"


def test_retractions_are_counted_once_per_rank_and_second() -> None:
    state = fold(
        (0, ev.Retraction("DP0", 3)),
        (0.4, ev.Retraction("DP0", 3)),
        (1, ev.Retraction("DP0", 2)),
        (1.2, ev.Retraction("DP1", 1)),
    )
    assert state.server.retractions == 6


def test_metrics_count_by_the_growth_of_the_counter() -> None:
    page = ev.ServerMetrics("vllm", 40, 60, 0.9, None, 10_000.0, 3.0)
    grown = ev.ServerMetrics("vllm", 40, 60, 0.9, None, 18_000.0, 3.0)
    seen = fold((0, page), (10, grown)).server.metrics
    assert seen.throughput == 800.0
    assert seen.moved_at == T0 + timedelta(seconds=10)
    assert fold((0, page), (10, page)).server.metrics.moved_at is None


def test_failing_health_remembers_since_when() -> None:
    bad = ev.HealthProbe("/health", ok=False, status=None, latency_s=None, error="refused")
    state = fold((0, ev.HealthProbe("/health", ok=True, status=200, latency_s=1.0)), (10, bad), (20, bad), (20, bad))
    health = state.host.health
    assert (health.failures, health.failing_since) == (2, T0 + timedelta(seconds=10))


def test_a_clock_that_was_put_back_stops_neither_health_nor_the_process() -> None:
    well = ev.HealthProbe("/health", ok=True, status=200, latency_s=1.0)
    bad = ev.HealthProbe("/health", ok=False, status=None, latency_s=None, error="refused")
    gone, alive = ev.ProcessFact(alive=False), ev.ProcessFact(alive=True, pid=7)
    hour = fold((3_600, well), (3_600, alive)).host
    assert (hour.health.probe, hour.process.fact) == (well, alive)
    state = fold((3_600, well), (3_600, alive), (10, bad), (10, gone), (20, bad))
    assert (state.host.health.failures, state.host.health.failing_since) == (2, T0 + timedelta(seconds=10))
    assert (state.host.process.fact, state.host.process.gone_since) == (gone, T0 + timedelta(seconds=10))
    late = fold((60, well), (60, alive), (50, bad), (50, gone))
    assert (late.host.health.probe, late.host.process.fact) == (well, alive), "it came late, the clock is right"


def test_metrics_pages_go_on_when_the_clock_was_put_back() -> None:
    def page(tokens: float) -> ev.ServerMetrics:
        return ev.ServerMetrics("sglang", 50, 98, 0.82, None, tokens, 0.0)

    state = fold((7_200, page(1_000.0)), (7_215, page(13_000.0)), (7_210, page(9_000.0)))
    assert (state.server.metrics.throughput, state.server.metrics.at) == (800.0, T0 + timedelta(seconds=7_215))
    back = fold((0, page(25_000.0)), state=state).server.metrics
    assert (back.throughput, back.at, back.moved_at) == (None, T0, T0)
    server = fold((0, page(25_000.0)), (15, page(37_000.0)), state=state).server
    assert (server.metrics.throughput, server.metrics.tokens.total) == (800.0, 36_000.0)
    assert server.throughput.last == (T0.timestamp() + 15, 800.0, 50)


def test_a_link_is_away_since_it_was_first_lost() -> None:
    state = fold(
        (0, ev.LinkFact("up")),
        (10, ev.LinkFact("lost", "cut")),
        (12, ev.LinkFact("connecting")),
        (20, ev.LinkFact("lost")),
    )
    assert state.host.link.since == T0 + timedelta(seconds=10)


NAMES = st.sampled_from(["", "A", "B"])
SMALL = st.integers(0, 40)
EVENTS: st.SearchStrategy[Any] = st.one_of(
    st.builds(ev.RunStarted, st.integers(1, 9), st.sampled_from([(), ("A", "B")])),
    st.builds(ev.RunFinished, st.sampled_from(["done", "stopped", "failed"])),
    st.builds(ev.DatasetAnnounced, NAMES, st.sampled_from(["", "LONG"])),
    st.builds(ev.DatasetTokenized, NAMES, SMALL),
    st.builds(ev.DatasetResumed, NAMES, SMALL, SMALL),
    st.builds(ev.DatasetStarted, NAMES, SMALL, st.none() | SMALL, st.none() | SMALL, st.none() | SMALL),
    st.builds(ev.BudgetLeft, NAMES, SMALL, SMALL),
    st.builds(ev.Progress, NAMES, SMALL, SMALL, SMALL, st.none() | st.floats(0, 9), st.none() | st.floats(0, 1e6), st.none() | SMALL),
    st.builds(ev.Completion, NAMES, st.sampled_from("abcdef"), SMALL, SMALL, st.just("stop"), st.floats(0, 9)),
    st.builds(ev.RequestFailed, NAMES, st.sampled_from("abc"), st.just("timeout"), SMALL, st.booleans()),
    st.builds(ev.Heartbeat, NAMES, SMALL, SMALL, SMALL, SMALL),
    st.builds(ev.DatasetFinished, NAMES, SMALL, SMALL, st.none() | SMALL, st.none(), st.sampled_from(["budget", "all_done", "stopped"])),
    st.builds(ev.DatasetSkipped, NAMES, st.sampled_from(["budget", "all_done"]), st.none() | SMALL, st.none() | SMALL),
    st.builds(ev.JobTrouble, st.sampled_from(["trouble", "No space left on device"]), st.booleans()),
    st.builds(ev.ServerWord, st.sampled_from(["gone", "fails", "still", "back"])),
    st.builds(ev.EngineSeen, st.just("sglang"), st.just(""), st.booleans()),
    st.builds(ev.ServerPhase, st.sampled_from(["weights", "ready", "draining"]), st.none() | st.floats(0, 1)),
    st.builds(ev.ServerCapacity, SMALL, st.none() | SMALL),
    st.builds(ev.ServerLoad, st.sampled_from(["", "DP0"]), SMALL, st.none() | SMALL, st.none() | st.floats(0, 1), st.none() | SMALL, st.none() | st.floats(0, 1e4), st.booleans(), SMALL),
    st.builds(ev.ServerPrefill, st.just(""), SMALL, SMALL, SMALL, st.none() | SMALL, st.none() | SMALL, st.none()),
    st.builds(ev.Retraction, st.just("DP0"), SMALL),
    st.builds(ev.ServerTrouble, st.just("crash"), st.just("boom"), st.booleans()),
    st.builds(ev.ServerStopping, st.just("SIGTERM")),
    st.builds(ev.HealthProbe, st.just("/health"), st.booleans(), st.none() | st.just(200), st.none() | st.floats(0, 9)),
    st.builds(ev.ServerMetrics, st.just("vllm"), st.none() | SMALL, st.none() | SMALL, st.none() | st.floats(0, 1), st.none() | st.floats(0, 1e4), st.none() | st.floats(0, 1e6), st.none()),
    st.builds(ev.MetricsMissing, st.just("404")),
    st.builds(ev.LinkFact, st.sampled_from(["connecting", "up", "lost", "refused"])),
    st.builds(ev.ProcessFact, st.booleans(), st.none() | SMALL, st.none() | st.just(T0 + timedelta(seconds=50))),
    st.builds(ev.SourceFact, st.sampled_from(Source), st.sampled_from(["following", "missing", "unreadable"]), st.just("/srv/x.log")),
)  # fmt: skip
TOLD = st.lists(st.tuples(st.integers(0, 200), EVENTS), max_size=15)
SOURCES = st.sampled_from([None, Source.JOB, Source.PROGRESS])


@settings(max_examples=50)
@given(TOLD, SOURCES)
def test_an_event_read_twice_changes_nothing(told: list[tuple[int, Any]], source: Source | None) -> None:
    state = State()
    for seconds, event in told:
        state = fold((seconds, event), source=source, state=state)
        assert fold((seconds, event), source=source, state=state) == state


WITHIN = st.one_of(
    st.builds(ev.Progress, st.just("B3"), SMALL, st.just(40), SMALL, st.none(), st.none() | st.floats(0, 1e4)),
    st.builds(ev.Completion, st.just("B3"), st.sampled_from("abcdef"), SMALL, SMALL, st.just("stop"), st.just(1.0)),
    st.builds(ev.Heartbeat, st.just("B3"), SMALL, SMALL, SMALL, SMALL),
    st.builds(ev.RequestFailed, st.just("B3"), st.sampled_from("abc"), st.just("timeout"), SMALL, st.booleans()),
    st.builds(ev.DatasetFinished, st.just("B3"), SMALL, SMALL, st.none(), st.none(), st.just("stopped")),
)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(10, 500), WITHIN, SOURCES), max_size=20))
def test_done_never_falls_within_one_run(told: list[tuple[int, Any, Source | None]]) -> None:
    state = fold(*begun())
    for seconds, event, source in told:
        before = dataset(state)
        state = fold((seconds, event), source=source, state=state)
        after = dataset(state)
        assert after.done >= before.done
