"""What a proof after a start compares with: how the run was before, and what was started; JSON both ways."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from statistics import quantiles
from typing import TYPE_CHECKING, Any

from console.job.dataset_run import FINAL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.job.snapshot import DatasetView, ServerView, Snapshot

FEW = 5
"""Fewer figures make no range."""

AROUND = 0.2
"""Share around the usual throughput that stands for its range where its history is too short."""


@dataclass(frozen=True, slots=True)
class Range:
    """The throughput from before: most of its figures lie in it.

    Attributes:
        low: Tokens a second, the 10th percentile.
        high: The 90th.
        running: Requests that ran then; None when not known.
    """

    low: float
    high: float
    running: int | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """How far one dataset was when the new process was started.

    Attributes:
        name: Its name.
        done: Prompts done.
        met: Nothing was left to do, or its budget was used up.
        updated_at: The newest word on it, by the job's clock; None when there was none.
    """

    name: str
    done: int
    met: bool
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class Before:
    """How the run was before the new process.

    Attributes:
        marks: The datasets, in their order.
        throughput: What was usual; None when not known.
        server_at: The server's newest report, by its clock.
        gpu_pids: Processes of the old job that held GPU memory; None when that is not known.
    """

    marks: tuple[Mark, ...] = ()
    throughput: Range | None = None
    server_at: datetime | None = None
    gpu_pids: tuple[int, ...] | None = None

    def values(self) -> dict[str, Any]:
        """It as plain values, ready for ``json.dumps``."""
        made = self.throughput
        return {
            "marks": [[each.name, each.done, each.met, _iso(each.updated_at)] for each in self.marks],
            "throughput": None if made is None else [made.low, made.high, made.running],
            "server_at": _iso(self.server_at),
            "gpu_pids": None if self.gpu_pids is None else list(self.gpu_pids),
        }


@dataclass(frozen=True, slots=True)
class Begun:
    """What was started, and what it is to be compared with.

    Attributes:
        at: When the start had succeeded, by the console's clock.
        pid: The new process.
        started_at: When it began, by the host's clock; None when not known.
        sha256: SHA-256 of the script that was sent, or was to stay; None when the job has no script.
        before: How the run was.
    """

    at: datetime
    pid: int
    started_at: datetime | None
    sha256: str | None
    before: Before


def before_of(usual: Snapshot | None, now: Snapshot | None, gpu_pids: tuple[int, ...] | None) -> Before:
    """What to compare with.

    Args:
        usual: While the old job was at work; None when that was not seen.
        now: Just before the new process is started; None when nothing is known of the run.
        gpu_pids: Processes of the old job that held GPU memory; None when that is not known.
    """
    if now is None:
        return Before(gpu_pids=gpu_pids)
    marks = tuple(Mark(view.name, view.done, _met(view), view.updated_at) for view in now.datasets)
    made = range_of(usual.server) if usual is not None else None
    return Before(marks, made, now.server.updated_at, gpu_pids)


def _met(view: DatasetView) -> bool:
    over = bool(view.budget) and view.tokens is not None and view.budget is not None and view.tokens >= view.budget
    return view.state in FINAL or over


def range_of(server: ServerView) -> Range | None:
    """The range of the recent throughput: 10th to 90th percentile, or around what is usual; None when not known."""
    figures = [figure for figure in server.throughput_history if figure is not None]
    if len(figures) >= FEW:
        deciles = quantiles(figures, n=10, method="inclusive")
        return Range(deciles[0], deciles[-1], server.running)
    usual = server.usual_throughput or server.gen_throughput
    return None if not usual else Range(usual * (1 - AROUND), usual * (1 + AROUND), server.running)


def before_from(values: Mapping[str, Any] | None) -> Before:
    """Read what ``Before.values`` gave; what can't be read is not known."""
    try:
        given = values or {}
        made, pids = given.get("throughput"), given.get("gpu_pids")
        return Before(
            tuple(Mark(str(name), int(done), bool(met), _time(at)) for name, done, met, at in given.get("marks", ())),
            None if made is None else Range(float(made[0]), float(made[1]), made[2]),
            _time(given.get("server_at")),
            None if pids is None else tuple(int(pid) for pid in pids),
        )
    except (TypeError, ValueError, IndexError, AttributeError):
        return Before()


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
