"""Health, connection, process and files, folded from what the host answered. All times are the console's."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from console.job import host_events as ev

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from console.job.events import Event

_KEPT_PROBES = 20
"""Health checks kept, to see one that flaps."""

LATE = timedelta(minutes=5)
"""An answer older than the newest by up to this came late: none takes longer. One older still means that the console's
clock was put back, and is the newest word."""

BAD = frozenset({"missing", "unreadable"})
"""States of a file that can't be followed now."""


@dataclass(frozen=True, slots=True)
class HealthState:
    """The health checks.

    Attributes:
        probe: The newest.
        at: When it came back.
        failing_since: The first of the present row of failures; None while ok.
        failures: How many in a row.
        ok_at: The newest that was ok.
        recent: When and whether ok, the newest last.
    """

    probe: ev.HealthProbe | None = None
    at: datetime | None = None
    failing_since: datetime | None = None
    failures: int = 0
    ok_at: datetime | None = None
    recent: tuple[tuple[datetime, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class LinkState:
    """The connection; ``fact`` is None before the first word of it. ``up_at``: when it was last up."""

    fact: ev.LinkFact | None = None
    since: datetime | None = None
    up_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ProcessState:
    """The job's process; ``fact`` is None until the host was asked. ``seen_at``: when one was last alive."""

    fact: ev.ProcessFact | None = None
    at: datetime | None = None
    seen_at: datetime | None = None
    gone_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class HostState:
    """What the host answered.

    Attributes:
        health: Health checks.
        link: The connection.
        process: The job's process.
        sources: Source to the newest word of its file and when that came.
    """

    health: HealthState = field(default_factory=HealthState)
    link: LinkState = field(default_factory=LinkState)
    process: ProcessState = field(default_factory=ProcessState)
    sources: tuple[tuple[ev.Source, ev.SourceFact, datetime], ...] = ()

    def source(self, source: ev.Source) -> ev.SourceFact | None:
        """The newest word of a followed log; None before the first. Of several files, the best off speaks."""
        facts = self.files(source)
        return next((fact for fact in reversed(facts) if fact.state not in BAD), facts[-1] if facts else None)

    def files(self, source: ev.Source) -> list[ev.SourceFact]:
        """The newest word of each file of a log, in the order in which they came."""
        return [fact for known, fact, _ in self.sources if known is source]


def came_late(at: datetime, newest: datetime | None) -> bool:
    """Whether an answer is older than the newest one, rather than told by a clock that was put back meanwhile."""
    return newest is not None and timedelta() < newest - at <= LATE


def apply_host(state: HostState, event: Event, at: datetime) -> HostState:
    """Fold one answer of the host; other events change nothing."""
    handle = _HANDLERS.get(type(event))
    return handle(state, event, at) if handle else state


def _health(state: HostState, event: ev.HealthProbe, at: datetime) -> HostState:
    known = state.health
    if came_late(at, known.at) or (at == known.at and event == known.probe):
        return state
    recent = (*known.recent, (at, event.ok))[-_KEPT_PROBES:]
    if event.ok:
        return replace(state, health=HealthState(event, at, ok_at=at, recent=recent))
    since = min(known.failing_since or at, at)
    return replace(state, health=HealthState(event, at, since, known.failures + 1, known.ok_at, recent))


def _link(state: HostState, event: ev.LinkFact, at: datetime) -> HostState:
    known = state.link
    same = known.fact is not None and known.fact.state == event.state
    # Lost and connecting take turns while it is away: it has been away since the first of them.
    away = known.fact is not None and "up" not in {known.fact.state, event.state}
    since = known.since if same or away else at
    up_at = at if event.state == "up" else known.up_at
    return replace(state, link=LinkState(event, since, up_at))


def _process(state: HostState, event: ev.ProcessFact, at: datetime) -> HostState:
    known = state.process
    if came_late(at, known.at):
        return state
    if event.alive:
        return replace(state, process=ProcessState(event, at, seen_at=at))
    return replace(state, process=ProcessState(event, at, known.seen_at, min(known.gone_since or at, at)))


def _source(state: HostState, event: ev.SourceFact, at: datetime) -> HostState:
    kept = tuple(entry for entry in state.sources if (entry[0], entry[1].path) != (event.source, event.path))
    return replace(state, sources=(*kept, (event.source, event, at)))


_HANDLERS: dict[type[Event], Callable[[HostState, Event, datetime], HostState]] = {
    ev.HealthProbe: _health,  # type: ignore[dict-item]  # each handler gets only events of its key
    ev.LinkFact: _link,  # type: ignore[dict-item]
    ev.ProcessFact: _process,  # type: ignore[dict-item]
    ev.SourceFact: _source,  # type: ignore[dict-item]
}
