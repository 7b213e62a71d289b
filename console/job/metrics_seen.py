"""The server's metrics page, and what it shows beside the one before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    """

    page: ServerMetrics | None = None
    at: datetime | None = None
    throughput: float | None = None
    moved_at: datetime | None = None
    missing: str = ""


def after(former: MetricsSeen, page: ServerMetrics, at: datetime) -> MetricsSeen:
    """What is known after another page; ``former`` unchanged when it is no newer."""
    if former.at is not None and at <= former.at:
        return former
    moved_at = former.moved_at if former.page in {None, page} else at
    return MetricsSeen(page, at, _counted(former, page, at), moved_at)


def _counted(former: MetricsSeen, page: ServerMetrics, at: datetime) -> float | None:
    before = former.page
    if before is None or former.at is None or before.generation_tokens is None or page.generation_tokens is None:
        return None
    grown = page.generation_tokens - before.generation_tokens
    return grown / (at - former.at).total_seconds() if grown >= 0 else None
