"""TensorRT-LLM's line shapes besides its iteration lines: start, capacity, trouble and end.

Python parts print ``[12/20/2025-04:21:10] [TRT-LLM] [I] ...``; between level and message may stand a module and a rank
(``[_torch][RANK 0]``). C++ parts print ``[TensorRT-LLM][INFO] ...`` without a time. ``trtllm-serve`` adds uvicorn's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.job.figures import count
from console.job.formats import Format, always, quiet
from console.job.server_events import EngineSeen, ServerCapacity, ServerPhase, ServerStopping
from console.job.server_trouble import COMMON, plain, trouble

if TYPE_CHECKING:
    from console.job.events import Event


def _started(found: re.Match[str]) -> tuple[Event, ...]:
    return (EngineSeen("trtllm", found["version"], started=True), ServerPhase("weights"))


def _capacity(found: re.Match[str]) -> tuple[Event, ...]:
    return (ServerPhase("kv_cache"), ServerCapacity(count(found["tokens"])))


def _limits(found: re.Match[str]) -> tuple[Event, ...]:
    """Tokens are told on a line before; the reader puts both together."""
    return (ServerCapacity(0, count(found["running"]), count(found["context"])),)


def _stopping(found: re.Match[str]) -> tuple[Event, ...]:
    return (ServerStopping(found.string.strip()[:200]),)


_LIFE = (
    Format(
        "start",
        "TensorRT-LLM version: ",
        re.compile(r"TensorRT-LLM version: (?P<version>[0-9][\w.+-]*)"),
        _started,
        ("[TensorRT-LLM] TensorRT-LLM version: 1.1.0rc3",),
    ),
    Format(
        "weights end",
        " for model weights",
        re.compile(r"^Use [0-9.]+ GB for model weights"),
        always(ServerPhase("weights")),
        ("Use 63.32 GB for model weights.",),
    ),
    Format(
        "capacity",
        " for max tokens in paged KV cache (",
        re.compile(r"for max tokens in paged KV cache \((?P<tokens>[0-9]{1,15})\)"),
        _capacity,
        ("[MemUsageChange] Allocated 5.95 GiB for max tokens in paged KV cache (86720).",),
    ),
    Format(
        "limits",
        "max_seq_len=",
        re.compile(r"^max_seq_len=(?P<context>[0-9]{1,12}), max_num_requests=(?P<running>[0-9]{1,9}), "),
        _limits,
        ("max_seq_len=86720, max_num_requests=64, max_num_tokens=8192, max_batch_size=64",),
    ),
    Format(
        "graphs",
        "CUDA graph",
        re.compile(r"^(?:Creating CUDA graph instances for|Run generation only CUDA graph warmup)"),
        always(ServerPhase("graphs")),
        (
            "Creating CUDA graph instances for 11 batch sizes.",
            "Run generation only CUDA graph warmup for batch size=64, draft_len=0",
        ),
    ),
    Format(
        "warm-up",
        "Autotuning process",
        re.compile(r"Autotuning process starts"),
        always(ServerPhase("warmup")),
        ("Autotuning process starts ...",),
    ),
    Format(
        "http up",
        "Started server process",
        plain("Started server process"),
        always(ServerPhase("http_up")),
        ("INFO:     Started server process [41]",),
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
        re.compile(r"^INFO: +Shutting down\s*$"),
        _stopping,
        ("INFO:     Shutting down",),
    ),
)

_TROUBLE = (
    Format(
        "hang",
        "Hang detected on rank",
        plain("Hang detected on rank"),
        trouble("watchdog", fatal=True),
        ("Hang detected on rank 0 in PyExecutor.",),
    ),
    Format(
        "memory",
        "insufficient GPU memory",
        plain("insufficient GPU memory"),
        trouble("oom", fatal=True),
        ("Executor creation failed due to insufficient GPU memory.",),
    ),
    *COMMON,
    Format(
        "start failed",
        "ailed to ",
        re.compile(r"Failed to initialize executor|Failed to parse the arguments for the LLM constructor"),
        trouble("start_failed", fatal=True),
        (
            "Failed to initialize executor on rank 0: The checkpoint you are trying to load has model type `x`",
            "Failed to parse the arguments for the LLM constructor: 1 validation error for TrtLlmArgs",
        ),
    ),
    Format(
        "event loop",
        "",
        re.compile(r"Error in event loop|Executor worker (?:returned error|died)"),
        trouble("engine_dead", fatal=True),
        ("Error in event loop: CUDA error 700", "RuntimeError: Executor worker returned error"),
    ),
)

_CHATTER = Format(
    "chatter",
    "",
    re.compile(r"^(?:INFO|WARNING|ERROR): {2,}"),
    quiet,
    ("INFO:     Waiting for application startup.",),
)

FORMATS = (*_LIFE, *_TROUBLE, _CHATTER)
