"""One event of the server folded into its minutes; runs of them are folded by ``console.job.server_draft``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.job.minutes import MinutesDraft, at_work
from console.job.rank_report import STALE_RANK, RankReport
from console.job.server_events import ServerLoad

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from console.job.host_events import ServerMetrics
    from console.job.metrics_seen import MetricsSeen
    from console.job.minutes import Minutes
    from console.job.server_events import ServerCapacity, ServerPrefill


def with_load(
    minutes: Minutes,
    told: tuple[ServerLoad, datetime],
    former: RankReport | None,
    reports: Collection[RankReport],
    capacity: ServerCapacity | None,
) -> Minutes:
    """After a report of one scheduler.

    Args:
        minutes: What was known.
        told: The report and its time.
        former: The same rank's report before.
        reports: The newest report of every rank, this one included.
        capacity: What a rank can hold, when that is known.
    """
    draft = MinutesDraft(minutes)
    draft.load(*told, former, at_work(reports, STALE_RANK.total_seconds()), capacity)
    return draft.freeze()


def with_prefill(minutes: Minutes, event: ServerPrefill, at: datetime) -> Minutes:
    """After a chunk of prompt work."""
    draft = MinutesDraft(minutes)
    draft.prefill(event, at)
    return draft.freeze()


def with_retraction(minutes: Minutes, count: int, at: datetime) -> Minutes:
    """After the log told of requests that were taken out of the running batch."""
    draft = MinutesDraft(minutes)
    draft.retracted(count, at)
    return draft.freeze()


def with_page(
    minutes: Minutes, before: MetricsSeen, seen: MetricsSeen, capacity: ServerCapacity | None, *, alone: bool
) -> Minutes:
    """After a metrics page: its counter of retractions, and its load where no log tells of that.

    Args:
        minutes: What was known.
        before: The page before.
        seen: This page.
        capacity: What the server can hold, when that is known.
        alone: No log tells of the load.
    """
    old, new = before.page, seen.page
    if old is None or new is None or before.at is None or seen.at is None:
        return minutes
    draft = MinutesDraft(minutes)
    if new.retractions is not None and old.retractions is not None and new.retractions > old.retractions:
        draft.counted(round(new.retractions - old.retractions), seen.at)
    if alone and (load := _load_of(new, seen.throughput)) and (former := _load_of(old, None)):
        draft.load(load, seen.at, RankReport(former, before.at), 1, capacity)
    return draft.freeze()


def _load_of(page: ServerMetrics, throughput: float | None) -> ServerLoad | None:
    """A page as a report of one scheduler: its figures are summed over ranks."""
    if not page.running:
        return None
    made = page.gen_throughput if page.gen_throughput is not None else throughput
    return ServerLoad("", page.running, page.queue, page.token_usage, None, made)
