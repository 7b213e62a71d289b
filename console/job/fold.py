"""What a chunk of a log says, folded at once: the same as one event after the other, at a fraction of the time.

``fold(state, told, source, seen_at)`` is ``heard`` and ``apply`` for each of ``told``, in order. Runs of the kinds of
events that come by the ten thousand, the server's reports and the job's completions, change a working copy in place.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.job import server_draft, trail_draft
from console.job.events import Completion, Heartbeat, Source, Stamped
from console.job.server_draft import ServerDraft
from console.job.server_events import ServerLoad, ServerPrefill
from console.job.state import State, apply, heard
from console.job.trail_draft import TrailDraft

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


def fold(state: State, told: Sequence[Stamped], source: Source, seen_at: datetime) -> State:
    """Fold all that a chunk of a log says.

    Args:
        state: What was known.
        told: The events, in the order of their lines.
        source: Which log.
        seen_at: When the console saw them.
    """
    state = _heard(state, told, source, seen_at)
    place = 0
    while place < len(told):
        run = told[place : _run_end(told, place, source)]
        place += len(run)
        state = _at_once(state, run, source, seen_at) or _one_by_one(state, run, source, seen_at)
    return state


def _one_by_one(state: State, told: Sequence[Stamped], source: Source, seen_at: datetime) -> State:
    for stamped in told:
        state = apply(state, stamped, source=source, seen_at=seen_at)
    return state


def _heard(state: State, told: Sequence[Stamped], source: Source, seen_at: datetime) -> State:
    """What the stamps of one chunk say of the log's clock.

    All were seen at once, so behind the first one only the newest can tell more: it lags least.
    """
    ats = [stamped.at for stamped in told if not stamped.guessed]
    if not ats:
        return state
    state = heard(state, source, ats[0], seen_at)
    return heard(state, source, max(ats), seen_at)


def _run_end(told: Sequence[Stamped], start: int, source: Source) -> int:
    """Where a run of events ends that one working copy can take; a run of one may also be for ``apply``."""
    first = told[start].event
    end = start + 1
    if type(first) in server_draft.HOT:
        while end < len(told) and type(told[end].event) in server_draft.HOT:
            end += 1
    elif isinstance(first, Completion | Heartbeat) and _is_news(told[start], source):
        while end < len(told) and _is_news(told[end], source) and told[end].event.name == first.name:  # type: ignore[union-attr]  # both kinds have a name
            end += 1
    return end


def _is_news(stamped: Stamped, source: Source) -> bool:
    """Whether it is of the kinds that a working copy of the job takes."""
    return source is Source.PROGRESS and type(stamped.event) in trail_draft.HOT and not stamped.guessed


def _at_once(state: State, run: Sequence[Stamped], source: Source, seen_at: datetime) -> State | None:
    """A run of one kind folded in a working copy; None when what is known is not of the kind that a copy can take."""
    if type(run[0].event) in server_draft.HOT:
        return _reports(state, run, seen_at) if ServerDraft.steady(state.server) else None
    return _completions(state, run, seen_at) if _is_news(run[0], source) else None


def _reports(state: State, run: Sequence[Stamped], seen_at: datetime) -> State:
    draft = ServerDraft(state.server, seen_at)
    load, prefill = draft.load, draft.prefill
    for at, event, _ in run:
        if isinstance(event, ServerLoad):
            load(event, at)
        elif isinstance(event, ServerPrefill):
            prefill(event, at)
    return replace(state, server=draft.freeze())


def _completions(state: State, run: Sequence[Stamped], seen_at: datetime) -> State | None:
    """The first one may put its dataset to work; the others then only add to its figures."""
    name = run[0].event.name  # type: ignore[union-attr]  # both kinds have a name
    dataset = TrailDraft.at_work(state.progress, name)
    if dataset is None:
        state = apply(state, run[0], source=Source.PROGRESS, seen_at=seen_at)
        run, dataset = run[1:], TrailDraft.at_work(state.progress, name)
    if dataset is None or not run:
        return _one_by_one(state, run, Source.PROGRESS, seen_at)
    draft = TrailDraft(state.progress, dataset)
    completion, heartbeat = draft.completion, draft.heartbeat
    for at, event, _ in run:
        if isinstance(event, Completion):
            completion(event, at)
        elif isinstance(event, Heartbeat):
            heartbeat(event, at)
    return replace(state, progress=draft.freeze())
