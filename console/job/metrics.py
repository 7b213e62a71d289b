"""The server's ``/metrics`` page: KV use, queue, throughput, tokens made.

Series of SGLang begin with ``sglang:``, of vLLM with ``vllm:``, of llama.cpp with ``llamacpp:``, of TensorRT-LLM with
``trtllm_``, of TGI with ``tgi_``; where versions renamed one, the first name that is there counts. Counts are summed
over the data-parallel ranks (labels ``dp_rank``, ``engine``); tensor-, expert- and pipeline-parallel ranks report the
same requests, so of them the highest figure counts, as of a series that stands there twice (a worker that died and left
its file behind). Shares of the KV pool are never summed. TensorRT-LLM's ``/metrics`` is no Prometheus page but a JSON
list of its latest steps; its Prometheus page is at ``/prometheus/metrics``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from console.job.host_events import ServerMetrics
from console.job.metrics_more import extras
from console.job.metrics_more import wanted as more_wanted
from console.job.trtllm_stats import read_steps

if TYPE_CHECKING:
    from collections.abc import Iterable

_SAME_WORK = frozenset(
    {
        "tp_rank",
        "pp_rank",
        "moe_ep_rank",
        "ep_rank",
        "attn_tp_rank",
        "attn_cp_rank",
        "moe_dp_rank",
        "moe_tp_rank",
        "pid",
    }
)
"""Labels of ranks that report the same requests."""
_PREFIXES = {"sglang": "sglang:", "vllm": "vllm:", "llamacpp": "llamacpp:", "trtllm": "trtllm_", "tgi": "tgi_"}
"""How each engine's series begin."""
_NAMES: dict[str, dict[str, tuple[str, ...]]] = {
    "sglang": {
        "running": ("num_running_reqs",),
        "queue": ("num_queue_reqs",),
        "usage": ("token_usage", "full_token_usage", "swa_token_usage", "mamba_usage"),
        "throughput": ("gen_throughput",),
        # Moves with each step; generation_tokens_total moves when a request ends, in jumps of thousands.
        "tokens": ("realtime_tokens_total", "generation_tokens_total"),
        "retractions": ("num_retracted_requests_total", "total_retracted_reqs"),
    },
    "vllm": {
        "running": ("num_requests_running",),
        "queue": ("num_requests_waiting",),
        "usage": ("kv_cache_usage_perc", "gpu_cache_usage_perc"),
        "throughput": ("avg_generation_throughput_toks_per_s",),
        "tokens": ("generation_tokens_total", "generation_tokens"),
        "retractions": ("num_preemptions_total", "num_preemptions"),
    },
    "llamacpp": {
        "running": ("requests_processing",),
        "queue": ("requests_deferred",),
        "usage": ("kv_cache_usage_ratio",),
        "throughput": (),
        "tokens": ("tokens_predicted_total",),
        "retractions": (),
        "steps": ("n_decode_total",),
        "busy": ("n_busy_slots_per_decode",),
    },
    "trtllm": {
        "running": ("num_requests_running",),
        "queue": ("num_requests_waiting",),
        "usage": ("kv_cache_utilization",),
        "throughput": (),
        "tokens": ("generation_tokens_total",),
        "retractions": (),
    },
    "tgi": {
        "running": ("batch_current_size",),
        "queue": ("queue_size",),
        "usage": (),
        "throughput": (),
        "tokens": ("request_generated_tokens_sum",),
        "retractions": (),
    },
}
ENGINES = tuple(_PREFIXES)
"""Engines whose pages are understood."""
_LONGEST = 4096
"""Characters of a sample line that is read; longer ones are no series of ours."""
_Series = dict[str, dict[tuple[tuple[str, str], ...], float]]


def parse_metrics(text: str) -> ServerMetrics | None:
    """What the page says; None when it is no metrics page of a known engine, or is broken.

    Args:
        text: The page.
    """
    if text[:1] == "[":
        return read_steps(text)
    engine = next((name for name, prefix in _PREFIXES.items() if f"\n{prefix}" in f"\n{text}"), "")
    if not engine:
        return None
    wanted = {_PREFIXES[engine] + name for names in _NAMES[engine].values() for name in names}
    wanted.update(_PREFIXES[engine] + name for name in more_wanted(engine))
    series = _series(_lines(text, wanted), len(_PREFIXES[engine]))
    if series is None:
        return None
    return _metrics(engine, series)


def _lines(text: str, wanted: set[str]) -> Iterable[str]:
    """The sample lines of the series that are wanted; a page has a thousand others, and the parser is slow."""
    for line in text.split("\n"):
        name = line[:100].partition("{")[0].partition(" ")[0]
        if name in wanted and len(line) <= _LONGEST:
            yield line


def _series(lines: Iterable[str], prefix: int) -> _Series | None:
    """Each series' values by its labels, ranks that do the same work merged; None when a line is broken."""
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415  heavy: 60 ms, and not always used

    series: _Series = {}
    try:
        for family in text_string_to_metric_families("\n".join(lines) + "\n"):
            for sample in family.samples:
                if math.isfinite(sample.value):
                    labels = tuple(sorted((k, v) for k, v in sample.labels.items() if k not in _SAME_WORK))
                    values = series.setdefault(sample.name[prefix:], {})
                    values[labels] = max(sample.value, values.get(labels, sample.value))
    except (ValueError, IndexError, KeyError):
        return None
    return series


def _metrics(engine: str, series: _Series) -> ServerMetrics:
    names = _NAMES[engine]
    usages = [value for name in names["usage"] for value in series.get(name, {}).values()]
    running, queue = _sum(series, names["running"]), _sum(series, names["queue"])
    return ServerMetrics(
        engine,
        None if running is None else round(running),
        None if queue is None else round(queue),
        min(1.0, max(0.0, *usages)) if usages else None,
        _sum(series, names["throughput"]),
        _tokens(series, names),
        _sum(series, names["retractions"]),
        extras(engine, series),
    )


def _tokens(series: _Series, names: dict[str, tuple[str, ...]]) -> float | None:
    """Tokens made since the server's start.

    llama.cpp's own counter moves only as a request ends; its steps, and how many slots were busy in each, move always:
    each busy slot makes one token a step.
    """
    steps, busy = (_sum(series, names.get(key, ())) for key in ("steps", "busy"))
    return steps * busy if steps is not None and busy is not None else _sum(series, names["tokens"])


def _sum(series: _Series, names: tuple[str, ...]) -> float | None:
    """The sum of the first series that is there; of tokens by mode, those that were decoded."""
    for name in names:
        values = [v for labels, v in series.get(name, {}).items() if dict(labels).get("mode", "decode") == "decode"]
        if values:
            return sum(values)
    return None
