"""The server's figures in words, as far as there is room; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from console.job import units
from console.job.dataset_views import sent_together
from console.panels import words
from widgets.gauges import GaugeRow

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime, tzinfo

    from console.job.curve import Cut
    from console.job.snapshot import DatasetView, RankView, ServerView, Snapshot

PHASES = {
    "weights": "loading weights",
    "kv_cache": "making the KV cache",
    "graphs": "capturing graphs",
    "warmup": "warming up",
    "http_up": "answering HTTP, not ready",
}
"""What the phases of a server's start are called; others stand for themselves."""

SHOWN_RANKS = 8
"""Ranks whose KV usage is written out: one node's GPUs; more would be a line that nobody reads."""

ROOMY = 60
"""Cells from which on a gauge's note has room for whole phrases."""


RESTING_S = 3.0
"""Seconds after which the last figures are those of a run that has ended: an idle server reports nothing that would
take their place."""


def loads(server: ServerView) -> bool:
    """Tell whether the server is on its way up."""
    return server.phase == "starting" or server.phase in PHASES


def stale_s(snapshot: Snapshot, now: datetime) -> float:
    """Give the seconds after which the server's figures say how old they are: few, once the run's end is known."""
    job = snapshot.job
    over = snapshot.verdict.cause == "finished" or words.has_ended(snapshot.eta, now) or job.alive is False
    return RESTING_S if over else words.STALE_S


def phase(server: ServerView) -> str:
    """Give the engine and what it is at."""
    return f"{server.engine} {PHASES.get(server.phase, server.phase) or 'not seen yet'}".strip()


def in_flight(views: Iterable[DatasetView]) -> str:
    """Give what the job has sent of all its datasets at work, and of how many at once, as for the verdict."""
    known = [(view.in_flight, view.concurrency) for view in views if view.in_flight is not None]
    limits = [limit for _, limit in known if limit]
    if not known or (not limits and len(known) == 1):
        return ""
    of = f" of {units.count(max(limits))}" if len(limits) == len(known) else ""
    return f"{units.count(sent_together(known))}{of} in flight"


def requests(server: ServerView, views: Iterable[DatasetView], width: int) -> str:
    """Give what runs, what waits, what was retracted and what the job has sent, as far as there is room."""
    sent = in_flight(views)
    retracted = f"{units.count(server.retractions)} retracted"
    hour = server.retractions_last_hour
    lately = f" ({units.count(hour)}/h)" if hour is not None and server.retractions else ""
    told = (f"{units.count(server.running)} running", f"{units.count(server.queue)} queued")
    return words.first_fitting(
        width,
        words.joined(*told, f"{retracted}{lately}", sent),
        words.joined(*told, retracted, sent),
        words.joined(*told, f"{retracted}{lately}"),
        words.joined(*told, retracted),
        words.fitting(width, *told),
    )


def ranks(server: ServerView) -> str:
    """Give each DP rank's KV usage; empty for a server of one rank."""
    if len(server.usage_by_rank) < 2:  # noqa: PLR2004 -- one rank is the whole
        return ""
    shown = " ".join(units.share(usage) for _, usage in server.usage_by_rank[:SHOWN_RANKS])
    rest = len(server.usage_by_rank) - SHOWN_RANKS
    return f"KV by rank {shown}" + (f" and {rest} more" if rest > 0 else "")


def capacity(server: ServerView) -> str:
    """Give the size of the KV pool."""
    return f"of {units.tokens(server.capacity_tokens)} tokens" if server.capacity_tokens else ""


def pressure(server: ServerView, width: int) -> str:
    """Say what the use of the KV cache means, in as many words as there is room for."""
    whole = width >= ROOMY
    if server.kv == "strained":
        return "retractions rise and tok/s falls" if whole else "tok/s falls"
    if server.kv == "fine":
        return "full is fine: tok/s holds" if whole else "full is fine"
    return ""


def usage_note(server: ServerView, width: int) -> str:
    """Give what stands behind the gauge of the KV cache: what it means, the mean of several ranks, the pool's size."""
    many = len(server.usage_by_rank)
    mean = f"mean {units.share(server.mean_usage)} of {many} ranks" if many > 1 else ""
    return words.fitting(max(0, width - 20), pressure(server, width), mean, capacity(server))


def throughput(server: ServerView) -> str:
    """Give tokens a second; the unit stands before the trend."""
    return units.rate(server.gen_throughput).removesuffix(" tok/s")


def against(server: ServerView) -> str:
    """Give what throughput is to be held against: what is usual for as many running requests, and the most so far."""
    usual, peak = server.usual_throughput, server.peak_throughput
    return words.joined(
        f"usual {units.rate(usual).removesuffix(' tok/s')}" if usual is not None else "",
        f"peak {units.rate(peak).removesuffix(' tok/s')}" if peak is not None else "",
    )


def span_words(cut: Cut | None, chosen: str) -> str:
    """Give how much time the chart shows, and that it is all there is, or less than what was chosen."""
    if cut is None:
        return chosen
    shown = units.duration(cut.span_s)
    if chosen == "all":
        return f"all, {shown} wide"
    return shown if shown == chosen else f"{shown}, all so far"


def limits(cut: Cut | None) -> str:
    """Give the least and the greatest figure of the chart."""
    if cut is None or cut.low is None or cut.high is None:
        return ""
    low, high = (units.rate(value).removesuffix(" tok/s") for value in (cut.low, cut.high))
    return f"min {low}, max {high}"


def heading(server: ServerView, cut: Cut | None, chosen: str, width: int) -> tuple[str, str]:
    """Give what stands over the chart, at the left and at the right: the span always, the limits where there is room.

    Args:
        server: The server.
        cut: What the chart shows.
        chosen: The span that was chosen.
        width: Cells.
    """
    made, held, span = f"{throughput(server)} tok/s", against(server), span_words(cut, chosen)
    pairs = (
        (words.joined(made, held), words.joined(span, limits(cut))),
        (made, words.joined(span, limits(cut))),
        (words.joined(made, held), span),
        (made, span),
    )
    return next((pair for pair in pairs if cell_len("  ".join(pair)) <= width), pairs[-1])


def edge(cut: Cut | None, now: datetime, zone: tzinfo | None) -> str:
    """Give the time of the chart's left edge."""
    return words.clock(cut.begins_at, now, zone) if cut is not None else ""


def extras(server: ServerView) -> str:
    """Give what only some servers tell: speculative decoding, the prefix cache, queues by kind."""
    accept, hits = server.accept_length, server.cache_hit_rate
    kinds = ", ".join(f"{kind} {units.count(count)}" for kind, count in server.queues)
    return words.joined(
        f"accept length {accept:.2f}" if accept is not None else "",
        f"prefix cache hits {units.percent(hits)}" if hits else "",
        f"waiting for {kinds}" if kinds else "",
    )


def rank_row(rank: RankView) -> GaugeRow:
    """Give one rank as a row: KV usage, requests, throughput."""
    figures = (
        units.share(rank.token_usage),
        f"{units.count(rank.running)} running",
        f"{units.count(rank.queue)} queued",
        units.rate(rank.throughput),
    )
    return GaugeRow(rank.name or "KV", rank.token_usage, figures)
