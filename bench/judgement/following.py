"""A simulated run through the same tracker as a replay, honest in time: a step at each point of the grid."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

from console.config import Settings
from console.config_model import built
from console.job.events import Source
from console.job.timeline import HeldBytes, Recorded
from console.job.tracker import Tracker
from console.planned import plan_of
from console.replay_walk import Replay

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.judgement.truth import SimRun, Written
    from console.job.snapshot import Snapshot, Verdict


LOGS = ("server", "job")
"""By logs alone."""
ALL = ("server", "job", "progress")
"""With ``progress.jsonl``."""


def moment(at: float) -> datetime:
    """Seconds since the epoch as a time."""
    return datetime.fromtimestamp(at, UTC)


def recorded(source: Source, log: Written) -> Recorded:
    """A log as it was written, dated by its whole seconds as its stamps are."""
    texts = [line.encode() + b"\n" for line in log.lines]
    newest, last, stamp = 0, -1, moment(0.0)
    times = []
    for at in log.times:
        newest = max(newest, int(at))
        if newest != last:
            last, stamp = newest, moment(newest)
        times.append(stamp)
    return Recorded(source, HeldBytes(b"".join(texts)), tuple(accumulate(map(len, texts))), tuple(times))


def recordings(run: SimRun, which: Sequence[str]) -> list[Recorded]:
    """The logs of a run that hold a line.

    Args:
        run: The run.
        which: Of ``server``, ``job`` and ``progress``.
    """
    logs = {Source.SERVER: run.server, Source.JOB: run.job, Source.PROGRESS: run.events}
    return [recorded(source, log) for source, log in logs.items() if source.value in which and log.lines]


def fresh(run: SimRun) -> Tracker:
    """A tracker that has read nothing of a run but its config."""
    return Tracker(plan_of(built(Settings, run.config)))


class Step:
    """A point of the replay's grid: its verdict, and the whole reading where it is asked for."""

    def __init__(self, replay: Replay, at: datetime, verdict: Verdict) -> None:
        self._replay = replay
        self.at = at
        self.verdict = verdict
        self.now = at.timestamp()

    @cached_property
    def snapshot(self) -> Snapshot:
        """All that is said then; to be asked for before the next step."""
        return self._replay.read(self.at)


class Taker(Protocol):
    """What looks at each step of a run."""

    def take(self, step: Step) -> None:
        """The next step."""


def steps(run: SimRun, which: Sequence[str] = LOGS) -> Iterator[Step]:
    """Play a run for as long as it is watched.

    Args:
        run: The run.
        which: Which of its logs are read.
    """
    replay = Replay(recordings(run, which), lambda: fresh(run))
    for passed in replay.towards(moment(run.truth.watch_until)):
        yield Step(replay, passed.at, passed.verdict)


def play(run: SimRun, which: Sequence[str], *takers: Taker) -> None:
    """Let some look at each step of a run."""
    for step in steps(run, which):
        for taker in takers:
            taker.take(step)
