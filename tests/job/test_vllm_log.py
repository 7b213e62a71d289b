"""vLLM's lines of many versions: the stats line, start, stop."""

from __future__ import annotations

from datetime import UTC

import pytest

from console.job.events import Unparsed
from console.job.lines import LineSplitter
from console.job.server_events import (
    EngineSeen,
    Retraction,
    ServerCapacity,
    ServerLoad,
    ServerPhase,
    ServerStopping,
)
from console.job.server_log import ServerLog
from tests.job.server_lines import DECODE, SEEN, STATS, loads, parse, sg, vl


@pytest.mark.parametrize(
    ("text", "load"),
    [
        (f"Engine 000: {STATS}", ServerLoad("000", 22, 8, 0.966, None, 313.5, True, cache_hit_rate=0.022)),
        (
            (
                "Engine 003: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 9.5 tokens/s, Running: 22 reqs, Waiting: 8 reqs, "
                "Deferred: 2 reqs, Preemptions: 4, CUDA KV cache usage: 96.6%"
            ),
            ServerLoad("003", 22, 8, 0.966, None, 9.5, True, 4),
        ),
        (
            (
                "Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 41.3 tokens/s, Running: 4 reqs, Swapped: 1 reqs, Pending: 7 reqs, "
                "GPU KV cache usage: 55.5%, CPU KV cache usage: 99.0%."
            ),
            ServerLoad("", 4, 7, 0.555, None, 41.3, True),
        ),
        ("RUNNING: 3 | WAITING: 9", ServerLoad("", 3, 9, None, None, None, True)),
    ],
)
def test_stats_lines_of_many_versions(text: str, load: ServerLoad) -> None:
    assert loads(vl(1, text)) == [load]


def test_the_sum_over_engines_is_not_counted_beside_its_parts() -> None:
    lines = [vl(1, f"Engine 000: {STATS}"), vl(1, f"Engine 001: {STATS}"), vl(1, f"2 Engines Aggregated: {STATS}")]
    assert [load.rank for load in loads(*lines)] == ["000", "001"]
    assert [load.rank for load in loads(lines[2])] == [""]


def test_colours_and_crlf_in_a_file_do_no_harm() -> None:
    raw = f"\x1b[1;36m(APIServer pid=7)\x1b[0;0m INFO 11-30 03:00:01 [loggers.py:335] Engine 000: {STATS}\r\n".encode()
    (line,) = LineSplitter().feed(raw)
    assert loads(line)[0].running == 22


def test_vllm_starts_and_tells_its_size() -> None:
    events = parse(
        vl(0, "vLLM API server version 0.14.1"),
        vl(1, "GPU KV cache size: 425,424 tokens"),
        "(APIServer pid=7) INFO:     Application startup complete.",
    )
    assert events == [
        EngineSeen("vllm", "0.14.1", started=True),
        ServerPhase("weights"),
        ServerPhase("kv_cache"),
        ServerCapacity(425_424),
        ServerPhase("ready"),
    ]


def test_preemptions_of_v0_are_told_by_difference() -> None:
    line = "Sequence group 4 is preempted by PreemptionMode.RECOMPUTE mode. total_num_cumulative_preemption={}"
    assert parse(vl(1, line.format(1)), vl(2, line.format(51))) == [Retraction("", 1), Retraction("", 50)]


def test_an_engine_that_was_told_to_stop_does_not_die() -> None:
    events = parse(vl(1, "[shutdown] API server: shutdown triggered"), vl(2, "AsyncLLM output_handler failed."))
    assert events == [ServerStopping("[shutdown] API server: shutdown triggered")]


def test_lines_beside_the_stats_are_known() -> None:
    assert parse(vl(1, "SpecDecoding metrics: Mean acceptance length: 2.31, Accepted throughput: 20.10 tokens/s")) == []


def test_an_unknown_line_of_the_stats_logger_shows_as_not_understood() -> None:
    assert parse(vl(1, "Engine 000: all is well")) == [Unparsed("[loggers.py:335] Engine 000: all is well")]


def test_the_engine_is_named_once() -> None:
    log = ServerLog(UTC)
    events = [s.event for line in (sg(1, DECODE), sg(5, DECODE)) for s in log.parse(line, SEEN)]
    assert [type(event).__name__ for event in events] == ["EngineSeen", "ServerLoad", "ServerLoad"]
