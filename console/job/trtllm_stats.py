"""TensorRT-LLM's ``/metrics``: a JSON list of the scheduler's steps since it was last asked, newest last.

It is there with ``enable_iter_perf_stats: true``. Asking takes the steps away: with two that ask, each sees some. An
empty list says that nothing ran since, or that the statistics are off, so it is no page.
"""

from __future__ import annotations

import json
from typing import Any

from console.job.host_events import ServerMetrics

_LONGEST = 4_000_000
"""Characters of a page that are read; a step has about a thousand."""


def read_steps(text: str) -> ServerMetrics | None:
    """What the newest step says; None when the page is no list of steps.

    Args:
        text: The page.
    """
    try:
        steps = json.loads(text) if len(text) <= _LONGEST else None
    except (ValueError, RecursionError):
        return None
    newest = steps[-1] if isinstance(steps, list) and steps else None
    if not isinstance(newest, dict) or "iterLatencyMS" not in newest:
        return None
    pool = newest.get("kvCacheStats")
    used, whole = (_figure(pool, key) for key in ("usedNumBlocks", "maxNumBlocks"))
    usage = min(1.0, used / whole) if used is not None and whole else None
    running, queue = _figure(newest, "numActiveRequests"), _figure(newest, "numQueuedRequests")
    return ServerMetrics("trtllm", _count(running), _count(queue), usage, None, None, None)


def _figure(fields: Any, key: str) -> float | None:  # noqa: ANN401  (what JSON holds)
    value = fields.get(key) if isinstance(fields, dict) else None
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e18 else None  # noqa: PLR2004  a sane figure


def _count(value: float | None) -> int | None:
    return None if value is None else round(value)
