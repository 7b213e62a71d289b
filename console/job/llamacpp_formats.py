"""llama.cpp's line shapes that tell of the server's life; what its slots do is read in ``llamacpp_log``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.job.figures import count
from console.job.formats import Format, always, quiet
from console.job.server_events import EngineSeen, ServerCapacity, ServerPhase, ServerStopping
from console.job.server_trouble import COMMON, plain, trouble

if TYPE_CHECKING:
    from console.job.events import Event


def _build(found: re.Match[str]) -> tuple[Event, ...]:
    return (EngineSeen("llamacpp", f"b{found['build']}", started=True), ServerPhase("weights"))


def _capacity(found: re.Match[str]) -> tuple[Event, ...]:
    """The slots share one pool when it is unified; else each has its own."""
    slots, each = count(found["slots"]), count(found["context"])
    shared = found["unified"] == "true"
    return (ServerPhase("kv_cache"), ServerCapacity(each if shared else slots * each, slots, each))


def _stopping(found: re.Match[str]) -> tuple[Event, ...]:
    return (ServerStopping(found.string.strip()[:200]),)


_LIFE = (
    Format(
        "start",
        "llama_server: initializing",
        plain("llama_server: initializing"),
        always(EngineSeen("llamacpp", "", started=True), ServerPhase("weights")),
        ("srv  llama_server: initializing ...",),
    ),
    Format(
        "build",
        "build: ",
        re.compile(r"^build: (?P<build>[0-9]{1,9}) \([0-9a-f]{4,40}\) with "),
        _build,
        ("build: 4589 (eb7cf15a) with cc (Ubuntu 11.4.0) 11.4.0 for x86_64-linux-gnu",),
    ),
    Format(
        "weights begin",
        "loading model",
        re.compile(r"(?:^main|^srv +\w+): loading model\b"),
        always(ServerPhase("weights", 0.0)),
        (
            "srv    load_model: loading model '/srv/llm/tiny.gguf'",
            "main: loading model",
            "srv          main: loading model",
        ),
    ),
    Format(
        "capacity",
        "n_ctx_slot = ",
        re.compile(
            r"initializing, n_slots = (?P<slots>[0-9]{1,6}), n_ctx_slot = (?P<context>[0-9]{1,12})"
            r"(?:, kv_unified = '(?P<unified>true|false)')?"
        ),
        _capacity,
        (
            "srv    load_model: initializing, n_slots = 4, n_ctx_slot = 2048, kv_unified = 'false'",
            "srv    load_model: initializing, n_slots = 4, n_ctx_slot = 8192, kv_unified = 'true'",
        ),
    ),
    Format(
        "weights end",
        "model loaded",
        re.compile(r"(?:^main|^srv +\w+): model loaded"),
        always(ServerPhase("weights", 1.0)),
        ("srv  llama_server: model loaded", "main: model loaded"),
    ),
    Format(
        "ready",
        "listening on ",
        re.compile(r"(?:server is|llama_server:) listening on "),
        always(ServerPhase("ready")),
        (
            "srv  llama_server: listening on http://127.0.0.1:18200",
            "main: server is listening on http://127.0.0.1:8080 - starting the main loop",
        ),
    ),
    Format(
        "stopping",
        "",
        re.compile(r"cleaning up before exit|Received second interrupt, terminating"),
        _stopping,
        (
            "srv    operator(): operator(): cleaning up before exit...",
            "Received second interrupt, terminating immediately.",
        ),
    ),
)

_TROUBLE = (
    Format(
        "start failed",
        "",
        re.compile(
            r"failed to load model|exiting due to model loading error|couldn't bind (?:to server|HTTP server) socket"
        ),
        trouble("start_failed", fatal=True),
        (
            "srv    load_model: failed to load model, '/srv/llm/big.gguf'",
            "main: exiting due to model loading error",
            "srv         start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 8080",
        ),
    ),
    Format(
        "out of memory",
        "out of memory",
        re.compile(r"cudaMalloc failed: out of memory"),
        trouble("oom", fatal=True),
        ("alloc_buffer: allocating 9216.00 MiB on device 0: cudaMalloc failed: out of memory",),
    ),
    Format(
        "assertion",
        "",
        re.compile(r"GGML_ASSERT\(.* failed|^CUDA error: (?!out of memory)"),
        trouble("crash", fatal=True),
        (
            "/src/ggml/src/ggml.c:1714: GGML_ASSERT(ctx->mem_buffer != NULL) failed",
            "CUDA error: an illegal memory access was encountered",
        ),
    ),
)

_CHATTER = Format(
    "chatter",
    "",
    re.compile(
        r"^(?:(?:srv|slot|que|cmn|init|main|sched) +(?:\w+|operator\(\)|~\w+): "
        r"|(?:main|system_info|print_info|device_info|build_info|sched_reserve|find_slot"
        r"|(?:llama|ggml|load|common|clip|llm|set|graph|gguf)_\w+|~?llama\w*)\b[^:]{0,40}:"
        r"|Available devices:| *- |\.+$|\s*(?:prompt eval|eval|total) time = |<)"
    ),
    quiet,
    (
        "srv  llama_server: security: no API key is set and CORS allows all origins",
        "cmn          init: llama threadpool init, n_threads = 1",
        "llama_model_loader: - type  f32:  161 tensors",
        "srv    send_error: task id = 19, error: request (5000 tokens) exceeds the available context size",
        "srv          stop: cancel task, id_task = 19",
        "system_info: n_threads = 8 (n_threads_batch = 8) / 16 | CPU : SSE3 = 1 |",
    ),
)
"""What its functions say besides, in a log that is known to be llama.cpp's. A request that fails is told by the job."""

FORMATS = (*_LIFE, *_TROUBLE, *COMMON, _CHATTER)
