"""llama.cpp's log: a recorded run, builds of other years, and times that are counted from the start."""

from __future__ import annotations

import itertools
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.job.elapsed_clock import ElapsedClock
from console.job.events import Source, Stamped, Unparsed
from console.job.levels import level_of
from console.job.lines import LineSplitter
from console.job.llamacpp_log import elapsed_of, head_of
from console.job.plan import Plan
from console.job.server_events import EngineSeen, ServerCapacity, ServerLoad, ServerPhase, ServerTrouble
from console.job.server_log import ServerLog
from console.job.tracker import Tracker

LOG = Path(__file__).parents[1] / "data" / "logs" / "llamacpp-load-sigterm.log"
SEEN = datetime(2026, 12, 1, tzinfo=UTC)


def read(*lines: str, engine: str = "auto", seen: datetime = SEEN) -> list[Stamped]:
    log = ServerLog(UTC, engine)
    log.look_ahead(lines, seen)
    return [stamped for line in lines for stamped in log.parse(line, seen)]


def recorded() -> list[Stamped]:
    return read(*LineSplitter().feed(LOG.read_bytes()))


def test_a_recorded_run_is_understood() -> None:
    events = recorded()
    counts = Counter(type(stamped.event).__name__ for stamped in events)
    assert counts["Unparsed"] == 0
    assert counts["ServerStopping"] == 1
    assert next(s.event for s in events if isinstance(s.event, EngineSeen)) == EngineSeen("llamacpp", started=True)
    assert next(s.event for s in events if isinstance(s.event, ServerCapacity)) == ServerCapacity(8192, 4, 2048)
    assert ServerPhase("ready") in [stamped.event for stamped in events]
    assert not any(isinstance(stamped.event, ServerTrouble) for stamped in events)  # a request too long is the job's


def test_a_recorded_runs_throughput_is_what_its_clients_got() -> None:
    # 60,000 tokens in 25.7 s by the clients' count; the first report has a start-up in it.
    figures = [s.event.gen_throughput for s in recorded() if isinstance(s.event, ServerLoad) and s.event.gen_throughput]
    assert figures[0] == pytest.approx(60_000 / 25.7, rel=0.1)


def test_times_keep_their_order_and_end_when_they_were_seen() -> None:
    times = [stamped.at for stamped in recorded()]
    assert all(one <= other for one, other in itertools.pairwise(times))
    assert SEEN - timedelta(seconds=2) < times[-1] <= SEEN
    assert times[0] < SEEN - timedelta(seconds=70)


def test_the_whole_server_on_the_screen() -> None:
    tracker = Tracker(Plan())
    tracker.feed(Source.SERVER, b"".join(LOG.read_bytes().splitlines(keepends=True)[:420]), SEEN)
    tracker.metrics_page("llamacpp:requests_processing 4\nllamacpp:requests_deferred 116\n", SEEN)
    server = tracker.snapshot(SEEN).server
    assert (server.engine, server.phase, server.running, server.queue) == ("llamacpp", "ready", 4, 116)
    assert tracker.snapshot(SEEN).logs[0].understood == 1.0


def test_a_backlog_that_comes_in_pieces_ends_in_the_same_state() -> None:
    data = b"".join(LOG.read_bytes().splitlines(keepends=True)[:-40])
    whole, pieces = Tracker(Plan()), Tracker(Plan())
    whole.feed(Source.SERVER, data, SEEN)
    for start in range(0, len(data), 8_192):
        pieces.feed(Source.SERVER, data[start : start + 8_192], SEEN)
    one, other = whole.snapshot(SEEN).server, pieces.snapshot(SEEN).server
    assert (one.phase, one.running, one.gen_throughput) == (other.phase, other.running, other.gen_throughput)
    assert one.gen_throughput is not None


def test_a_build_without_times_and_levels() -> None:
    told = read(
        "build: 4589 (eb7cf15a) with cc (Ubuntu 11.4.0) 11.4.0 for x86_64-linux-gnu",
        "system_info: n_threads = 8 (n_threads_batch = 8) / 16 | CPU : SSE3 = 1 |",
        "main: loading model",
        "llama_model_loader: - type  f32:  161 tensors",
        "...........................",
        "main: model loaded",
        "main: server is listening on http://127.0.0.1:8080 - starting the main loop",
        "slot launch_slot_: id  0 | task 0 | processing task",
        "slot      release: id  0 | task 0 | stop processing: n_past = 742, truncated = 0",
        "slot print_timing: id  0 | task 0 | ",
        "prompt eval time =     990.30 ms /    33 tokens (   30.01 ms per token,    33.32 tokens per second)",
        "       eval time =   19521.92 ms /   710 tokens (   27.50 ms per token,    36.37 tokens per second)",
        "      total time =   20512.22 ms /   743 tokens",
        "srv  update_slots: all slots are idle",
        "srv  log_server_r: request: POST /v1/chat/completions 127.0.0.1 200",
    )
    assert [stamped.event for stamped in told] == [
        EngineSeen("llamacpp", "b4589", started=True),
        ServerPhase("weights"),
        ServerPhase("weights", 0.0),
        ServerPhase("weights", 1.0),
        ServerPhase("ready"),
        ServerLoad("", 1, None, None, None, None),
        ServerLoad("", 0, None, None, None, None),
    ]


def at(second: float, text: str) -> str:
    return f"{int(second // 60)}.{int(second % 60):02}.{int(second * 1000 % 1000):03}.000 I {text}"


