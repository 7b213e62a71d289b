"""The inference server, folded from its log and its metrics page."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from console.job import metrics_seen, minutes_fold
from console.job import server_events as ev
from console.job.envelope import Envelope
from console.job.flight import Flight
from console.job.host_events import MetricsMissing, ServerMetrics
from console.job.metrics_seen import MetricsSeen
from console.job.minutes import Minutes
from console.job.rank_report import STALE_RANK, RankReport, reported
from console.job.series import Series
from console.job.server_life import JUMP_S, ServerLife

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from console.job.events import Event

_REVIVED_AFTER = timedelta(seconds=10)
"""While a server dies, its other ranks may still report; a report that comes this much later shows a live server."""

INTERVALS = 32
"""Intervals between reports that are kept, to know what is usual."""


@dataclass(frozen=True, slots=True)
class ServerState:
    """What is known of the server. Times named ``_seen_at`` are the console's, others are the log's own.

    Attributes:
        engine: ``sglang``, ``vllm`` or empty.
        version: As printed.
        phase: ``starting``, a phase of ``ServerPhase``, ``ready``, ``draining`` or ``dead``; empty when not known.
        phase_share: How far the phase is, 0 to 1.
        phase_at: Since when.
        started_at: When the newest process began.
        ever_ready: The server has served.
        capacity: What each DP rank can hold.
        ranks: Rank to newest report, in the order of the ranks' names.
        throughput: Sum over ranks, tok/s, with the number of running requests; suspect figures left out.
        intervals_s: Seconds between a rank's reports, the newest.
        reported_at: Newest report (load or prefill).
        reported_seen_at: When it was seen.
        progressed_at: Newest report that shows work: throughput above 0, or a prefill.
        progressed_seen_at: When that was seen.
        prompts: Requests prefilled, as far as seen.
        prompt_tokens: Their prompt tokens, cached ones included.
        cached_tokens: Of these, found in the prefix cache.
        last_prefill: The newest prefill report: the same one again does not count.
        retractions: Requests retracted or preempted, by the log.
        retracted_at: DP rank and second of the newest retraction: every TP rank prints it.
        trouble: The first cause of the present failure.
        trouble_at: Its time.
        trouble_seen_at: When it was seen.
        stopping_at: When it was told to end.
        metrics: The metrics page.
        minutes: Load and work over the whole run, and what steps took at first.
        flight: What is in flight and what has ended, reconstructed from the reports.
        life: What outlives one process of it.
    """

    engine: str = ""
    version: str = ""
    phase: str = ""
    phase_share: float | None = None
    phase_at: datetime | None = None
    started_at: datetime | None = None
    ever_ready: bool = False
    capacity: ev.ServerCapacity | None = None
    ranks: tuple[tuple[str, RankReport], ...] = ()
    throughput: Series = field(default_factory=lambda: Series(envelope=Envelope()))
    intervals_s: tuple[float, ...] = ()
    reported_at: datetime | None = None
    reported_seen_at: datetime | None = None
    progressed_at: datetime | None = None
    progressed_seen_at: datetime | None = None
    prompts: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    last_prefill: tuple[datetime, ev.ServerPrefill] | None = None
    retractions: int = 0
    retracted_at: tuple[str, datetime] | None = None
    trouble: ev.ServerTrouble | None = None
    trouble_at: datetime | None = None
    trouble_seen_at: datetime | None = None
    stopping_at: datetime | None = None
    metrics: MetricsSeen = field(default_factory=MetricsSeen)
    minutes: Minutes = field(default_factory=Minutes)
    flight: Flight = field(default_factory=Flight)
    life: ServerLife = field(default_factory=ServerLife)

    def fresh_ranks(self) -> tuple[tuple[str, RankReport], ...]:
        """The ranks whose newest report is not stale beside the others'."""
        if not self.ranks:
            return ()
        newest = max(report.at for _, report in self.ranks)
        return tuple((name, report) for name, report in self.ranks if newest - report.at <= STALE_RANK)

    def log_throughput(self) -> float | None:
        """Sum of the fresh ranks' newest good figures, tok/s; None when there is none."""
        figures = [report.throughput for _, report in self.fresh_ranks() if report.throughput is not None]
        return sum(figures) if figures else None

    def log_running(self) -> int | None:
        """Running requests over the fresh ranks; None before the first report."""
        ranks = self.fresh_ranks()
        return sum(report.load.running for _, report in ranks) if ranks else None

    def log_queue(self) -> int | None:
        """Waiting requests over the fresh ranks; None where no report tells."""
        queues = [report.load.queue for _, report in self.fresh_ranks() if report.load.queue is not None]
        return sum(queues) if queues else None


