"""The record of a decision in words, section by section: what every format of a report is made of. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from console.job.dataset_run import AT_WORK
from console.job.snapshot import DatasetState
from console.job.units import UNKNOWN, age, ahead, count, duration, latency, percent, plural, rate, share, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime, tzinfo

    from console.job.decision import Decision, Length
    from console.job.snapshot import DatasetView, Eta, Snapshot

Row = tuple[str, ...]

SHOWN_LENGTHS = 12
"""Lengths of a dataset that are written out; the first and the newest are always among them."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report.

    Attributes:
        title: Its heading.
        lines: Sentences, each a point of a list.
        head: Headings of a table's columns; empty when there is none.
        rows: The table.
    """

    title: str
    lines: tuple[str, ...] = ()
    head: Row = ()
    rows: tuple[Row, ...] = ()


def clock(at: datetime | None, zone: tzinfo) -> str:
    """A moment with its day and zone: ``Tue 2026-02-24 03:19 UTC``."""
    return UNKNOWN if at is None else f"{at.astimezone(zone):%a %Y-%m-%d %H:%M %Z}"


def verdict_line(snapshot: Snapshot, zone: tzinfo) -> str:
    """The decision in one line: ``WAIT (kv_limited, since ...): Don't intervene: ...``."""
    verdict = snapshot.verdict
    since = f", since {clock(verdict.since, zone)}" if verdict.since else ""
    return f"{verdict.verdict.value.upper()} ({verdict.cause}{since}): {verdict.headline}"


def sections(decision: Decision, zone: tzinfo) -> tuple[Section, ...]:
    """The record, in the order in which an operator would write it; parts of which nothing is known are left out.

    Args:
        decision: The record.
        zone: In which times are written.
    """
    snapshot = decision.snapshot
    made = (
        Section("Throughput", tuple(_throughput(snapshot))),
        Section("Bottleneck", tuple(_bottleneck(decision))),
        Section("Completion length", tuple(trajectory(decision.lengths, zone))),
        datasets(snapshot.datasets, zone),
        Section("End of the run", tuple(_ending(snapshot.eta, snapshot.at, zone))),
        Section("Health and link", tuple(_health(snapshot))),
        Section("Decision", tuple(_decided(snapshot, zone))),
        Section("What touching it would cost", tuple(option.words for option in snapshot.verdict.options)),
        Section("What would change the decision", decision.would_change),
        Section("Next look", tuple(_next(snapshot, zone))),
    )
    return tuple(section for section in made if section.lines or section.rows)


def _throughput(snapshot: Snapshot) -> Iterator[str]:
    server = snapshot.server
    if server.gen_throughput is None:
        return
    yield f"Now: {rate(server.gen_throughput)}, reported {age(server.updated_at, snapshot.at)}."
    if server.usual_throughput:
        part = server.gen_throughput / server.usual_throughput
        yield f"Usual for this batch: {rate(server.usual_throughput)}; now {percent(part)} of it."
    if server.peak_throughput:
        part = server.gen_throughput / server.peak_throughput
        yield f"Peak of this run: {rate(server.peak_throughput)}; now {percent(part)} of it."


def _bottleneck(decision: Decision) -> Iterator[str]:
    server = decision.snapshot.server
    if decision.limited_by:
        yield decision.limited_by
    elif server.running is not None:
        yield f"{count(server.running)} run, {count(server.queue)} wait."
    if server.token_usage is not None:
        size = f" of {count(server.capacity_tokens)} tokens" if server.capacity_tokens else ""
        ranks = f", the fullest of {server.ranks} ranks" if server.ranks and server.ranks > 1 else ""
        yield f"KV cache: token usage {share(server.token_usage)}{size}{ranks}."
    if server.retractions is not None:
        yield f"{plural(server.retractions, 'retraction')} since the server began."
    if server.trouble:
        yield f"The server's log: {server.trouble}"


