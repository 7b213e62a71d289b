"""The server as the screen shows it: its log first, its metrics page where the log is silent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from console.job.limits import Limits
from console.job.server_shown import history_offset, shown
from console.job.snapshot import ServerView

if TYPE_CHECKING:
    from console.job.host_events import ServerMetrics
    from console.job.rank_report import RankReport
    from console.job.series import Series
    from console.job.server_state import ServerState
    from console.job.source_clock import SourceClock

_LOG_QUIET = timedelta(seconds=60)
"""A metrics page this much newer than the log's newest report counts in its place: an idle server logs nothing."""

_SPANS_S = (300.0, 900.0, 1_800.0)
_CELLS = 60
"""Half an hour in cells of 30 s, each of several reports even of slow steps; less while less has been seen, so that the
first minutes are a line too."""

_USUAL_WINDOW = timedelta(hours=2)
_USUAL_BEFORE = timedelta(minutes=2)
"""What is usual is told by the last two hours without the last two minutes, so that a sudden fall shows against it."""

_LIKE = 0.25
"""Reports with a number of running requests within this share of the present one are alike."""

_LEAST = 5
"""Fewer reports do not make a habit."""


def server_view(
    state: ServerState, clock: SourceClock, now: datetime, *, history: bool = True, limits: Limits | None = None
) -> ServerView:
    """The server now.

    Args:
        state: What is known of it.
        clock: The clock of its log.
        now: The console's time.
        history: With the recent figures for a chart and what else only the screen shows; a verdict does without.
        limits: Where throughput is low and the KV cache full.
    """
    view = _figures(state, clock, now, history=history)
    return shown(view, state, clock, now, limits or Limits()) if history else view


def _figures(state: ServerState, clock: SourceClock, now: datetime, *, history: bool) -> ServerView:
    ranks = state.fresh_ranks()
    page = _page_in_place(state)
    running, queue, usage, throughput = _by_page(page) if page else _by_log(state)
    return ServerView(
        engine=state.engine,
        phase=state.phase,
        running=running,
        queue=queue,
        token_usage=usage,
        gen_throughput=throughput if throughput is not None or page is None else state.metrics.throughput,
        usual_throughput=usual_throughput(state, running),
        peak_throughput=state.throughput.peak,
        retractions=_retractions(state),
        ranks=len(ranks) or None,
        usage_by_rank=tuple(
            (name, report.load.token_usage) for name, report in ranks if report.load.token_usage is not None
        ),
        capacity_tokens=state.capacity.max_total_tokens * max(1, len(ranks)) if state.capacity else None,
        throughput_history=_history(state.throughput, now - history_offset(state, clock)) if history else (),
        updated_at=state.metrics.at if page else state.reported_at,
        trouble=state.trouble.message if state.trouble else "",
    )


def _history(throughput: Series, until: datetime) -> tuple[float | None, ...]:
    oldest = throughput.first
    age_s = until.timestamp() - oldest.time_s if oldest else 0.0
    span_s = next((span for span in _SPANS_S if age_s <= span), _SPANS_S[-1])
    return throughput.resampled(until, span_s, _CELLS)


def _page_in_place(state: ServerState) -> ServerMetrics | None:
    """The metrics page, when it is to stand in for the log."""
    seen = state.metrics
    if seen.page is None or seen.at is None or seen.page.running is None:
        return None
    if not state.ranks or state.reported_seen_at is None:
        return seen.page
    return seen.page if seen.at - state.reported_seen_at > _LOG_QUIET else None


_Figures = tuple[int | None, int | None, float | None, float | None]


def _by_page(page: ServerMetrics) -> _Figures:
    return page.running, page.queue, page.token_usage, page.gen_throughput


def _by_log(state: ServerState) -> _Figures:
    """Running, queue, usage and throughput: summed over ranks, usage the highest."""
    ranks = state.fresh_ranks()
    usages = [report.load.token_usage for _, report in ranks if report.load.token_usage is not None]
    page = state.metrics.page
    usage = max(usages, default=page.token_usage if page else None)
    queue = state.log_queue()
    if queue is None and page is not None:
        queue = page.queue
    return state.log_running(), queue, usage, _throughput(ranks)


def _throughput(ranks: tuple[tuple[str, RankReport], ...]) -> float | None:
    figures = [report.throughput for _, report in ranks if report.throughput is not None]
    return sum(figures) if figures else None


def _retractions(state: ServerState) -> int | None:
    """The log's count, or the counter's where that knows more; None before the server was heard at all."""
    page = state.metrics.page
    counter = round(page.retractions) if page and page.retractions is not None else None
    if counter is None:
        return state.retractions if state.reported_at else None
    return max(counter, state.retractions)


def usual_throughput(state: ServerState, running: int | None) -> float | None:
    """The median of the last two hours with a like number of running requests; None of fewer than five reports."""
    newest = state.throughput.last
    if newest is None:
        return None
    last = datetime.fromtimestamp(newest.time_s, UTC)
    return state.throughput.median_like(
        last - _USUAL_WINDOW, last - _USUAL_BEFORE, running or newest.load, _LIKE, _LEAST
    )
