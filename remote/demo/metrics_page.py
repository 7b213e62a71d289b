"""The simulated server's ``/metrics`` page: SGLang's names, in Prometheus' text format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from remote.demo.startup import MODEL

if TYPE_CHECKING:
    from remote.demo.batching import Engine
    from remote.demo.happenings import DecodeReport

_RANK = f'dp_rank="0",engine_type="unified",model_name="{MODEL}",pp_rank="0",tp_rank="0"'
_FRONT = f'engine_type="unified",is_streaming="false",model_name="{MODEL}"'


@dataclass(slots=True)
class Counters:
    """What has been counted since the server began.

    Attributes:
        requests: Requests finished.
        aborted: Requests aborted.
        prompt_tokens: Prompt tokens of finished requests.
        generation_tokens: Tokens of finished requests; grows in lumps, as SGLang's does.
        retracted: Requests thrown out of the batch.
        latency_s: Wall seconds of all finished requests together.
        last_report: The latest decode report: gauges stand at its values until the next one.
    """

    requests: int = 0
    aborted: int = 0
    prompt_tokens: int = 0
    generation_tokens: int = 0
    retracted: int = 0
    latency_s: float = 0.0
    last_report: DecodeReport | None = field(default=None)


def metrics_page(counters: Counters, engine: Engine, speed: float) -> str:
    """The page as text.

    Args:
        counters: What was counted.
        engine: Its token counters are read; its state shows in the gauges only when it never reported.
        speed: Factor from simulated to wall seconds, for the throughput.
    """
    report = counters.last_report
    idle = engine.running == 0
    gauges: dict[str, float] = {
        "num_running_reqs": engine.running if idle or report is None else report.running,
        "num_queue_reqs": engine.queue if idle or report is None else report.queue,
        "num_used_tokens": engine.used_tokens if idle or report is None else report.tokens,
        "token_usage": round(engine.token_usage if idle or report is None else report.token_usage, 2),
        "gen_throughput": 0.0 if idle or report is None else report.throughput * speed,
        "cache_hit_rate": 0.0,
        "new_token_ratio": engine.ratio,
        "max_total_num_tokens": engine.pool_tokens,
    }
    lines: list[str] = []
    for name, value in gauges.items():
        lines += _series(name, "gauge", _RANK, value)
    lines += _series("num_retracted_requests_total", "counter", _RANK, counters.retracted)
    lines += _realtime(engine)
    for name, count in (
        ("prompt_tokens_total", counters.prompt_tokens),
        ("generation_tokens_total", counters.generation_tokens),
        ("num_requests_total", counters.requests),
        ("num_aborted_requests_total", counters.aborted),
    ):
        lines += _series(name, "counter", _FRONT, count)
    lines += _latency(counters)
    return "\n".join(lines) + "\n"


def _series(name: str, kind: str, labels: str, value: float) -> list[str]:
    return [
        f"# HELP sglang:{name} Of the simulated server.",
        f"# TYPE sglang:{name} {kind}",
        f"sglang:{name}{{{labels}}} {float(value)}",
    ]


def _realtime(engine: Engine) -> list[str]:
    name = "sglang:realtime_tokens_total"
    modes = {"prefill_compute": engine.prefilled_tokens, "prefill_cache": 0, "decode": engine.decoded_tokens}
    rows = [f'{name}{{mode="{mode}",{_RANK}}} {float(count)}' for mode, count in modes.items()]
    return [f"# HELP {name} Tokens as they are computed.", f"# TYPE {name} counter", *rows]


def _latency(counters: Counters) -> list[str]:
    name = "sglang:e2e_request_latency_seconds"
    return [
        f"# HELP {name} Wall seconds from a request to its answer.",
        f"# TYPE {name} histogram",
        f'{name}_bucket{{{_FRONT},le="+Inf"}} {float(counters.requests)}',
        f"{name}_count{{{_FRONT}}} {float(counters.requests)}",
        f"{name}_sum{{{_FRONT}}} {counters.latency_s:.3f}",
    ]
