"""The server's metrics page, and what it shows beside the one before."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.job.counter_rate import CounterRate
from console.job.host_state import came_late

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.host_events import ServerMetrics


@dataclass(frozen=True, slots=True)
class MetricsSeen:
    """The newest metrics page and what it shows beside the one before.

    Attributes:
        page: Its figures.
        at: When it was asked for.
        throughput: tok/s by the growth of the token counter since the page before; None without two pages.
        moved_at: When any figure that a frozen engine leaves standing last moved; None until one has.
        missing: Why the newest try gave no page; empty when it did.
        tokens: The counter of tokens made, across the server's restarts.
    """

    page: ServerMetrics | None = None
    at: datetime | None = None
    throughput: float | None = None
    moved_at: datetime | None = None
    missing: str = ""
    tokens: CounterRate = field(default_factory=CounterRate)


def after(former: MetricsSeen, page: ServerMetrics, at: datetime) -> MetricsSeen:
    """What is known after another page; ``former`` unchanged when it came late, or is of the same moment."""
    if at == former.at or came_late(at, former.at):
        return former
    moved_at = former.moved_at if former.page in {None, page} else at
    moved_at = None if moved_at is None else min(moved_at, at)
    tokens = former.tokens.after(page.generation_tokens, at)
    return MetricsSeen(page, at, tokens.rate, moved_at, tokens=tokens)
