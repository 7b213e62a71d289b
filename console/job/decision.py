"""The record of a decision: what was known at a moment, what was judged, and what would change it.

An operator who leaves a run alone, or touches it, writes down why: throughput, what limits it, how long completions
have become, when it will end, and what was decided. This gives that record from a snapshot and the lengths told so
far. Pure: it reads nothing and knows no clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from console.job.dataset_run import AT_WORK
from console.job.reading import reading
from console.job.snapshot import Judgement
from console.job.units import duration, percent, plural, rate, share

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from console.job.job_state import JobTrail
    from console.job.limits import Limits
    from console.job.snapshot import ServerView, Snapshot
    from console.job.state import State

GROWTH = 2 ** (1 / 3)
"""Of a dataset's lengths those are kept whose count has grown by this factor: three for each doubling show the growth
of the first hundreds, where it is, and not every line of the ten thousand."""

FEWEST = 20
"""Completions from which on their mean is kept: of fewer, it is that of a handful."""


class Length(NamedTuple):
    """The mean completion of a dataset, as the job had told it until then.

    Attributes:
        at: When.
        dataset: Its name.
        done: Completions of this process that the mean is of.
        mean: Their mean, tokens.
    """

    at: datetime
    dataset: str
    done: int
    mean: float


@dataclass(slots=True)
class Lengths:
    """Collects the mean completion over time, from states in the order of time."""

    _told: list[Length] = field(default_factory=list)
    _newest: Length | None = None

    def take(self, at: datetime, state: State) -> None:
        """Take in what was known at a moment."""
        for trail in (state.progress, state.log):
            if (length := _length(trail, at)) is not None:
                self._add(length)
                return

    def told(self) -> tuple[Length, ...]:
        """Those kept, oldest first, and the newest."""
        newest = self._newest
        last = () if newest is None or (self._told and self._told[-1] == newest) else (newest,)
        return (*self._told, *last)

    def _add(self, length: Length) -> None:
        former = self._newest
        if former is not None and (former.dataset, former.done) == (length.dataset, length.done):
            return
        ended = former is not None and former.dataset != length.dataset
        if former is not None and ended and (not self._told or self._told[-1] != former):
            self._told.append(former)
        self._newest = length
        kept = self._told[-1] if self._told else None
        anew = kept is None or kept.dataset != length.dataset or length.done < kept.done
        if length.done >= FEWEST and (anew or (kept is not None and length.done >= kept.done * GROWTH)):
            self._told.append(length)


def _length(trail: JobTrail, at: datetime) -> Length | None:
    """What a log tells of the completions of the dataset at work."""
    run = trail.find(trail.current)
    if run is None or not run.done_run:
        return None
    if run.tokens_run is not None:
        return Length(at, run.name, run.done_run, run.tokens_run / run.done_run)
    return None if run.mean is None else Length(at, run.name, run.done_run, run.mean)


@dataclass(frozen=True, slots=True)
class Decision:
    """The record of one moment.

    Attributes:
        snapshot: All that was known, the verdict with its reasons among it.
        lengths: The mean completion over time, oldest first.
        limited_by: What limits the throughput, as a sentence; empty when that is not known.
        would_change: What would lead to another verdict, a sentence each.
    """

    snapshot: Snapshot
    lengths: tuple[Length, ...]
    limited_by: str
    would_change: tuple[str, ...]


def decide(snapshot: Snapshot, lengths: Iterable[Length], limits: Limits) -> Decision:
    """The record of a moment.

    Args:
        snapshot: What was known then.
        lengths: The mean completion over time until then.
        limits: The thresholds that the verdict was judged by.
    """
    return Decision(snapshot, tuple(lengths), limited_by(snapshot, limits), would_change(snapshot, limits))


def limited_by(snapshot: Snapshot, limits: Limits) -> str:
    """What keeps the server from being faster, by its load alone.

    With requests waiting and the KV cache at ``kv_full`` or above it is the cache; with requests waiting and room in
    it, it is the server's admission; with none waiting it is the number of requests that the job sends.
    """
    server = snapshot.server
    if server.running is None or server.queue is None or not server.running:
        return ""
    load = f"{plural(server.running, 'request')} run and {server.queue} wait"
    if server.queue == 0:
        return f"{load}: the number of requests in flight is the limit, not the server."
    if server.token_usage is None:
        return f"{load}: the server admits no more at once."
    if server.token_usage >= limits.kv_full:
        return f"{load} at a token usage of {share(server.token_usage)}: the KV cache is the limit."
    return (
        f"{load} at a token usage of {share(server.token_usage)}: there is room in the KV cache; admission holds back."
    )


def would_change(snapshot: Snapshot, limits: Limits) -> tuple[str, ...]:
    """What would lead to another verdict, a sentence each, with the thresholds that it would be judged by."""
    verdict = snapshot.verdict
    match verdict.verdict:
        case Judgement.BLIND:
            said = ["The link, or the log, comes back: then the run is judged by fresh figures."]
        case Judgement.INTERVENE:
            said = ["Work that is seen again, in the server's log and in the job's.", "The end of the run."]
        case Judgement.WATCH:
            said = ["What it watches ends by itself: back to wait.", *_worse(snapshot, limits)]
        case _:
            said = _worse(snapshot, limits)
    return tuple(said)


def _worse(snapshot: Snapshot, limits: Limits) -> list[str]:
    """What would make an operator look again, of a run that is let be."""
    if snapshot.verdict.cause == "finished":
        return ["Another start of the job."]
    working = any(view.state in AT_WORK for view in snapshot.datasets)
    said = [_slower(snapshot.server, limits), _silent(snapshot, limits)]
    if working:
        said.append(
            f"{limits.errors_new} failed requests within {duration(limits.errors_window_s)}, "
            f"if they are {percent(limits.errors_share)} of those that end."
        )
    if snapshot.server.queue and snapshot.server.running:
        said.append("Retractions that rise while tok/s falls and stays down: the batch is too large for the KV cache.")
    said.append("The server's process ends, or the job's.")
    return [sentence for sentence in said if sentence]


def _slower(server: ServerView, limits: Limits) -> str:
    if server.usual_throughput is None:
        return ""
    low = limits.throughput_low * server.usual_throughput
    return (
        f"Below {rate(low)}, {percent(limits.throughput_low)} of what is usual for this batch, "
        f"for {duration(limits.throughput_low_s)}."
    )


def _silent(snapshot: Snapshot, limits: Limits) -> str:
    if not snapshot.server.running:
        return ""
    return f"No report of work for {duration(limits.stall_s)} or more while requests are in flight."


def iso(at: datetime | None) -> str | None:
    """A moment as reports in JSON write it: ISO 8601, UTC."""
    return at.isoformat(timespec="seconds") if at is not None else None


def decision_values(decision: Decision) -> dict[str, Any]:
    """The record as plain values, ready for ``json.dumps``: the reading of that moment, and what goes with it."""
    return {
        **reading(decision.snapshot),
        "limited_by": decision.limited_by or None,
        "completion_lengths": [
            {"at": iso(each.at), "dataset": each.dataset, "done": each.done, "mean": round(each.mean, 1)}
            for each in decision.lengths
        ],
        "would_change": list(decision.would_change),
    }