def test_a_long_request_shows_its_rate_as_it_goes_on() -> None:
    lines = [at(1, "slot launch_slot_: id  0 | task 5 | processing task, is_child = 0")]
    lines += [
        at(1 + 3 * step, f"slot print_timing: id  0 | task 5 | n_gen = {150 * step}, tg = 50.00 t/s, tg_3s = 49.80 t/s")
        for step in range(1, 9)
    ]
    loads = [stamped.event for stamped in read(*lines) if isinstance(stamped.event, ServerLoad)]
    assert [load.gen_throughput for load in loads] == [None, 50.0, 50.0]


def test_a_new_process_that_does_not_say_so_is_known_by_its_times() -> None:
    launched, going = "slot launch_slot_: id  0 | task 5 | processing task", "n_gen = 110, tg = 10.00 t/s"
    lines = [at(500, launched), at(1, launched), at(12, f"slot print_timing: id  0 | task 5 | {going}")]
    loads = [stamped.event for stamped in read(*lines) if isinstance(stamped.event, ServerLoad)]
    assert [load.gen_throughput for load in loads] == [None, None, 10.0]


def test_a_long_request_that_is_counted_at_its_end_is_no_lump() -> None:
    lines = [at(1, f"slot launch_slot_: id  {slot} | task {slot} | processing task") for slot in range(2)]
    lines.append(
        at(
            101,
            "slot print_timing: id  0 | task 0 |        eval time =   99000.00 ms /  4950 tokens (  20.0 ms per token)",
        )
    )
    lines.append(at(101, "slot      release: id  0 | task 0 | stop processing: n_tokens = 5000, truncated = 0"))
    loads = [stamped.event for stamped in read(*lines) if isinstance(stamped.event, ServerLoad)]
    assert loads[-1].gen_throughput == 50.0
    assert loads[-1].running == 2


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (at(2, "srv    load_model: failed to load model, '/srv/llm/big.gguf'"), "start_failed"),
        (at(2, "cmn  alloc_buffer: allocating 9216.00 MiB on device 0: cudaMalloc failed: out of memory"), "oom"),
        (at(2, "srv  /src/ggml.c:1714: GGML_ASSERT(ctx->mem_buffer != NULL) failed"), "crash"),
    ],
)
def test_troubles(line: str, kind: str) -> None:
    (trouble,) = [stamped.event for stamped in read(line) if isinstance(stamped.event, ServerTrouble)]
    assert (trouble.kind, trouble.fatal) == (kind, True)


def test_a_collectors_stamp_counts_where_there_is_one() -> None:
    line = "2026-05-17T10:44:45.483Z 0.21.162.949 I srv  llama_server: listening on http://0.0.0.0:8000"
    told = read(line)
    assert {(stamped.at, stamped.guessed) for stamped in told} == {
        (datetime(2026, 5, 17, 10, 44, 45, 483_000, tzinfo=UTC), False)
    }
    assert ServerPhase("ready") in [stamped.event for stamped in told]


def test_a_changed_timing_line_shows_as_such() -> None:
    (stamped,) = read(at(2, "slot print_timing: id  2 | task 22 | pace: 12 per s"))
    assert isinstance(stamped.event, Unparsed)


def test_its_own_levels_colour_a_pane() -> None:
    assert level_of("0.09.928.656 E srv    send_error: task id = 19, error: request (5000 tokens) exceeds") == "error"
    assert level_of("0.09.928.656 I srv    load_model: loading model") == "info"
    assert level_of("[11/30/2026-04:22:31] [TRT-LLM] [E] Some words.") == "error"


def test_heads() -> None:
    assert elapsed_of("12.34.354.498 I slot x") == 12 * 60 + 34.354498
    assert elapsed_of("slot x") is None
    head = head_of("[35729] 0.02.354.755 I slot   load_model: id  0 | task -1 | new slot, n_ctx = 98304")
    assert head is not None
    assert (head.elapsed_s, head.text[:4]) == (2.354755, "slot")
    assert head_of("main thread ended") is None


def test_two_processes_in_one_log_lie_one_behind_the_other() -> None:
    clock = ElapsedClock()
    clock.look_ahead([0.0, 100.0, 0.0, 30.0], SEEN)
    times = [(clock.at(s, SEEN) - SEEN).total_seconds() for s in (0.0, 100.0, 0.0, 30.0)]
    assert times == [-130.0, -30.0, -30.0, 0.0]


@given(st.lists(st.floats(0, 1e5), min_size=1, max_size=30), st.integers(0, 29))
def test_no_line_lies_in_the_future(elapsed: list[float], cut: int) -> None:
    clock = ElapsedClock()
    for piece in (elapsed[:cut], elapsed[cut:]):
        clock.look_ahead(piece, SEEN)
        for seconds in piece:
            assert clock.at(seconds, SEEN) <= SEEN


@given(st.lists(st.tuples(st.floats(0.01, 600), st.floats(0, 0.5)), min_size=1, max_size=30))
def test_live_lines_are_dated_to_the_delay_of_the_link(steps: list[tuple[float, float]]) -> None:
    clock, elapsed = ElapsedClock(), 0.0
    for step, delay in steps:
        elapsed += step
        written = SEEN + timedelta(seconds=elapsed)
        seen = written + timedelta(seconds=delay)
        assert timedelta() <= clock.at(elapsed, seen) - written + timedelta(milliseconds=1) <= timedelta(seconds=0.502)
