"""One dataset seen closely: reckoned from what was told, when somebody looks."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from console.job.dataset_detail_lengths import Lengths, lengths_of
from console.job.dataset_run import AT_WORK, FINAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.dataset_run import DatasetRun
    from console.job.failure_kinds import FailureKind
    from console.job.forecasts import Forecasts
    from console.job.reckon import Reckoned
    from console.job.source_clock import SourceClock
    from console.job.state import State
    from console.job.told import Told


@dataclass(frozen=True, slots=True)
class PathPoint:
    """How far the dataset was.

    Attributes:
        at: When, by our clock.
        share: The further of prompts and budget, 0 to 1: the earlier end counts.
    """

    at: datetime
    share: float


@dataclass(frozen=True, slots=True)
class Said:
    """What was said of the end when the dataset was so far; it stood until the next one.

    Attributes:
        share: How far it was, 0 to 1.
        told: The range.
    """

    share: float
    told: Told


@dataclass(frozen=True, slots=True)
class DatasetDetail:
    """What is shown of one dataset beside its line in the snapshot.

    Attributes:
        name: The dataset.
        at: The moment.
        place: Its place in the run, from 0.
        names: All datasets, in the order of the run.
        lengths: How long its completions are.
        path: How far it was over time, oldest first; empty when nothing was told of it.
        said: What was said of its end, in the order of what was done. What would be said now is the last, even where
            the verdict is that no end can be told.
        ended_at: When it ended, by our clock; None while it has not.
        expected: Low and high end of the 80 % range of the mean length of completions to come; None when not known.
        failures: Failed attempts by kind, over all processes; empty where none was told.
        tokens_run: Completion tokens of the newest process; None when not known.
        prompt_tokens: Prompt tokens of the newest process's completions; None when not told.
        over_budget: Tokens beyond the budget; None without a budget, or tokens.
        at_work: Datasets that are at work now.
        has_progress: ``progress.jsonl`` is read.
        has_server: The server's log tells of its requests.
    """

    name: str
    at: datetime
    place: int
    names: tuple[str, ...]
    lengths: Lengths
    path: tuple[PathPoint, ...] = ()
    said: tuple[Said, ...] = ()
    ended_at: datetime | None = None
    expected: tuple[float, float] | None = None
    failures: tuple[FailureKind, ...] = ()
    tokens_run: int | None = None
    prompt_tokens: int | None = None
    over_budget: int | None = None
    at_work: int = 0
    has_progress: bool = False
    has_server: bool = False


def detail_of(
    state: State,
    runs: Sequence[DatasetRun],
    name: str,
    now: datetime,
    *,
    reckoned: Reckoned,
    forecasts: Forecasts,
) -> DatasetDetail | None:
    """Look closely at one dataset; None when there is none of that name.

    It takes some milliseconds, so it is for a dataset that somebody looks at.

    Args:
        state: What was told.
        runs: All datasets, in order.
        name: Which.
        now: The moment, by our clock.
        reckoned: When each will be done.
        forecasts: What was said of the ends before.
    """
    place = next((place for place, run in enumerate(runs) if run.name == name), None)
    if place is None:
        return None
    run = runs[place]
    ended_at = state.job_clock.on_our_clock(run.state_at) if run.state in FINAL and run.state_at else None
    path = path_of(run, state.job_clock)
    told = forecasts.of(name)
    present = None if ended_at else reckoned.ends.get(name)
    if present is not None and (not told or present.at > told[-1].at):
        told = (*told, present)
    believed = reckoned.beliefs.get(name)
    return DatasetDetail(
        name=name,
        at=now,
        place=place,
        names=tuple(each.name for each in runs),
        lengths=lengths_of(run, state.server),
        path=path,
        said=said_of(path, told),
        ended_at=ended_at,
        expected=(believed.low, believed.high) if believed else None,
        failures=state.progress.kinds.of(name),
        tokens_run=_tokens_run(run),
        prompt_tokens=run.prompt_tokens or None,
        over_budget=None if run.budget is None or run.tokens is None else max(0, run.tokens - run.budget),
        at_work=sum(each.state in AT_WORK for each in runs),
        has_progress=state.progress.updated_at is not None,
        has_server=state.server.reported_at is not None,
    )


def _tokens_run(run: DatasetRun) -> int | None:
    if run.tokens_run is not None:
        return run.tokens_run
    return None if run.tokens is None or run.tokens_before is None else max(0, run.tokens - run.tokens_before)


def path_of(run: DatasetRun, clock: SourceClock) -> tuple[PathPoint, ...]:
    """How far a dataset was over time, up to its newest word; of one that has ended, up to its end.

    Args:
        run: The dataset.
        clock: The clock of the job's log.
    """
    ended = run.state in FINAL
    newest = run.state_at if ended else run.updated_at
    if newest is None or run.started_at is None:
        return ()
    newest_s = newest.timestamp()
    points = [(each.time_s, _share(run, each.done, each.tokens)) for each in run.trace.points if each.time_s < newest_s]
    points.append((newest_s, 1.0 if ended else _share(run, run.done, run.tokens)))
    return tuple(PathPoint(clock.on_our_clock(datetime.fromtimestamp(time_s, UTC)), share) for time_s, share in points)


def _share(run: DatasetRun, done: int, tokens: int | None) -> float:
    shares = [done / run.total] if run.total else []
    if run.budget and tokens is not None:
        shares.append(tokens / run.budget)
    return min(1.0, max(shares, default=0.0))


def said_of(path: Sequence[PathPoint], told: Sequence[Told]) -> tuple[Said, ...]:
    """What was said of the end, by how far the dataset was then; of several at one place the newest.

    Args:
        path: How far it was over time, oldest first.
        told: What was said, oldest first.
    """
    found: dict[float, Said] = {}
    reached = 0.0
    for one in told:
        reached = max(reached, share_at(path, one.at))
        found[reached] = Said(reached, one)
    return tuple(found.values())


def share_at(path: Sequence[PathPoint], at: datetime) -> float:
    """How far it was at a moment: between two points in proportion, before the first 0, behind the last as there."""
    place = bisect_right(path, at, key=lambda point: point.at)
    if place == 0:
        return 0.0
    if place == len(path):
        return path[-1].share
    old, new = path[place - 1], path[place]
    return old.share + (new.share - old.share) * ((at - old.at) / (new.at - old.at))