def trajectory(lengths: Iterable[Length], zone: tzinfo) -> Iterator[str]:
    """The mean completion of each dataset over time, as it was told: ``217 → 788 → 1,232 tokens``.

    Args:
        lengths: In the order of time.
        zone: In which times are written.
    """
    for name, group in groupby(lengths, key=lambda length: length.dataset):
        told = _some(list(group))
        means = " → ".join(count(length.mean) for length in told)
        first, last = told[0], told[-1]
        between = f"{count(first.done)} to {count(last.done)} completions" if last is not first else count(last.done)
        when = clock(first.at, zone) + (f" to {clock(last.at, zone)}" if last is not first else "")
        yield f"{name}: {means} tokens on average ({between}, {when})."


def _some(told: list[Length]) -> list[Length]:
    """At most ``SHOWN_LENGTHS`` of them: the first ones, where they grow, and the newest."""
    return told if len(told) <= SHOWN_LENGTHS else [*told[: SHOWN_LENGTHS - 1], told[-1]]


def datasets(views: Iterable[DatasetView], zone: tzinfo) -> Section:
    """The datasets as a table."""
    rows = tuple(
        (
            view.name,
            view.state.value,
            f"{count(view.done)} of {count(view.total)}",
            percent(view.share),
            f"{tokens(view.tokens)} of {tokens(view.budget)}" if view.budget else tokens(view.tokens),
            count(view.mean_completion_tokens),
            count(view.errors),
            clock(view.eta, zone) if view.state in {*AT_WORK, DatasetState.WAITING} else "",
        )
        for view in views
    )
    head = ("dataset", "state", "done", "share", "tokens", "mean", "errors", "ends")
    return Section("Datasets", (), head if rows else (), rows)


def _ending(eta: Eta, now: datetime, zone: tzinfo) -> Iterator[str]:
    if eta.at is None:
        yield f"Not known. {eta.basis}".rstrip()
        return
    when = age(eta.at, now) if eta.at <= now else ahead(eta.at, now)
    yield f"{clock(eta.at, zone)}, {when}."
    if eta.low is not None and eta.high is not None and eta.low < eta.high:
        low, high = ((end - now).total_seconds() for end in (eta.low, eta.high))
        yield (
            f"{percent(eta.coverage)} range: {clock(eta.low, zone)} to {clock(eta.high, zone)} "
            f"({duration(low)} to {duration(high)} from then)."
        )
    if eta.tokens_left is not None:
        yield f"{tokens(eta.tokens_left)} tokens are left."
    if eta.basis:
        yield f"It rests on: {eta.basis}"


def _health(snapshot: Snapshot) -> Iterator[str]:
    health, link, job = snapshot.health, snapshot.link, snapshot.job
    if health.checked_at is None:
        yield "Health: not asked."
    else:
        answer = health.error or f"{health.path} answered {health.status} in {latency(health.latency_s)}"
        yield f"Health: {health.state}; {answer}, {age(health.checked_at, snapshot.at)}."
    reason = f" ({link.reason})" if link.reason else ""
    yield f"Link to {link.host or 'the host'}: {link.state}{reason}." if link.state else "Link: a recording has none."
    if job.alive is None:
        yield f"Job: {job.finished}, by its own word." if job.finished else "Job: its process was not looked for."
    else:
        yield f"Job: runs as {job.pid}." if job.alive else f"Job: does not run. {job.finished}".rstrip()


def _decided(snapshot: Snapshot, zone: tzinfo) -> Iterator[str]:
    yield verdict_line(snapshot, zone)
    yield from snapshot.verdict.evidence
    if snapshot.verdict.action:
        yield f"To do: {snapshot.verdict.action}"


def _next(snapshot: Snapshot, zone: tzinfo) -> Iterator[str]:
    look = snapshot.verdict.next_look
    if look is not None:
        yield f"{clock(look, zone)}, {ahead(look, snapshot.at)}."
