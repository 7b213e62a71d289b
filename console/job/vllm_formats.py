"""vLLM's line shapes other than its stats line: start, life, trouble and end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.job.figures import NUMBER, count, whole
from console.job.formats import Format, always, quiet
from console.job.server_events import EngineSeen, Retraction, ServerCapacity, ServerPhase, ServerStopping
from console.job.server_trouble import COMMON, plain, trouble

if TYPE_CHECKING:
    from console.job.events import Event

_CONTEXT = re.compile(rf"Maximum concurrency for ({NUMBER}) tokens per request")


def _started(found: re.Match[str]) -> tuple[Event, ...]:
    return (EngineSeen("vllm", found["version"], started=True), ServerPhase("weights"))


def _engine(found: re.Match[str]) -> tuple[Event, ...]:
    return (EngineSeen("vllm", found["version"]),)


def _capacity(found: re.Match[str]) -> tuple[Event, ...]:
    context = _CONTEXT.search(found.string)
    tokens = count(found["tokens"])
    return (ServerPhase("kv_cache"), ServerCapacity(tokens, None, whole(context[1]) if context else None))


def _preempted(found: re.Match[str]) -> tuple[Event, ...]:
    return (Retraction("", count(found["total"])),)


def _stopping(found: re.Match[str]) -> tuple[Event, ...]:
    return (ServerStopping(found.string.strip()[:200]),)


PREEMPTION = Format(
    "preemption",
    "total_num_cumulative_preemption=",
    re.compile(rf"total_num_cumulative_preemption=(?P<total>{NUMBER})"),
    _preempted,
    ("Sequence group 412 is preempted by PreemptionMode.RECOMPUTE mode. total_num_cumulative_preemption=51",),
)

_LIFE = (
    Format(
        "start",
        "vLLM API server version ",
        re.compile(r"vLLM API server version (?P<version>[0-9][\w.+-]*)"),
        _started,
        ("vLLM API server version 0.14.1",),
    ),
    Format(
        "banner",
        " version ",
        re.compile(r"[\u2580-\u259f].{0,80} version (?P<version>[0-9][\w.+-]*)\s*$"),
        _started,
        (" ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.32.0",),
    ),
    Format(
        "engine",
        "LLM engine (v",
        re.compile(r"Initializing an? (?:V[01] )?LLM engine \(v(?P<version>[\w.+-]+)\) with config"),
        _engine,
        ("Initializing a V1 LLM engine (v0.14.1) with config: model='/srv/llm/big', speculative_config=None",),
    ),
    Format(
        "weights begin",
        "Starting to load model",
        plain("Starting to load model"),
        always(ServerPhase("weights", 0.0)),
        ("Starting to load model /srv/llm/big...",),
    ),
    Format(
        "weights end",
        " took ",
        re.compile(r"^(?:Loading weights|Model loading) took [0-9.]+"),
        always(ServerPhase("weights", 1.0)),
        ("Loading weights took 41.20 seconds", "Model loading took 14.99 GiB memory and 43.1 seconds"),
    ),
    Format(
        "capacity",
        "KV cache size: ",
        re.compile(rf"\bKV cache size: (?P<tokens>{NUMBER}) tokens"),
        _capacity,
        (
            "GPU KV cache size: 425,424 tokens",
            "CPU KV cache size: 10,240 tokens, Maximum concurrency for 4,096 tokens per request: 2.50x",
        ),
    ),
    Format(
        "kv cache",
        "",
        re.compile(r"^(?:Available KV cache memory:|# (?:GPU|CUDA|CPU) blocks:)"),
        always(ServerPhase("kv_cache")),
        ("Available KV cache memory: 52.10 GiB", "# GPU blocks: 27480, # CPU blocks: 2048"),
    ),
    Format(
        "compiling",
        "",
        re.compile(
            r"^(?:Warming up model for the compilation|Dynamo bytecode transform|Start(?:ing)? to capture|Capturing)"
        ),
        always(ServerPhase("graphs")),
        ("Warming up model for the compilation...",),
    ),
    Format(
        "graphs end",
        "Graph capturing finished",
        plain("Graph capturing finished"),
        always(ServerPhase("graphs", 1.0)),
        ("Graph capturing finished in 21 secs, took 0.51 GiB",),
    ),
    Format(
        "warm-up",
        "init engine (profile",
        plain("init engine (profile"),
        always(ServerPhase("warmup")),
        ("init engine (profile, create kv cache, warmup model) took 30.63 s",),
    ),
    Format(
        "http up",
        "Starting vLLM ",
        re.compile(r"^Starting vLLM (?:API )?server\b.* on http"),
        always(ServerPhase("http_up")),
        ("Starting vLLM API server 0 on http://0.0.0.0:8000", "Starting vLLM server on http://127.0.0.1:8000"),
    ),
    Format(
        "ready",
        "Application startup complete",
        plain("Application startup complete"),
        always(ServerPhase("ready")),
        ("INFO:     Application startup complete.",),
    ),
    Format(
        "stopping",
        "hut",
        re.compile(
            r"^(?:\[shutdown\] API server: shutdown triggered|Shutting down FastAPI HTTP server"
            r"|(?:INFO: +)?Shutting down\s*$)"
        ),
        _stopping,
        ("[shutdown] API server: shutdown triggered", "Shutting down FastAPI HTTP server.", "INFO:     Shutting down"),
    ),
)

_TROUBLE = (
    Format(
        "stall",
        "No available shared memory broadcast block",
        plain("No available shared memory broadcast block"),
        trouble("watchdog", fatal=False),
        ("No available shared memory broadcast block found in 60 seconds. This typically happens",),
    ),
    Format(
        "timed out",
        " timed out.",
        re.compile(r"Engine iteration timed out\.|RPC call to \S+ timed out\."),
        trouble("watchdog", fatal=True),
        (
            "Engine iteration timed out. This should never happen!",
            "TimeoutError: RPC call to execute_model timed out.",
        ),
    ),
    Format(
        "start failed",
        "ngine",
        re.compile(r"EngineCore failed to start\.|Engine core initialization failed|Engine process failed to start"),
        trouble("start_failed", fatal=True),
        (
            "EngineCore failed to start.",
            "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
        ),
    ),
    Format(
        "engine dead",
        "",
        re.compile(
            r"^EngineCore encountered a fatal error|^AsyncLLM output_handler failed|\b(?:Async)?EngineDeadError\b"
            r"|^(?:Engine core|Worker) proc .{1,80} died unexpectedly|^WorkerProc hit an exception"
            r"|^Engine background task failed"
        ),
        trouble("engine_dead", fatal=True),
        (
            "EngineCore encountered a fatal error.",
            "AsyncLLM output_handler failed.",
            "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above).",
            "Engine core proc EngineCore_DP0 died unexpectedly, shutting down client.",
            "Worker proc VllmWorker-0 died unexpectedly, shutting down executor.",
            "WorkerProc hit an exception.",
            "Engine background task failed",
        ),
    ),
)

_CHATTER = Format(
    "chatter",
    "",
    re.compile(
        r"^(?:(?:INFO|WARNING|ERROR): {2,}|SpecDecoding metrics: |Prefix cache hit rate: |KV Transfer metrics: "
        r"|Engine [0-9]+: (?:vllm cache_config_info|Iteration\())"
    ),
    quiet,
    (
        "INFO:     Started server process [812]",
        "SpecDecoding metrics: Mean acceptance length: 2.31, Accepted throughput: 20.10 tokens/s",
        "Engine 000: vllm cache_config_info with initialization after num_gpu_blocks is: 26589",
        "Prefix cache hit rate: GPU: 12.10%, CPU: 0.00%",
    ),
)

FORMATS = (*_LIFE, *_TROUBLE, *COMMON, _CHATTER)
"""Tried in order behind the stats line and V0's preemptions."""
