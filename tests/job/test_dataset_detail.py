"""One dataset seen closely: lengths, way, what was said of its end, errors by kind; and what can't be told."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.job.dataset_detail import PathPoint, said_of, share_at
from console.job.dataset_detail_lengths import RATIO, lengths_of
from console.job.dataset_run import DatasetRun
from console.job.events import Source
from console.job.failure_kinds import FailureKind
from console.job.length_counts import LengthCounts
from console.job.plan import Plan
from console.job.server_state import ServerState
from console.job.snapshot import DatasetState
from console.job.told import Told
from console.job.tracker import Tracker
from tests.job.builders import PLAN, T0, Scene, after, steady_run

NOW = after(3_600)


def told_of(tracker: Tracker, moment: float, event: str, **fields: Any) -> None:
    """One line of ``progress.jsonl``."""
    said = {"event": event, "t": after(moment).isoformat(), "dataset": "B3_magicoder", **fields}
    tracker.feed(Source.PROGRESS, f"{json.dumps(said)}\n".encode(), after(moment))


def with_progress(completions: int = 40) -> Tracker:
    """A run of which ``progress.jsonl`` tells each completion, and some errors."""
    tracker = Tracker(PLAN)
    told_of(tracker, 0, "dataset_started", todo=9_998, total=10_000, done=2, tokens=1_012, concurrency=150, max_tokens=4_096, budget=100_000)  # fmt: skip
    for place in range(completions):
        made, why = (4_096, "length") if place % 10 == 9 else (100 * (place % 10 + 1), "stop")
        told_of(tracker, 10 + place * 30, "completion", id=str(place), completion_tokens=made, prompt_tokens=50, finish_reason=why, seconds=9.0, attempt=1)  # fmt: skip
        told_of(tracker, 11 + place * 30, "heartbeat", done=place + 1, errors=0, in_flight=150, tokens=1_012 + made)
    for place in range(6):
        kind = "timeout" if place % 2 else "http_500"
        told_of(tracker, 1_300 + place, "error", id=f"e{place}", kind=kind, attempt=1, final=place == 5)
    return tracker


def test_exact_lengths_are_counted_with_those_at_the_cap() -> None:
    detail = with_progress().detail("B3_magicoder", NOW)
    assert detail is not None
    lengths = detail.lengths
    assert (lengths.source, lengths.counted) == ("progress", 40)
    assert (lengths.capped, lengths.judged, lengths.capped_tokens) == (4, 40, 4 * 4_096)
    assert sum(one.finished for one in lengths.bins) == 40
    assert next(one.finished for one in lengths.bins if one.low <= 4_096 < one.high) == 4
    assert next(one.finished for one in lengths.bins if one.low <= 500 < one.high) == 4


def test_errors_are_told_by_kind() -> None:
    detail = with_progress().detail("B3_magicoder", NOW)
    assert detail is not None
    assert detail.failures == (FailureKind("http_500", 3, 0), FailureKind("timeout", 3, 1))


def test_tokens_beyond_the_budget_are_counted() -> None:
    tracker = with_progress(200)
    detail = tracker.detail("B3_magicoder", NOW)
    view = next(view for view in tracker.snapshot(NOW).datasets if view.name == "B3_magicoder")
    assert detail is not None
    assert view.tokens is not None
    assert detail.over_budget == view.tokens - 100_000 > 0
    assert detail.tokens_run == view.tokens - 1_012
    assert detail.prompt_tokens == 200 * 50
    assert (detail.has_progress, detail.has_server) == (True, False)


def test_the_way_runs_from_the_first_request_to_the_newest_word_on_the_nearer_end() -> None:
    scene = steady_run(60)
    detail = scene.tracker.detail("B3_magicoder", NOW)
    assert detail is not None
    assert detail.path[0] == PathPoint(after(1), 2 / 10_000)
    view = next(view for view in scene.tracker.snapshot(NOW).datasets if view.name == "B3_magicoder")
    assert detail.path[-1] == PathPoint(view.updated_at or T0, view.share or -1.0)
    assert all(old.at < new.at and old.share <= new.share for old, new in pairwise(detail.path))
    assert (detail.place, detail.names) == (2, tuple(dataset.name for dataset in PLAN.datasets))


def test_of_what_has_ended_the_way_ends_at_the_whole_and_the_ranges_before_it_stay() -> None:
    scene = steady_run(60)
    scene.tracker.snapshot(NOW)
    scene.job(3_700, "  B3_magicoder: done 2000 (0 err), 10,002,311 tokens in 1.03h, budget reached")
    scene.tracker.snapshot(after(3_720))
    detail = scene.tracker.detail("B3_magicoder", after(3_720))
    assert detail is not None
    assert detail.path[-1] == PathPoint(after(3_700), 1.0)
    assert detail.ended_at == after(3_700)
    assert [one.told.at for one in detail.said] == [NOW]
    assert detail.lengths.ages == ()


def test_what_is_said_now_is_the_newest_of_what_was_said() -> None:
    scene = steady_run(60)
    scene.tracker.snapshot(NOW)
    later = NOW + timedelta(seconds=20)
    detail = scene.tracker.detail("B3_magicoder", later)
    view = next(view for view in scene.tracker.snapshot(later).datasets if view.name == "B3_magicoder")
    assert detail is not None
    newest = detail.said[-1].told
    assert (newest.at, newest.low, newest.middle, newest.high) == (later, view.eta_low, view.eta, view.eta_high)
    assert detail.expected is not None
    assert detail.expected[0] <= (view.expected_completion_tokens or 0) <= detail.expected[1]


def test_the_servers_log_tells_lengths_and_ages_where_it_lets_requests_be_told_apart() -> None:
    scene = Scene()
    scene.ready()
    scene.begin()
    scene.server(2, "Prefill batch, #new-seq: 8, #new-token: 800, #cached-token: 0, token usage: 0.01, #running-req: 0, #queue-req: 0")  # fmt: skip
    held = 800
    for second in range(4, 400, 4):
        held += 8 * 160
        running = 8 if second < 200 else 7
        if second == 200:
            held -= 100 + 49 * 160
        scene.server(second, f"Decode batch, #running-req: {running}, #token: {held}, token usage: 0.10, cuda graph: True, gen throughput (token/s): 320.00, #queue-req: 0")  # fmt: skip
    scene.progress(202, 1, 7_840)
    detail = scene.tracker.detail("B3_magicoder", after(400))
    assert detail is not None
    assert detail.has_server
    assert not detail.has_progress
    assert len(detail.lengths.ages) + detail.lengths.ageless > 0
    assert list(detail.lengths.ages) == sorted(detail.lengths.ages)
    assert sum(one.flying for one in detail.lengths.bins) == len(detail.lengths.ages)


def test_a_dataset_that_nobody_knows_has_no_detail_and_one_that_waits_an_empty_one() -> None:
    tracker = steady_run(10).tracker
    assert tracker.detail("B9", NOW) is None
    assert Tracker(Plan()).detail("", NOW) is None
    waiting = tracker.detail("B4_longdocs", NOW)
    assert waiting is not None
    assert (waiting.path, waiting.lengths.source, waiting.ended_at) == ((), "", None)


def test_looking_changes_nothing() -> None:
    one, other = steady_run(60).tracker, steady_run(60).tracker
    for name in ("B1_glaive", "B3_magicoder", "B4_longdocs"):
        one.detail(name, NOW)
    assert one.freeze() == other.freeze()
    assert one.snapshot(NOW) == other.snapshot(NOW)


def test_it_survives_freezing() -> None:
    tracker = with_progress()
    tracker.snapshot(NOW)
    other = Tracker(PLAN)
    assert other.thaw(tracker.freeze())
    assert other.detail("B3_magicoder", NOW) == tracker.detail("B3_magicoder", NOW)


@given(st.lists(st.tuples(st.integers(1, 200_000), st.booleans()), max_size=40), st.none() | st.integers(1, 50_000))
@settings(deadline=None)
def test_bins_hold_every_completion_once(found: list[tuple[int, bool]], cap: int | None) -> None:
    counts = LengthCounts()
    for tokens, cut in found:
        counts = counts.add(tokens, "length" if cut else "stop")
    run = DatasetRun("x", state=DatasetState.DONE, lengths=counts, max_tokens=cap)
    bins = lengths_of(run, ServerState()).bins
    assert sum(one.finished for one in bins) == len(found)
    for old, new in pairwise(bins):
        assert new.low == pytest.approx(old.high)
        assert new.high / new.low == pytest.approx(RATIO)


MOMENTS = st.lists(st.tuples(st.integers(1, 500), st.floats(0, 0.1)), max_size=30)


@given(MOMENTS, st.lists(st.integers(0, 20_000), max_size=12))
def test_what_was_said_rises_with_what_was_done(steps: list[tuple[int, float]], said_at: list[int]) -> None:
    path, second, share = [], 0, 0.0
    for step, more in steps:
        second, share = second + step, min(1.0, share + more)
        path.append(PathPoint(after(second), share))
    told = [Told(after(at), after(at + 1), after(at + 2), after(at + 3)) for at in sorted(said_at)]
    said = said_of(path, told)
    assert all(old.share < new.share for old, new in pairwise(said))
    if told:
        assert said[-1].told == told[-1]
    for point in path:
        assert share_at(path, point.at) == pytest.approx(point.share)


def test_between_two_points_it_went_on_evenly() -> None:
    start = datetime(2026, 2, 24, tzinfo=UTC)
    path = [PathPoint(start, 0.2), PathPoint(start + timedelta(hours=2), 0.6)]
    assert share_at(path, start + timedelta(hours=1)) == pytest.approx(0.4)
    assert share_at(path, start - timedelta(hours=1)) == 0.0
    assert share_at(path, start + timedelta(hours=9)) == 0.6
