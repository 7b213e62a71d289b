"""What only the screen and the reading show of the server: what a full KV cache means, ranks, retractions, curve."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from console.job.curve import Curve
from console.job.metrics_more import ServingExtras
from console.job.snapshot import RankView

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.limits import Limits
    from console.job.minutes_bin import Bin
    from console.job.server_state import ServerState
    from console.job.snapshot import ServerView
    from console.job.source_clock import SourceClock

HOUR = timedelta(hours=1)
RECENT = timedelta(minutes=10)
"""Time in which retractions rise, against the rest of the hour: a burst at a dataset's start is over in less."""

RISEN = 2.0
"""So many times as many retractions a minute as in the rest of the hour are a rise."""

FEW = 3
"""Fewer retractions in ten minutes are nothing, whatever was before."""


def shown(view: ServerView, state: ServerState, clock: SourceClock, now: datetime, limits: Limits) -> ServerView:
    """The view with what a verdict does without.

    Args:
        view: The figures that all need.
        state: What is known of the server.
        clock: The clock of its log.
        now: The console's time.
        limits: Where throughput is low and the KV cache full.
    """
    offset = history_offset(state, clock)
    on_log = now - offset
    bins = state.minutes.bins((on_log - HOUR).timestamp())
    extras = state.metrics.page.extras if state.metrics.page else ServingExtras()
    hits = _hit_rate(state)
    return replace(
        view,
        kv=pressure(view, bins, on_log, limits),
        retractions_last_hour=sum(each.retractions for each in bins) if state.reported_at or state.metrics.at else None,
        accept_length=_mean_accepted(state) or extras.accept_length,
        cache_hit_rate=extras.cache_hit_rate if hits is None else hits,
        queues=extras.queues,
        rank_views=tuple(
            RankView(name, report.load.running, report.load.queue, report.load.token_usage, report.throughput)
            for name, report in state.fresh_ranks()
        ),
        curve=Curve(state.throughput, -offset),
    )


def history_offset(state: ServerState, clock: SourceClock) -> timedelta:
    """What is added to the times of the server's history to have them on the console's clock.

    The history is the log's, with the log's clock; where no log tells of the load, it is made of metrics pages, which
    are dated by the console, however far off the host's clock is.
    """
    return timedelta() if state.metrics.page is not None and not state.ranks else clock.offset


def pressure(view: ServerView, bins: list[Bin], on_log: datetime, limits: Limits) -> str:
    """What the usage of the KV cache means in a batch run: ``fine``, ``strained`` or nothing.

    A full cache and a queue are good while throughput holds. It is strained when both: retractions rise (at least
    ``FEW`` in ten minutes, ``RISEN`` times as many a minute as in the fifty before), and throughput is below
    ``limits.throughput_low`` of what is usual for as many running requests.

    Args:
        view: The server's figures.
        bins: Its last hour.
        on_log: The present by the log's clock.
        limits: Where throughput is low and the KV cache full.
    """
    made, usual = view.gen_throughput, view.usual_throughput
    low = made is not None and usual is not None and made < limits.throughput_low * usual
    since_s = (on_log - RECENT).timestamp()
    recent = sum(each.retractions for each in bins if each.time_s >= since_s)
    before = sum(each.retractions for each in bins if each.time_s < since_s)
    rising = recent >= FEW and recent * (HOUR - RECENT) > RISEN * before * RECENT
    if rising and low:
        return "strained"
    full = view.token_usage is not None and view.token_usage >= limits.kv_full
    return "fine" if full and made is not None and usual is not None and not low else ""


def _mean_accepted(state: ServerState) -> float | None:
    lengths = [report.load.accept_length for _, report in state.fresh_ranks() if report.load.accept_length is not None]
    return sum(lengths) / len(lengths) if lengths else None


def _hit_rate(state: ServerState) -> float | None:
    """Share of the prompt tokens that were found in the prefix cache: by prefill lines, else by the ranks' own word."""
    if state.prompt_tokens:
        return state.cached_tokens / state.prompt_tokens
    rates = [report.load.cache_hit_rate for _, report in state.fresh_ranks() if report.load.cache_hit_rate is not None]
    return sum(rates) / len(rates) if rates else None
