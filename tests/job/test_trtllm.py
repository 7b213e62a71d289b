"""TensorRT-LLM's log: a start as its documents and users show it, iteration lines of three ages, and its troubles."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from console.job.events import Source, Unparsed
from console.job.lines import LineSplitter
from console.job.plan import Plan
from console.job.server_events import EngineSeen, ServerCapacity, ServerLoad, ServerPhase, ServerTrouble
from console.job.server_log import ServerLog
from console.job.tracker import Tracker

LOG = Path(__file__).parents[1] / "data" / "logs" / "trtllm-start-iter.log"
SEEN = datetime(2026, 12, 1, tzinfo=UTC)


def events(*lines: str, engine: str = "auto") -> list[object]:
    log = ServerLog(UTC, engine)
    log.look_ahead(lines, SEEN)
    return [stamped.event for line in lines for stamped in log.parse(line, SEEN)]


def test_a_start_and_its_end_are_understood() -> None:
    lines = LineSplitter().feed(LOG.read_bytes())
    told = events(*lines)
    counts = Counter(type(event).__name__ for event in told)
    assert counts["Unparsed"] <= len(lines) * 0.02
    assert [event for event in told if isinstance(event, EngineSeen)] == [EngineSeen("trtllm", "1.1.0", started=True)]
    assert ServerCapacity(425_472, 256, 40_960) in told
    phases = [event.phase for event in told if isinstance(event, ServerPhase)]
    assert list(dict.fromkeys(phases)) == ["weights", "kv_cache", "warmup", "graphs", "http_up", "ready"]
    assert ServerPhase("weights", 0.5) in told
    troubles = [event.kind for event in told if isinstance(event, ServerTrouble)]
    assert troubles == ["watchdog", "engine_dead"]


def test_its_steps_become_reports() -> None:
    loads = [event for event in events(*LineSplitter().feed(LOG.read_bytes())) if isinstance(event, ServerLoad)]
    assert [load.gen_throughput for load in loads] == [None, 96.0, 96.0, 96.0]
    assert [load.token_usage for load in loads] == [0.4, 0.41, 0.42, 0.43]
    assert {(load.rank, load.running, load.queue) for load in loads} == {("", 48, None)}


def test_the_first_cause_of_its_end_is_kept_though_its_first_lines_have_no_time() -> None:
    tracker = Tracker(Plan())
    tracker.feed(Source.SERVER, LOG.read_bytes(), SEEN)
    server = tracker.snapshot(SEEN).server
    assert (server.engine, server.phase) == ("trtllm", "dead")
    assert "Hang detected" in server.trouble


HEAD = "[11/30/2026-04:22:{:02}] [TRT-LLM] [I] "
STATES = "states = {{'num_ctx_requests': 0, 'num_ctx_tokens': 0, 'num_generation_tokens': {}}}"
OLD = (
    "iter = {i}, global_rank = {r}, rank = {r}, currank_total_requests = 0/8, elapsed_time = 0.5s, "
    "timestamp = 2026-11-30 04:22:00, num_scheduled_requests: 8, "
)
NEW = "[_torch][RANK {r}] iter = {i}, global_rank = {r}, rank = {r}, num_scheduled_requests = 8, kv_cache_util = N/A, "


@pytest.mark.parametrize("shape", [OLD, NEW])
def test_steps_of_other_versions_and_of_other_ranks(shape: str) -> None:
    lines = [
        HEAD.format(second) + shape.format(i=second, r=rank) + STATES.format(16)
        for second in range(12)
        for rank in (0, 1)
    ]
    loads = [event for event in events(*lines) if isinstance(event, ServerLoad)]
    assert loads == [ServerLoad("", 8, None, None, None, rate) for rate in (None, 16.0, 16.0)]


def test_idle_time_lowers_no_figure() -> None:
    seconds = (0, 5, 50, 55)
    lines = [HEAD.format(s) + NEW.format(i=s, r=0) + STATES.format(100) for s in seconds]
    assert [event.gen_throughput for event in events(*lines) if isinstance(event, ServerLoad)] == [None, 20, None, 20]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("[11/30/2026-04:22:31] [TRT-LLM] [E] Failed to initialize executor on rank 0: CUDA out of memory.", "oom"),
        ("[TensorRT-LLM][ERROR] [executor][RANK 0] Failed to initialize executor", "start_failed"),
        ("[TRT-LLM] [E] Executor creation failed due to insufficient GPU memory.", "oom"),
        ("[11/30/2026-04:22:31] [TRT-LLM] [RANK 1] [E] Error in event loop: boom", "engine_dead"),
        (
            "trt-1  | [11/30/2026-04:22:31] [TRT-LLM] [E] Hang detected on rank 3 in PyExecutor; hard-killing",
            "watchdog",
        ),
    ],
)
def test_troubles(line: str, kind: str) -> None:
    assert [event.kind for event in events(line) if isinstance(event, ServerTrouble)] == [kind]


def test_a_changed_step_line_shows_as_such() -> None:
    told = events("[11/30/2026-04:22:31] [TRT-LLM] [I] iter = 7, requests = 8", engine="trtllm")
    assert [type(event) for event in told] == [Unparsed]
