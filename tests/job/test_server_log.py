"""The server's log as a whole: its life, its troubles, and recorded logs."""

from __future__ import annotations

import itertools
from collections import Counter
from datetime import UTC, timedelta
from pathlib import Path

import pytest

from console.job.events import Stamped, Unparsed
from console.job.lines import LineSplitter
from console.job.server_events import (
    EngineSeen,
    ServerCapacity,
    ServerPhase,
    ServerStopping,
    ServerTrouble,
)
from console.job.server_log import ServerLog
from tests.job.server_lines import SEEN, parse, sg, vl

LOGS = Path(__file__).parents[1] / "data" / "logs"


def test_a_start_from_weights_to_ready() -> None:
    events = parse(
        sg(0, "server_args=ServerArgs(model_path='/srv/llm/big', tp_size=8)"),
        sg(1, "Load weight begin. avail mem=78.60 GB", "TP0"),
        "Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:03<00:09,  3.02s/it]",
        sg(9, "Load weight end. type=LlamaForCausalLM, avail mem=60.10 GB", "TP0"),
        sg(
            9,
            "max_total_num_tokens=140288, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=40960",
        ),
        sg(10, "INFO:     Application startup complete."),
        sg(11, "The server is fired up and ready to roll!"),
    )
    assert events == [
        EngineSeen("sglang", "", started=True),
        ServerPhase("weights"),
        ServerPhase("weights", 0.0),
        ServerPhase("weights", 0.25),
        ServerPhase("weights", 1.0),
        ServerCapacity(140288, 2048, 40960),
        ServerPhase("http_up"),
        ServerPhase("ready"),
    ]


@pytest.mark.parametrize(
    ("line", "kind", "fatal"),
    [
        (sg(1, "Scheduler hit an exception: Traceback (most recent call last):", "TP3"), "crash", True),
        (sg(1, "Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)"), "watchdog", True),
        (sg(1, "Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=True)"), "watchdog", False),
        (sg(1, "Watchdog timeout (self.watchdog_timeout=300)"), "watchdog", True),
        (sg(1, "SIGQUIT received. signum=None, frame=None. It usually means one child failed."), "sigquit", True),
        (
            sg(1, "Subprocess scheduler_0 (pid=9) crashed with exit code -9. Triggering SIGQUIT for cleanup..."),
            "crash",
            True,
        ),
        (sg(1, "Initialization failed. warmup error: Traceback (most recent call last):"), "start_failed", True),
        (sg(1, "Health check failed. Server couldn't get a response from detokenizer"), "health", False),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB.", "oom", True),
        ("RuntimeError: Decode out of memory. Try to lower your batch size.", "oom", True),
        (
            "[rank5]:[E1016 03:31:38.918469923 P.cpp:607] [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(",
            "nccl",
            True,
        ),
        ("terminate called after throwing an instance of 'c10::DistBackendError'", "nccl", True),
        (vl(1, "EngineCore encountered a fatal error."), "engine_dead", True),
        (vl(1, "AsyncLLM output_handler failed."), "engine_dead", True),
        (vl(1, "No available shared memory broadcast block found in 60 seconds. This typically"), "watchdog", False),
        (
            "(EngineCore pid=9) RuntimeError: Engine core initialization failed. See root cause above.",
            "start_failed",
            True,
        ),
        ("vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.", "engine_dead", True),
    ],
)
def test_troubles(line: str, kind: str, fatal: bool) -> None:
    log = ServerLog(UTC)
    if "rank5" in line or line.startswith(("torch", "RuntimeError", "terminate")):
        parse(sg(0, "Load weight begin. x"), log=log)
    (event,) = parse(line, log=log)
    assert isinstance(event, ServerTrouble)
    assert (event.kind, event.fatal) == (kind, fatal)


def test_alarming_lines_that_mean_no_harm() -> None:
    assert not [
        event
        for event in parse(
            sg(1, "The following error message 'operation scheduled before its operands' can be ignored."),
            sg(2, "Decode out of memory happened. #retracted_reqs: 1, #new_token_ratio: 0.4 -> 0.7"),
            sg(3, "Request is disconnected from the client side (type 1). Abort request obj.rid='a'"),
        )
        if isinstance(event, ServerTrouble)
    ]


def test_sigterm_drains() -> None:
    events = parse(sg(1, "SIGTERM received. signum=None frame=None. Draining requests and shutting down..."))
    assert [type(event) for event in events] == [ServerStopping, ServerPhase]


def test_a_body_of_a_traceback_is_quiet_and_garbage_is_not() -> None:
    log = ServerLog(UTC)
    crash = sg(1, "Scheduler hit an exception: Traceback (most recent call last):")
    body = ['  File "/srv/x.py", line 3, in run', "    raise ValueError", "ValueError: x", "any text of the message"]
    assert [type(event) for event in parse(crash, *body, log=log)] == [ServerTrouble]
    assert parse('level=info msg="routes loaded" count=12') == [Unparsed('level=info msg="routes loaded" count=12')]


def replay(name: str) -> tuple[list[Stamped], int]:
    lines = LineSplitter().feed((LOGS / name).read_bytes())
    log = ServerLog(UTC)
    return [stamped for line in lines for stamped in log.parse(line, SEEN)], len(lines)


@pytest.mark.parametrize(
    ("name", "engine", "counts"),
    [
        ("sglang-dp2.log", "sglang", {"ServerLoad": 10, "ServerPrefill": 10, "ServerCapacity": 2, "ServerStopping": 2}),
        (
            "sglang-load-hang-crash.log",
            "sglang",
            {"ServerLoad": 33, "ServerPrefill": 19, "ServerTrouble": 9, "ServerCapacity": 1},
        ),
        ("vllm-dp2.log", "vllm", {"ServerLoad": 14, "ServerCapacity": 2, "ServerTrouble": 2, "ServerStopping": 1}),
        ("vllm-engine-killed.log", "vllm", {"ServerCapacity": 1, "ServerTrouble": 2, "ServerStopping": 1}),
        ("vllm-start-failed.log", "vllm", {"ServerTrouble": 3}),
        ("vllm-sigterm.log", "vllm", {"ServerLoad": 4, "ServerCapacity": 1, "ServerStopping": 2}),
    ],
)
def test_recorded_logs_are_understood(name: str, engine: str, counts: dict[str, int]) -> None:
    events, lines = replay(name)
    found = Counter(type(stamped.event).__name__ for stamped in events)
    unknown = found.pop("Unparsed", 0)
    assert unknown <= lines * 0.02
    assert {stamped.event.engine for stamped in events if isinstance(stamped.event, EngineSeen)} == {engine}
    assert {key: found.get(key, 0) for key in counts} == counts


@pytest.mark.parametrize("name", ["sglang-dp2.log", "vllm-dp2.log", "vllm-sigterm.log"])
def test_recorded_times_run_on(name: str) -> None:
    events, _ = replay(name)
    times = [stamped.at for stamped in events]
    assert all(later >= earlier - timedelta(seconds=1) for earlier, later in itertools.pairwise(times))


def test_another_programs_log_is_not_understood() -> None:
    events, lines = replay("other-engine.log")
    assert sum(isinstance(stamped.event, Unparsed) for stamped in events) == lines
