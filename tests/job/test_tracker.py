"""The one door, with whole logs."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from console.job.events import HealthProbe, Source, SourceFact
from console.job.job_events import DatasetFinished, DatasetStarted
from console.job.plan import Plan
from console.job.reading import line, reading, text
from console.job.snapshot import DatasetState
from console.job.tracker import Tracker
from tests.job.builders import PLAN, Scene, after, steady_run
from tests.job.test_state import EVENTS


def test_a_whole_run() -> None:
    taken = steady_run(60).tracker.snapshot(after(3_601))
    names = [(view.name, view.state) for view in taken.datasets]
    assert names == [
        ("B1_glaive", DatasetState.SKIPPED),
        ("B2_dialogue", DatasetState.SKIPPED),
        ("B3_magicoder", DatasetState.RUNNING),
        ("B4_longdocs", DatasetState.WAITING),
    ]
    third = taken.datasets[2]
    assert (third.done_before, third.total, third.in_flight, third.budget) == (2, 10_000, 150, 10_000_000)
    assert third.tokens is not None
    assert abs(third.tokens - 846 * 3_480) < 100_000
    assert third.eta is not None
    expected = timedelta(seconds=(10_000_000 - third.tokens) / 850)
    assert abs(third.eta - after(3_480) - expected) < timedelta(minutes=6)
    assert taken.eta.low is not None
    assert taken.eta.high is not None
    assert taken.eta.at is not None
    assert taken.eta.low < taken.eta.at < taken.eta.high
    assert (taken.server.engine, taken.server.phase, taken.server.ranks) == ("sglang", "ready", 1)
    assert taken.server.capacity_tokens == 141_312
    assert [log.understood for log in taken.logs] == [1.0, 1.0]


def test_ranks_are_summed() -> None:
    scene = Scene()
    scene.ready()
    scene.begin()
    for second in range(8, 60, 4):
        scene.decode(second, rank="DP0 TP0")
        scene.decode(second, rank="DP1 TP0", running=40, queue=10, usage=0.9)
    server = scene.tracker.snapshot(after(60)).server
    assert (server.running, server.queue, server.token_usage, server.ranks) == (90, 108, 0.9, 2)
    assert server.capacity_tokens == 2 * 141_312


def test_progress_jsonl_and_the_log_tell_of_the_same_run() -> None:
    scene = Scene()
    scene.ready()
    scene.begin()
    tell(
        scene,
        1,
        event="dataset_started",
        dataset="B3_magicoder",
        total=10_000,
        done=2,
        tokens=1_012,
        todo=9_998,
        budget=10_000_000,
        concurrency=150,
    )
    for number in range(120):
        fields = {
            "id": f"p{number}",
            "prompt_tokens": 800,
            "completion_tokens": 1_000,
            "finish_reason": "stop",
            "seconds": 60.0,
        }
        tell(scene, 60 + number, event="completion", dataset="B3_magicoder", **fields)
        if number % 50 == 49:
            scene.progress(60 + number, number + 1, 1_000)
    view = scene.tracker.snapshot(after(200)).datasets[2]
    assert (view.done, view.tokens) == (122, 121_012)
    assert view.requests_per_s == 0.4


def tell(scene: Scene, when: float, **said: Any) -> None:
    row = json.dumps({"t": after(when).isoformat(), **said}) + "\n"
    assert scene.tracker.feed(Source.PROGRESS, row.encode(), after(when)) == ()


def test_lines_for_the_panes_are_clean_and_stamped() -> None:
    tracker = Tracker(PLAN)
    half = b"[2026-02-24 02:00:07] \x1b[31mDecode batch, #running-req: 50, #token: 1, token usa"
    assert tracker.feed(Source.SERVER, half, after(8)) == ()
    rest = b"ge: 0.82, gen throughput (token/s): 846.30, #queue-req: 98\nplain words\n"
    first, second = tracker.feed(Source.SERVER, rest, after(8))
    assert (first.text[:13], first.at, first.level) == ("[2026-02-24 0", after(7), "info")
    assert "\x1b" not in first.text
    assert second.text == "plain words"


def test_a_replaced_file_drops_the_half_line() -> None:
    tracker = Tracker(PLAN)
    tracker.feed(Source.JOB, b"  50/99", after(0))
    tracker.reset_source(Source.JOB)
    (told,) = tracker.feed(Source.JOB, b"98 words\n", after(1))
    assert told.text == "98 words"
    tracker.note(SourceFact(Source.JOB, "truncated", "/srv/run.log", lost_bytes=7), after(1))
    assert tracker.snapshot(after(2)).logs[1].lost_bytes == 7
    tracker.feed(Source.JOB, b"no newline", after(3))
    assert tracker.flush(Source.JOB, after(3))[0].text == "no newline"


def test_lines_that_nobody_understands_are_counted_by_shape() -> None:
    tracker = Tracker(PLAN)
    for number in range(30):
        tracker.feed(Source.JOB, f"  wibble {number} of the wobble {number}\n".encode(), after(number))
    assert tracker.unparsed(Source.JOB) == (("wibble # of the wobble #", 30),)
    assert tracker.snapshot(after(40)).logs[1].understood == 0.0


def test_an_unknown_metrics_page_is_told() -> None:
    tracker = Tracker(Plan())
    tracker.metrics_page("# nothing\n", after(0))
    assert tracker.state.server.metrics.missing
    tracker.metrics_page(
        "sglang:num_running_reqs 50.0\nsglang:num_queue_reqs 98.0\nsglang:token_usage 0.82\n", after(1)
    )
    server = tracker.snapshot(after(2)).server
    assert (server.running, server.queue, server.token_usage) == (50, 98, 0.82)
    assert tracker.state.server.metrics.missing == ""


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(-200, 4_000), EVENTS), max_size=20), st.integers(-100, 5_000))
@example([(0, DatasetStarted("A", 0, 1, None, 0)), (0, DatasetFinished("A", 1, 0, None, None, "budget"))], 0)
def test_a_snapshot_never_raises(told: list[tuple[int, Any]], now: int) -> None:
    tracker = Tracker(PLAN)
    for seconds, event in told:
        tracker.note(event, after(seconds))
    taken = tracker.snapshot(after(now))
    assert json.dumps(reading(taken))
    assert line(taken)
    assert text(taken)
    if taken.eta.low is not None and taken.eta.tokens_left:
        assert taken.eta.low >= taken.at


@settings(max_examples=60)
@given(st.sampled_from(Source), st.binary(max_size=400))
def test_any_bytes_are_read(source: Source, data: bytes) -> None:
    tracker = Tracker(PLAN)
    tracker.feed(source, data + b"\n", after(0))
    assert tracker.snapshot(after(1)).verdict.headline


def test_health_shows() -> None:
    tracker = Tracker(PLAN)
    tracker.note(HealthProbe("/health", ok=False, status=503, latency_s=0.2), after(0))
    health = tracker.snapshot(after(5)).health
    assert (health.state, health.status, health.failing_since) == ("failing", 503, after(0))