def apply_server(state: ServerState, event: Event, at: datetime, seen_at: datetime) -> ServerState:
    """Fold one event of the server; others change nothing.

    Args:
        state: What was known.
        event: What is said.
        at: By the line's own time.
        seen_at: When the console saw it.
    """
    handle = _HANDLERS.get(type(event))
    return handle(state, event, at, seen_at) if handle else state


def _engine(state: ServerState, event: ev.EngineSeen, at: datetime, _seen: datetime) -> ServerState:
    if not event.started:
        return replace(state, engine=event.engine, version=event.version or state.version)
    if state.started_at is not None and at <= state.started_at:
        return state
    return ServerState(
        engine=event.engine,
        version=event.version,
        phase="starting",
        phase_at=at,
        started_at=at,
        ever_ready=state.ever_ready,
        throughput=state.throughput,
        metrics=state.metrics,
        minutes=state.minutes.restarted(at),
        flight=state.flight.restarted(),
        life=state.life.started(at, crashed=state.phase == "dead"),
    )


def _phase(state: ServerState, event: ev.ServerPhase, at: datetime, _seen: datetime) -> ServerState:
    if state.phase_at is not None and at < state.phase_at:
        return state
    since = state.phase_at if state.phase == event.phase else at
    ready = state.ever_ready or event.phase == "ready"
    life = _life(state, at) if event.phase == "ready" else state.life
    return replace(state, phase=event.phase, phase_share=event.share, phase_at=since, ever_ready=ready, life=life)


def _life(state: ServerState, at: datetime) -> ServerLife:
    """When the server is ready, how long its start took is known."""
    return state.life if state.phase in {"ready", "draining", "dead"} else state.life.ready(state.started_at, at)


def _capacity(state: ServerState, event: ev.ServerCapacity, _at: datetime, _seen: datetime) -> ServerState:
    return replace(state, capacity=event)


def _load(state: ServerState, event: ev.ServerLoad, at: datetime, seen_at: datetime) -> ServerState:
    known = dict(state.ranks)
    former = known.get(event.rank)
    if former is not None and (at < former.at or (at == former.at and event == former.load)):
        return state
    known[event.rank] = reported(former, event, at)
    state = _alive(state, at)
    if former is not None and (at - former.at).total_seconds() > JUMP_S:
        state = replace(state, life=state.life.gap(former, event, at))
    state = replace(
        state,
        ranks=tuple(sorted(known.items())),
        intervals_s=_intervals(state, former, at),
        reported_at=at,
        reported_seen_at=seen_at,
        retractions=state.retractions + event.preemptions,
        minutes=minutes_fold.with_load(state.minutes, (event, at), former, known.values(), state.capacity),
        flight=state.flight.loaded(event, at),
    )
    if event.gen_throughput:
        state = replace(state, progressed_at=at, progressed_seen_at=seen_at)
    return _recorded(state, event, at)


def _intervals(state: ServerState, former: RankReport | None, at: datetime) -> tuple[float, ...]:
    if former is None or former.load.running == 0:
        return state.intervals_s  # silence while idle says nothing of what is usual at work
    return (*state.intervals_s, (at - former.at).total_seconds())[-INTERVALS:]


def _recorded(state: ServerState, event: ev.ServerLoad, at: datetime) -> ServerState:
    throughput, running = state.log_throughput(), state.log_running()
    if throughput is None or not running or event.suspect_throughput or event.gen_throughput is None:
        return state
    return replace(state, throughput=state.throughput.add(at, throughput, running))


def _alive(state: ServerState, at: datetime) -> ServerState:
    """A server that reports serves, unless it is dying."""
    if state.phase == "draining" or (state.trouble_at is not None and at - state.trouble_at <= _REVIVED_AFTER):
        return state
    if state.phase == "dead":
        state = replace(state, trouble=None, trouble_at=None, trouble_seen_at=None)
    phase_at = state.phase_at if state.phase == "ready" else at
    return replace(state, phase="ready", phase_share=None, phase_at=phase_at, ever_ready=True, life=_life(state, at))


