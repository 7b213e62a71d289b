"""When the run will be done: what is known, played through to its end.

Tokens left over tokens a second, never requests over requests a second: requests a second fall while answers grow
longer and say nothing of the time left, tokens a second hold. ``console.job.stages`` says what each dataset still
needs, ``console.job.outlook_of`` how fast tokens will be made, ``console.job.simulate`` plays both through.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from console.job.by_counts import by_counts
from console.job.dataset_run import AT_WORK, FINAL
from console.job.first_progress import first_due
from console.job.host_views import job_view
from console.job.outlook_of import by_guess, lately, outlook_of
from console.job.simulate import Span, play
from console.job.snapshot import DatasetState, Eta
from console.job.stages import ahead_of
from console.job.told import Told
from console.job.units import rate, tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from console.job.dataset_run import DatasetRun
    from console.job.length_belief import LengthBelief
    from console.job.outlook import Outlook
    from console.job.plan import Plan
    from console.job.simulate import Played
    from console.job.stages import Ahead
    from console.job.state import State

COVERAGE = 0.8
"""How often a range should hold."""

_FAR_S = 100 * 365.25 * 86_400
"""No end is told beyond a hundred years: a server that makes next to nothing would otherwise leave the calendar."""


_SEEN_ONLY = "That is of the datasets seen so far: nothing says what the job does after them."
"""Said where neither a plan nor the job's own list tells of what is to come."""


_BY = {
    "server": "",
    "progress": " by the job's own counts",
    "guess": ", a guess until the first tokens are made",
}
"""How the speed is known, in words."""


@dataclass(frozen=True, slots=True)
class Reckoned:
    """When it will be done.

    Attributes:
        whole: The whole run.
        ends: Unfinished dataset to the range of its end, as far as known.
        beliefs: Unfinished dataset to what is believed of its answers' lengths, as far as known.
        first_due: Early and late end of the range in which the first progress line of the dataset at work is due; None
            when it has come, or can't be told.
    """

    whole: Eta
    ends: Mapping[str, Told] = field(default_factory=dict)
    beliefs: Mapping[str, LengthBelief] = field(default_factory=dict)
    first_due: tuple[datetime, datetime] | None = None


def reckon(state: State, runs: Sequence[DatasetRun], plan: Plan, first_completions: int, now: datetime) -> Reckoned:
    """When it will be done, as far as can be told.

    Args:
        state: What was told.
        runs: The datasets in order.
        plan: The run as planned.
        first_completions: Completions after which the job prints its first progress line.
        now: No end lies before it.
    """
    early = _without_reckoning(state, runs)
    if early is not None:
        return Reckoned(early)
    current = next((run for run in runs if run.state is DatasetState.RUNNING), None)
    seen = lately(state.server, current)
    outlook = outlook_of(state.server, seen, current, max(state.log.tokens, state.progress.tokens, key=len))
    if outlook is None:
        counted = _by_counts(state, runs, now)
        if counted is not None:
            return counted
        if any(each.span_s for each in state.server.minutes.bins(0)):
            return Reckoned(Eta(basis="The server reports, and makes no tokens, so no end can be told."))
        first = next((run.concurrency for run in runs if run.state not in FINAL and run.concurrency), None)
        outlook = by_guess(first)
    running = seen.running if seen is not None else None
    planned = {dataset.name: dataset for dataset in plan.datasets}
    ahead = ahead_of(runs, state.server, planned, running, now)
    anchor = _anchor(state, runs, outlook, now)
    played = play(ahead.stages, outlook, COVERAGE) if ahead.stages else None
    ends = {} if played is None else _ends(ahead, played, anchor, now)
    if played is None or ahead.unknown:
        return Reckoned(Eta(basis=f"No end can be told: {ahead.unknown}."), ends, ahead.beliefs)
    last = ends[ahead.stages[-1].name]
    basis = _basis(ahead, played, outlook)
    if not (plan.datasets or state.log.order or state.progress.order):
        basis += " " + _SEEN_ONLY
    whole = Eta(last.middle, last.low, last.high, COVERAGE, basis, round(played.tokens))
    return Reckoned(whole, ends, ahead.beliefs, _first_due(state, ahead, outlook, current, first_completions))


def _without_reckoning(state: State, runs: Sequence[DatasetRun]) -> Eta | None:
    """What is said when nothing is to be reckoned, or can be."""
    if not runs:
        return Eta(basis="Nothing has been seen of the run yet.")
    if all(run.state in FINAL for run in runs):
        end = max((run.state_at for run in runs if run.state_at is not None), default=None)
        return Eta(at=end, low=end, high=end, basis="The run is done.", tokens_left=0)
    if not any(run.state is not DatasetState.WAITING for run in runs):
        return Eta(basis="No dataset has begun yet, so no end can be told.")
    if job_view(state.host.process, state.log, state.progress).finished:
        return Eta(basis="The job does not run, so no end can be told.")
    return None


def _by_counts(state: State, runs: Sequence[DatasetRun], now: datetime) -> Reckoned | None:
    """Where neither the server nor the job tells of tokens, its counts of requests must do; None before there are."""
    span = by_counts(runs)
    if span is None:
        return None
    told = _told(span, _job_anchor(state, runs, now), now)
    basis = "By counts of requests alone, which mislead while answers grow, so the range is wide."
    return Reckoned(Eta(told.middle, told.low, told.high, COVERAGE, basis))


def _anchor(state: State, runs: Sequence[DatasetRun], outlook: Outlook, now: datetime) -> datetime:
    """The moment of which what is left is true, on the console's clock."""
    if outlook.source == "server" and state.server.reported_at is not None:
        return min(now, state.server_clock.on_our_clock(state.server.reported_at))
    return _job_anchor(state, runs, now)


def _job_anchor(state: State, runs: Sequence[DatasetRun], now: datetime) -> datetime:
    times = [run.updated_at for run in runs if run.state in AT_WORK and run.updated_at is not None]
    return min(now, state.job_clock.on_our_clock(max(times))) if times else now


def _ends(ahead: Ahead, played: Played, anchor: datetime, now: datetime) -> dict[str, Told]:
    return {stage.name: _told(span, anchor, now) for stage, span in zip(ahead.stages, played.ends, strict=True)}


def _told(span: Span, anchor: datetime, now: datetime) -> Told:
    """A range of seconds as moments; none lies before now."""
    low, middle, high = (
        max(now, anchor + timedelta(seconds=min(seconds, _FAR_S))) for seconds in (span.low, span.middle, span.high)
    )
    return Told(now, low, middle, high)


def _first_due(
    state: State, ahead: Ahead, outlook: Outlook, current: DatasetRun | None, completions: int
) -> tuple[datetime, datetime] | None:
    if current is None or current.done_run or current.started_at is None or ahead.stages[0].name != current.name:
        return None
    began = state.job_clock.on_our_clock(current.started_at)
    span = first_due(ahead.stages[0], outlook, completions, COVERAGE)
    return began + timedelta(seconds=min(span.low, _FAR_S)), began + timedelta(seconds=min(span.high, _FAR_S))


def _basis(ahead: Ahead, played: Played, outlook: Outlook) -> str:
    first = f"{tokens(played.tokens)} tokens left at {rate(outlook.made)}{_BY[outlook.source]}"
    waiting = sum(not stage.begun for stage in ahead.stages)
    guessed = [name for name, belief in ahead.beliefs.items() if belief.source == "prior"]
    if not waiting:
        return f"{first}."
    known = ", whose lengths are taken from others" if len(guessed) == waiting else ""
    return f"{first}; {waiting} dataset{'s have' if waiting > 1 else ' has'} not begun{known}."
