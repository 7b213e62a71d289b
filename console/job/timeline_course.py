"""The course of a run as its logs date it: when datasets began and ended, and when processes were started."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from console.job.dataset_run import DatasetRun
    from console.job.state import State

_ONE_START = timedelta(minutes=2)
"""Starts within this are one: the job's logs and the process table date the same process differently."""


@dataclass(frozen=True, slots=True)
class Span:
    """When a dataset was worked on.

    Attributes:
        name: The dataset.
        began_at: When the newest process of the job turned to it; None while none has.
        ended_at: When nothing of it was left to do; None while something is.
    """

    name: str
    began_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """What the logs date of a run, on the console's clock.

    Attributes:
        spans: The datasets, in the order of the run.
        job_starts: When processes of the job began, oldest first; of a run that was begun anew, only the newest.
        server_starts: When processes of the server began, likewise.
    """

    spans: tuple[Span, ...] = ()
    job_starts: tuple[datetime, ...] = ()
    server_starts: tuple[datetime, ...] = ()

    @property
    def first(self) -> datetime | None:
        """When the run began; None before the job was heard."""
        known = [*self.job_starts[:1], *(span.began_at for span in self.spans if span.began_at)]
        return min(known, default=None)


def course_of(state: State, runs: Iterable[DatasetRun]) -> Course:
    """The course of a run.

    Args:
        state: What was told.
        runs: The datasets, by all that was told of them.
    """
    # Imported here: the snapshot, which the states of datasets stand beside, holds a course.
    from console.job.dataset_run import FINAL  # noqa: PLC0415

    clock = state.job_clock
    spans = []
    for run in runs:
        began = run.announced_at or run.started_at
        ended = run.state_at if run.state in FINAL else None
        spans.append(Span(run.name, began and clock.on_our_clock(began), ended and clock.on_our_clock(ended)))
    told = [trail.starts[-1:] if trail.anew else trail.starts for trail in (state.log, state.progress)]
    return Course(
        tuple(spans),
        once(clock.on_our_clock(at) for starts in told for at in starts),
        once(state.server_clock.on_our_clock(at) for at in state.server.life.starts),
    )


def once(starts: Iterable[datetime]) -> tuple[datetime, ...]:
    """Starts in the order of time, each once, however many tell of it."""
    kept: list[datetime] = []
    for at in sorted(starts):
        if not kept or at - kept[-1] > _ONE_START:
            kept.append(at)
    return tuple(kept)
