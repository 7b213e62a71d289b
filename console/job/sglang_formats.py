"""SGLang's line shapes other than its batch lines: start, life and end; then trouble and chatter, each in its file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.job.figures import NUMBER, count, whole
from console.job.formats import QUIET, Format, always
from console.job.server_events import EngineSeen, Retraction, ServerCapacity, ServerPhase, ServerStopping
from console.job.server_trouble import COMMON, plain
from console.job.sglang_chatter import CHATTER
from console.job.sglang_trouble import TROUBLE

if TYPE_CHECKING:
    from console.job.events import Event

_VERSION = re.compile(r"\bversion='([^']{1,40})'")
_SETTING = re.compile(rf"\b([a-z_]+)=({NUMBER})\b")


def _started(found: re.Match[str]) -> tuple[Event, ...]:
    version = _VERSION.search(found.string)
    return (EngineSeen("sglang", version[1] if version else "", started=True), ServerPhase("weights"))


def _capacity(found: re.Match[str]) -> tuple[Event, ...]:
    said = dict(_SETTING.findall(found.string))
    limits = whole(said.get("max_running_requests")), whole(said.get("context_len"))
    return (ServerCapacity(count(found["tokens"]), *limits),)


def _graphs(found: re.Match[str]) -> tuple[Event, ...]:
    return (ServerPhase("graphs", 1.0 if found["edge"] == "end" else 0.0),)


def _retracted(found: re.Match[str]) -> tuple[Event, ...]:
    return QUIET if "Testing retraction" in found.string else (Retraction("", count(found["count"])),)


def _stopping(found: re.Match[str]) -> tuple[Event, ...]:
    return (ServerStopping(found.string.strip()[:200]), ServerPhase("draining"))


RETRACTION = Format(
    "retraction",
    "#retracted_reqs: ",
    re.compile(rf"#retracted_reqs: (?P<count>{NUMBER})"),
    _retracted,
    (
        "Decode out of memory happened. #retracted_reqs: 3, #new_token_ratio: 0.4012 -> 0.7021",
        "KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio: 0.6 -> 0.7",
        "KV cache pool is full. Retract requests. #retracted_reqs: 2, #aborted_retracted_reqs: 0, #new_t",
        "KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_tokens_gained: 4096, #new_token_ratio",
    ),
)
"""The wording changed with versions, the figure's name did not. ``out of memory`` in it is not the device's."""

_LIFE = (
    Format(
        "start",
        "server_args=",
        re.compile(r"^server_args=[A-Za-z{(]"),
        _started,
        (
            "server_args=ServerArgs(model_path='/srv/llm/big', tp_size=8)",
            "server_args={'model_path': '/srv/m'}",
        ),
    ),
    Format(
        "weights begin",
        "Load weight begin",
        plain("Load weight begin"),
        always(ServerPhase("weights", 0.0)),
        ("Load weight begin. avail mem=78.60 GB",),
    ),
    Format(
        "weights end",
        "Load weight end",
        plain("Load weight end"),
        always(ServerPhase("weights", 1.0)),
        (
            "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=60.10 GB, mem usage=18.50 GB.",
            "Load weight end. elapsed=0.03 s, type=LlamaForCausalLM, avail mem=20.56 GB, mem usage=0.01 GB.",
        ),
    ),
    Format(
        "kv cache",
        " is allocated.",
        re.compile(r"^(?:KV|Mamba|SWA|[A-Z][\w ]*) ?Cache is allocated\."),
        always(ServerPhase("kv_cache")),
        (
            "KV Cache is allocated. #tokens: 140288, K size: 8.56 GB, V size: 8.56 GB",
            "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 140288, KV size: 17.12 GB",
            "Mamba Cache is allocated. max_mamba_cache_size: 512, conv_state size: 0.31GB",
        ),
    ),
    Format(
        "graphs",
        "graph ",
        re.compile(r"^Capture .{0,60}graph (?P<edge>begin|end)\b", re.IGNORECASE),
        _graphs,
        (
            "Capture cuda graph begin. This can take up to several minutes. avail mem=9.87 GB",
            "Capture cuda graph end. Time elapsed: 21.40 s. mem usage=1.20 GB. avail mem=8.67 GB.",
            "Capture decode CUDA graph begin. backend=full, avail mem=9.87 GB",
            "Capture draft cuda graph end. Time elapsed: 4.10 s.",
        ),
    ),
    Format(
        "capacity",
        "max_total_num_tokens=",
        re.compile(rf"\bmax_total_num_tokens=(?P<tokens>{NUMBER}).*\bmax_prefill_tokens="),
        _capacity,
        (
            "max_total_num_tokens=140288, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=20",
            "max_total_num_tokens=140288, max_prefill_tokens=16384, max_running_requests=2048, context_len=40960",
        ),
    ),
    Format(
        "http up",
        "Application startup complete",
        plain("Application startup complete"),
        always(ServerPhase("http_up")),
        ("INFO:     Application startup complete.",),
    ),
    Format(
        "warm-up",
        "disaggregation warmup",
        re.compile(r"^Start of pd disaggregation warmup"),
        always(ServerPhase("warmup")),
        ("Start of pd disaggregation warmup ...",),
    ),
    Format(
        "ready",
        "fired up and ready to roll",
        plain("The server is fired up and ready to roll"),
        always(ServerPhase("ready")),
        ("The server is fired up and ready to roll!",),
    ),
    Format(
        "sigterm",
        "SIGTERM",
        re.compile(r"\bSIGTERM received\b"),
        _stopping,
        (
            "SIGTERM received. signum=None frame=None. Draining requests and shutting down...",
            "Signal SIGTERM received while health check failed. Force exiting.",
        ),
    ),
    Format(
        "draining",
        "Gracefully exiting",
        re.compile(r"^Gracefully exiting\.\.\."),
        always(ServerPhase("draining")),
        ("Gracefully exiting... Remaining number of requests 41. Remaining requests remaining_rids=['a', 'b'].",),
    ),
    Format(
        "http down",
        "INFO:     Shutting down",
        plain("INFO:     Shutting down"),
        always(ServerStopping("Shutting down")),
        ("INFO:     Shutting down",),
    ),
)

FORMATS = (*_LIFE, *TROUBLE, *COMMON, CHATTER)
"""Tried in order behind the batch lines and the retractions."""
UNSTAMPED = (*TROUBLE, *COMMON)
"""What counts in a line without a stamp as well: the rest of those are tracebacks and warnings of libraries."""
