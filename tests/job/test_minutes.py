"""The history of the server in half minutes."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from console.job import events as ev
from console.job.events import Source, Stamped
from console.job.fold import fold
from console.job.host_events import ServerMetrics
from console.job.minutes import CHUNK, Minutes, MinutesDraft
from console.job.minutes_bin import STEP_S, Bin, steps_of, totals_of
from console.job.rank_report import RankReport
from console.job.state import State, apply

T0 = datetime(2026, 2, 24, tzinfo=UTC)
SEEN = datetime(2026, 12, 1, tzinfo=UTC)


def at(second: float) -> datetime:
    return T0 + timedelta(seconds=second)


def load(
    running: int = 50,
    made: float | None = 800.0,
    *,
    rank: str = "",
    queue: int = 98,
    tokens: int | None = 100_000,
    usage: float = 0.8,
    suspect: bool = False,
    preemptions: int = 0,
) -> ev.ServerLoad:
    return ev.ServerLoad(rank, running, queue, usage, tokens, made, suspect, preemptions)


def told(*events: tuple[float, Any]) -> State:
    return fold(State(), [Stamped(at(second), event) for second, event in events], Source.SERVER, SEEN)


def bins(state: State) -> list[Bin]:
    return state.server.minutes.bins()


def test_a_bin_holds_means_over_time() -> None:
    state = told((0, load()), (10, load(40, 900.0)), (12, load(60, 600.0)), (20, load(50, 1_000.0)))
    (one,) = bins(state)
    assert (one.span_s, one.good_s, one.wall_s) == (20.0, 20.0, 20.0)
    assert one.mean(one.running) == pytest.approx((40 * 10 + 60 * 2 + 50 * 8) / 20)
    assert one.throughput() == pytest.approx((900 * 10 + 600 * 2 + 1_000 * 8) / 20)
    assert one.mean(one.held) == pytest.approx(100_000)
    assert one.mean_usage() == pytest.approx(0.8)


def test_ranks_are_summed() -> None:
    reports = [
        (second, load(25, 400.0, rank=rank, tokens=50_000)) for second in range(0, 30, 5) for rank in ("DP0", "DP1")
    ]
    (one,) = bins(told(*reports))
    assert one.mean(one.running) == pytest.approx(50)
    assert one.throughput() == pytest.approx(800)
    assert one.wall_s == pytest.approx(25)


def test_suspect_figures_and_idle_gaps_do_not_count() -> None:
    state = told((0, load()), (5, load()), (10, load(made=2.0, suspect=True)), (15, load(0, 1.0)), (29, load(50, 3.0)))
    (one,) = bins(state)
    assert one.span_s == 15.0
    assert one.good_s == 10.0
    assert one.throughput() == pytest.approx((800 * 5 + 1 * 5) / 10)


def test_nothing_reported_is_unknown() -> None:
    empty = Bin(0)
    assert (empty.mean(empty.running), empty.mean_usage(), empty.throughput(), empty.wall_s) == (None, None, None, 0.0)
    assert steps_of([empty]) == []


def test_a_prefill_without_a_report_counts_to_the_report_that_spans_it() -> None:
    prefill = ev.ServerPrefill("", 4, 8_000, 0, 50, 90, 0.8)
    state = told((0, load()), (20, load()), (35, prefill), (62, load(made=700.0)), (80, load()))
    steps = steps_of(bins(state))
    assert [step.time_s - T0.timestamp() for step in steps] == [0, 60]
    assert steps[0].prompt == 0
    # 8,000 tokens over the 60 s that the reports of the newest bin cover
    assert steps[1].prompt == pytest.approx(8_000 * steps[1].seconds / 60)


def test_retractions_by_log_and_by_counter() -> None:
    pages = [ServerMetrics("sglang", 50, 98, 0.8, 800.0, None, float(total)) for total in (10, 13)]
    state = told((0, load()), (4, ev.Retraction("", 2)), (5, load()), (9, pages[0]), (19, pages[1]), (20, load()))
    (one,) = bins(state)
    assert (one.retracted, one.counted, one.retractions) == (2, 3, 3)


def test_prompts_by_vllms_own_figure() -> None:
    report = load(tokens=None)._replace(prompt_tokens_s=300.0)
    (one,) = bins(told((0, report), (10, report), (20, report._replace(preemptions=2))))
    assert one.prompt_tokens == 6_000
    (step,) = steps_of([one])
    assert step.prompt == pytest.approx(300 * step.seconds)
    (wild,) = bins(told((0, report), (10, report._replace(prompt_tokens_s=1e300)), (20, report)))
    assert wild.prompt_tokens == 3_000


def test_preemptions_of_vllm() -> None:
    (one,) = bins(told((0, load(tokens=None)), (10, load(tokens=None, preemptions=4))))
    assert one.retracted == 4


def test_held_tokens_come_from_usage_where_the_pool_is_known() -> None:
    pool = ev.ServerCapacity(200_000)
    (one,) = bins(told((0, pool), (1, load(tokens=None)), (10, load(tokens=None, usage=0.5))))
    assert one.mean(one.held) == pytest.approx(100_000)
    (one,) = bins(told((1, load(tokens=None)), (10, load(tokens=None, usage=0.5))))
    assert one.held == 0
    assert steps_of([one])[0].held == pytest.approx(50_000)  # of a pool of 100,000


def test_a_metrics_page_alone() -> None:
    pages = [(second, ServerMetrics("vllm", 40, 5, 0.6, 500.0, None, None)) for second in range(0, 25, 5)]
    (one,) = bins(told(*pages))
    assert one.throughput() == pytest.approx(500)
    assert one.mean(one.running) == pytest.approx(40)
    (beside,) = bins(told((0, load()), (5, load()), (6, pages[0][1]), (11, pages[0][1]), (15, load())))
    assert beside.throughput() == pytest.approx(800)


def test_late_reports_and_a_clock_that_is_set_back() -> None:
    draft = MinutesDraft(Minutes())
    former = RankReport(load(), at(0))
    for second in range(5, 7_200, 5):
        draft.load(load(), at(second), RankReport(load(), at(second - 5)), 1, None)
    before = draft.freeze()
    draft.load(load(), at(7_100), RankReport(load(), at(7_099)), 2, None)
    late = draft.freeze()
    assert len(late) == len(before)
    assert late.open is not None
    assert before.open is not None
    assert late.open.span_s == before.open.span_s + 1
    draft.prefill(ev.ServerPrefill("", 1, 900, 0, 1, 1, 0.1), at(7_100))
    assert draft.freeze() == late
    draft.load(load(), at(3_600), former, 1, None)
    assert draft.freeze() == late  # an hour's gap to its own report says nothing
    draft.load(load(), at(3_605), RankReport(load(), at(3_600)), 1, None)
    cut = draft.freeze()
    assert cut.totals == tuple(map(totals_of, cut.chunks))
    assert 0 < len(cut.totals) < len(before.totals)
    back = cut.bins()
    assert back[-1].time_s == at(3_600).timestamp()
    assert len(back) == 121
    assert [each.time_s for each in back] == sorted({each.time_s for each in back})


def test_it_is_bounded_and_the_newest_stay() -> None:
    draft = MinutesDraft(Minutes(limit=4 * CHUNK))
    for second in range(30, 30 * CHUNK * 9, 15):
        draft.load(load(), at(second), RankReport(load(), at(second - 15)), 1, None)
    minutes = draft.freeze()
    assert 4 * CHUNK <= len(minutes) <= 5 * CHUNK
    kept = minutes.bins()
    assert kept[-1].time_s == at(30 * CHUNK * 9 - 15).timestamp() // STEP_S * STEP_S
    assert minutes.bins(kept[-7].time_s) == kept[-7:]
    assert minutes.bins(kept[-CHUNK - 3].time_s) == kept[-CHUNK - 3 :]


def test_a_restart_begins_a_new_reference_and_remembers_the_former() -> None:
    reports = [(second, load()) for second in range(0, 3_600, 5)]
    state = told(*reports, (4_000, ev.EngineSeen("sglang", "0.5", started=True)))
    minutes = state.server.minutes
    assert len(minutes) == 120
    assert minutes.reference.bins == minutes.learned.bins == 0
    assert minutes.former is not None
    assert minutes.former.bins >= 100
    assert minutes.renewed_s == at(4_000).timestamp()


def test_it_survives_a_pickle() -> None:
    minutes = told(*[(second, load()) for second in range(0, 3_600, 5)]).server.minutes
    assert pickle.loads(pickle.dumps(minutes)) == minutes  # noqa: S301  our own bytes


REPORTS = st.one_of(
    st.builds(load, st.integers(0, 9), st.none() | st.floats(0, 1e3), rank=st.sampled_from(["", "DP0", "DP1"]),
              suspect=st.booleans(), preemptions=st.integers(0, 2)),
    st.builds(ev.ServerPrefill, st.just(""), st.integers(0, 9), st.integers(0, 900), st.just(0), st.none(), st.none(), st.none()),
    st.builds(ev.Retraction, st.sampled_from(["", "DP0"]), st.integers(1, 3)),
    st.builds(ev.EngineSeen, st.just("sglang"), st.just(""), started=st.booleans()),
)  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from([0, 1, 5, 30, 700, -3]), REPORTS), max_size=60))
@example([(0, load(1)), (30, load(1, 2.2e-309)), (30, ev.ServerPrefill("", 0, 0, 0, None, None, None)), (0, ev.EngineSeen("sglang", "", started=True))])  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_folded_at_once_or_one_by_one_and_told_twice(steps: list[tuple[int, Any]]) -> None:
    second, stamped = 0, []
    for step, event in steps:
        second += step
        stamped.append(Stamped(at(second), event))
    ready = apply(State(), Stamped(at(0), ev.ServerPhase("ready")))
    slow = twice = ready
    for each in stamped:
        slow = apply(slow, each, source=Source.SERVER, seen_at=SEEN)
        for _ in range(2):
            twice = apply(twice, each, source=Source.SERVER, seen_at=SEEN)
    quick = fold(ready, stamped, Source.SERVER, SEEN)
    assert quick.server.minutes == slow.server.minutes
    assert twice.server.minutes == slow.server.minutes
    assert quick.server.minutes.totals == tuple(map(totals_of, quick.server.minutes.chunks))
