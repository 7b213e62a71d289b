"""What a metrics page says beside the load: speculative decoding, the prefix cache, queues by kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    Series = Mapping[str, Mapping[tuple[tuple[str, str], ...], float]]
    """Names without the engine's prefix to values by labels."""


@dataclass(frozen=True, slots=True)
class _Names:
    """Series of one engine; of several names for one thing, the first that is there counts.

    Attributes:
        accept: A gauge of tokens made per request and verify step.
        accepted: Counters whose ratio gives the same: drafted tokens that were accepted, and drafts.
        drafts: See ``accepted``.
        hits: Counter of prompt tokens found in the prefix cache.
        asked: Counter of prompt tokens looked for.
        queues: Gauges of further queues, and what each is called.
        by_reason: A gauge of waiting requests with a label ``reason``.
    """

    accept: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    drafts: tuple[str, ...] = ()
    hits: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    queues: tuple[tuple[str, str], ...] = ()
    by_reason: str = ""

    def all(self) -> tuple[str, ...]:
        """Every series that is looked for."""
        queues = tuple(name for name, _ in self.queues)
        reason = (self.by_reason,) if self.by_reason else ()
        return (*self.accept, *self.accepted, *self.drafts, *self.hits, *self.asked, *queues, *reason)


_NAMES = {
    "sglang": _Names(
        accept=("spec_accept_length",),
        # cache_hit_rate is of the last prefill alone, and 0 on decode reports of older versions.
        hits=("cached_tokens_total",),
        asked=("prompt_tokens_total",),
        queues=(
            ("num_grammar_queue_reqs", "grammar"),
            ("num_retracted_reqs", "retracted"),
            ("num_prefill_prealloc_queue_reqs", "bootstrap"),
            ("num_prefill_bootstrap_queue_reqs", "bootstrap"),
            ("num_prefill_infight_queue_reqs", "in transfer"),
            ("num_prefill_inflight_queue_reqs", "in transfer"),
            ("num_decode_prealloc_queue_reqs", "prealloc"),
            ("num_decode_transfer_queue_reqs", "transfer"),
        ),
    ),
    "vllm": _Names(
        accepted=("spec_decode_num_accepted_tokens_total", "spec_decode_num_accepted_tokens"),
        drafts=("spec_decode_num_drafts_total", "spec_decode_num_drafts"),
        hits=("prefix_cache_hits_total", "prefix_cache_hits", "gpu_prefix_cache_hits_total", "gpu_prefix_cache_hits"),
        asked=(
            "prefix_cache_queries_total",
            "prefix_cache_queries",
            "gpu_prefix_cache_queries_total",
            "gpu_prefix_cache_queries",
        ),
        by_reason="num_requests_waiting_by_reason",
    ),
}
_NOTHING = _Names()


@dataclass(frozen=True, slots=True)
class ServingExtras:
    """What only some servers tell.

    Attributes:
        accept_length: Mean tokens per request and verify step of speculative decoding, the bonus token included, so
            that 1.00 is no gain; None without it.
        cache_hit_rate: Share of the prompt tokens that were found in the prefix cache since the server's start, 0 to 1.
        queues: Kinds of waiting requests and how many there are, those without any left out.
    """

    accept_length: float | None = None
    cache_hit_rate: float | None = None
    queues: tuple[tuple[str, int], ...] = ()


def wanted(engine: str) -> tuple[str, ...]:
    """The series of an engine that ``extras`` reads, without the prefix."""
    return _NAMES.get(engine, _NOTHING).all()


def extras(engine: str, series: Series) -> ServingExtras:
    """What an engine's series say beside the load.

    Args:
        engine: Which engine's.
        series: Its series.
    """
    names = _NAMES.get(engine, _NOTHING)
    gauges = [value for value in _values(series, names.accept) if value > 0]
    accept = sum(gauges) / len(gauges) if gauges else None
    accepted, drafts = _total(series, names.accepted), _total(series, names.drafts)
    if accept is None and accepted is not None and drafts:
        accept = 1.0 + accepted / drafts
    hits, asked = _total(series, names.hits), _total(series, names.asked)
    rate = min(1.0, max(0.0, hits / asked)) if hits is not None and asked else None
    return ServingExtras(accept, rate, _queues(series, names))


def _queues(series: Series, names: _Names) -> tuple[tuple[str, int], ...]:
    found = {kind: round(sum(series[name].values())) for name, kind in names.queues if name in series}
    for labels, value in series.get(names.by_reason, {}).items():
        reason = dict(labels).get("reason", "").replace("_", " ")
        found[reason] = found.get(reason, 0) + round(value)
    return tuple((kind, count) for kind, count in found.items() if kind and count > 0)


def _values(series: Series, names: tuple[str, ...]) -> list[float]:
    """The values of the first of these series that is there."""
    return next((list(series[name].values()) for name in names if series.get(name)), [])


def _total(series: Series, names: tuple[str, ...]) -> float | None:
    values = _values(series, names)
    return sum(values) if values else None