def _prefill(state: ServerState, event: ev.ServerPrefill, at: datetime, seen_at: datetime) -> ServerState:
    if state.last_prefill is not None and (at, event) == state.last_prefill:
        return state
    return replace(
        state,
        minutes=minutes_fold.with_prefill(state.minutes, event, at),
        last_prefill=(at, event),
        prompts=state.prompts + event.new_requests,
        prompt_tokens=state.prompt_tokens + event.new_tokens + event.cached_tokens,
        cached_tokens=state.cached_tokens + event.cached_tokens,
        reported_at=at,
        reported_seen_at=seen_at,
        progressed_at=at,
        progressed_seen_at=seen_at,
        flight=state.flight.prefilled(event, at),
    )


def _retraction(state: ServerState, event: ev.Retraction, at: datetime, _seen: datetime) -> ServerState:
    key = (event.rank, at.replace(microsecond=0))
    if key == state.retracted_at:
        return state
    minutes = minutes_fold.with_retraction(state.minutes, event.count, at)
    flight = state.flight.retracted(event, at)
    retractions = state.retractions + event.count
    return replace(state, retractions=retractions, retracted_at=key, minutes=minutes, flight=flight)


def _trouble(state: ServerState, event: ev.ServerTrouble, at: datetime, seen_at: datetime) -> ServerState:
    if state.started_at is not None and at < state.started_at:
        return state
    if event.kind == "disk":
        state = replace(state, life=state.life.full(event.message, at))
    phase = "dead" if event.fatal else state.phase
    phase_at = at if phase != state.phase else state.phase_at
    # The first rank that failed names the cause; what follows are others that lost it. A fatal one outranks.
    if state.trouble is not None and (state.trouble.fatal or not event.fatal):
        return replace(state, phase=phase, phase_at=phase_at)
    return replace(state, phase=phase, phase_at=phase_at, trouble=event, trouble_at=at, trouble_seen_at=seen_at)


def _stopping(state: ServerState, _event: ev.ServerStopping, at: datetime, _seen: datetime) -> ServerState:
    if state.phase in {"draining", "dead"} or (state.started_at is not None and at < state.started_at):
        return state
    return replace(state, phase="draining", phase_at=at, stopping_at=at)


def _metrics(state: ServerState, event: ServerMetrics, at: datetime, _seen: datetime) -> ServerState:
    seen = metrics_seen.after(state.metrics, event, at)
    if seen is state.metrics:
        return state
    minutes = minutes_fold.with_page(state.minutes, state.metrics, seen, state.capacity, alone=not state.ranks)
    state = replace(state, metrics=seen, engine=state.engine or event.engine, minutes=minutes)
    if state.ranks or not event.running:
        return state
    figure = event.gen_throughput if event.gen_throughput is not None else seen.throughput
    return state if figure is None else replace(state, throughput=state.throughput.add(at, figure, event.running))


def _metrics_missing(state: ServerState, event: MetricsMissing, _at: datetime, _seen: datetime) -> ServerState:
    return replace(state, metrics=replace(state.metrics, missing=event.reason))


_HANDLERS: dict[type[Event], Callable[[ServerState, Event, datetime, datetime], ServerState]] = {
    ev.EngineSeen: _engine,  # type: ignore[dict-item]  # each handler gets only events of its key
    ev.ServerPhase: _phase,  # type: ignore[dict-item]
    ev.ServerCapacity: _capacity,  # type: ignore[dict-item]
    ev.ServerLoad: _load,  # type: ignore[dict-item]
    ev.ServerPrefill: _prefill,  # type: ignore[dict-item]
    ev.Retraction: _retraction,  # type: ignore[dict-item]
    ev.ServerTrouble: _trouble,  # type: ignore[dict-item]
    ev.ServerStopping: _stopping,  # type: ignore[dict-item]
    ServerMetrics: _metrics,  # type: ignore[dict-item]
    MetricsMissing: _metrics_missing,  # type: ignore[dict-item]
}

SERVER_EVENTS = frozenset(_HANDLERS)
"""The kinds of events that tell of the server."""
