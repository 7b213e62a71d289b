"""The lines of the proof after a start, each from what the run shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from console.job.dataset_run import FINAL
from console.job.snapshot import DatasetState
from console.job.units import count, plural, rate, size

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.proof_facts import Begun, Mark, Range
    from console.job.snapshot import DatasetView, Snapshot

State = Literal["waiting", "ok", "failed", "unknown"]

PROCESS, SCRIPT, BUDGETS, COUNTS = (
    "the process lives",
    "the script is the one sent",
    "budgets are honoured",
    "counts go on",
)
FIRST, SPEED, ERRORS, GPU = "first progress line", "throughput as before", "no errors", "GPU memory is freed"

STAMP = timedelta(seconds=2)
"""Stamps of logs are cut to a second, and a process table's times are good to some hundredths."""

LATE = timedelta(seconds=60)
"""How long a line may be late at least, before that is said."""

PATIENCE = timedelta(minutes=3)
"""After which a throughput that is not as before is told: a batch fills within two minutes."""

NO_DUE = timedelta(hours=1)
"""After which a line of which nobody could say when it is due is given up."""

GPU_S = 60.0
"""Seconds within which a driver frees what an ended process held."""

LOW, LIKE = 0.9, 0.25
"""Share of the range's low end that is still as before; and share within which numbers of requests are alike."""


@dataclass(frozen=True, slots=True)
class Item:
    """One line of the checklist.

    Attributes:
        name: What is to be proven.
        state: ``waiting``, ``ok``, ``failed`` or ``unknown`` (it can't be seen; that is no failure).
        detail: What was seen.
        due: Early and late end of when it is expected; None when that can't be told.
    """

    name: str
    state: State = "waiting"
    detail: str = ""
    due: tuple[datetime, datetime] | None = None


@dataclass(frozen=True, slots=True)
class GpuSeen:
    """Who of the old job's processes still holds GPU memory.

    Attributes:
        held: Process to MiB, None where the driver does not say; empty when all is free.
        error: Why it can't be seen; empty when it can.
    """

    held: tuple[tuple[int, int | None], ...] = ()
    error: str = ""


class Seen:
    """What a snapshot says of the new process, told from what the old one has said."""

    def __init__(self, begun: Begun, snapshot: Snapshot) -> None:
        self.begun = begun
        self.snapshot = snapshot
        self.marks = {mark.name: mark for mark in begun.before.marks}
        self.news = tuple(view for view in snapshot.datasets if self._is_news(view))
        at_work = [view for view in self.news if view.state is DatasetState.RUNNING]
        self.working: DatasetView | None = at_work[0] if at_work else None

    def _is_news(self, view: DatasetView) -> bool:
        """Whether the new process has spoken of it: later than all that was known, and not before it began.

        The job's stamps and the process table are by the host's clock; a log without stamps is by the console's.
        """
        known = self.marks.get(view.name)
        if view.updated_at is None or (known and known.updated_at and view.updated_at <= known.updated_at):
            return False
        began = min(self.begun.started_at or self.begun.at, self.begun.at)
        return view.updated_at >= began - STAMP

    @property
    def looked(self) -> bool:
        """Whether the process table was asked since the start."""
        asked = self.snapshot.job.checked_at
        return asked is not None and asked >= self.begun.at


def process(seen: Seen) -> Item:
    """Whether the process that was started lives, and no other does in its place."""
    job, pid = seen.snapshot.job, seen.begun.pid
    if not seen.looked:
        return Item(PROCESS)
    if not job.alive:
        return Item(PROCESS, "failed", f"process {pid} has ended; the end of its log says why")
    if job.pid != pid:
        return Item(PROCESS, "failed", f"process {job.pid} runs in place of {pid}")
    return Item(PROCESS, "ok", f"process {pid}")


def script(seen: Seen) -> Item:
    """Whether the script that runs is the one that was sent."""
    wanted, runs = seen.begun.sha256, seen.snapshot.job.script_sha256
    if wanted is None:
        return Item(SCRIPT, "unknown", "the config names no script of the job")
    if not seen.looked:
        return Item(SCRIPT)
    if runs is None:
        return Item(SCRIPT, "unknown", "the host does not say which script runs")
    if runs != wanted:
        return Item(SCRIPT, "failed", f"{runs[:8]} runs, and {wanted[:8]} was sent")
    return Item(SCRIPT, "ok", f"SHA-256 {runs[:8]}")


def budgets(seen: Seen) -> Item:
    """Whether what had met its budget, or was done, is left alone: told to be skipped, or passed by."""
    met = [mark.name for mark in seen.begun.before.marks if mark.met]
    if not met:
        return Item(BUDGETS, "ok", "none had been met or done before")
    told = {view.name: view for view in seen.news}
    again = [name for name in met if name in told and told[name].state is DatasetState.RUNNING]
    if again:
        return Item(BUDGETS, "failed", f"{again[0]} runs again, and nothing was left to do of it")
    skipped = [name for name in met if name in told and told[name].state in FINAL]
    if len(skipped) == len(met):
        return Item(BUDGETS, "ok", f"{', '.join(met)} skipped")
    order = [mark.name for mark in seen.begun.before.marks]
    reached = max((order.index(view.name) for view in seen.news if view.name in order), default=-1)
    passed = all(order.index(name) < reached for name in met if name not in skipped)
    if seen.working is not None and passed:
        return Item(BUDGETS, "ok", f"{', '.join(met)} left out")
    return Item(BUDGETS, "waiting", f"{len(skipped)} of {len(met)} skipped" if skipped else "")


def counts(seen: Seen) -> Item:
    """Whether what was done stays done, up to the dataset that the new process is at."""
    marks = {name: mark for name, mark in seen.marks.items() if mark.done}
    if not marks:
        return Item(COUNTS, "ok", "nothing had been done before")
    spoken = [view for view in seen.news if view.state in FINAL or view.state is DatasetState.RUNNING]
    less = [(view, marks[view.name]) for view in spoken if view.name in marks and view.done < marks[view.name].done]
    if less:
        view, mark = less[0]
        return Item(COUNTS, "failed", f"{view.name} is at {count(view.done)}, and {count(mark.done)} were done before")
    if seen.working is not None:
        return Item(COUNTS, "ok", _goes_on(seen.working, marks.get(seen.working.name)))
    if spoken and all(view.state in FINAL for view in seen.snapshot.datasets):
        return Item(COUNTS, "ok", "every dataset is done")
    return Item(COUNTS)


def _goes_on(view: DatasetView, mark: Mark | None) -> str:
    before = f"{count(mark.done)} before" if mark is not None else "not begun before"
    return f"{view.name} at {count(view.done)} of {count(view.total)} ({before})"


def first(seen: Seen, former: Item) -> Item:
    """Whether the first progress line has come; late only when it is later than could be expected."""
    now = seen.snapshot.at
    for view in seen.news:
        if view.done > view.done_before and view.state is not DatasetState.LOADING:
            return Item(FIRST, "ok", f"{view.name} {count(view.done)} of {count(view.total)}", former.due)
    if seen.news and all(view.state in FINAL for view in seen.snapshot.datasets):
        return Item(FIRST, "ok", "nothing was left to do")
    due = seen.snapshot.first_due if seen.working is not None and seen.snapshot.first_due else former.due
    if due is None:
        waited = now - seen.begun.at
        return Item(FIRST, "unknown", "none came, and when it is due can't be told") if waited > NO_DUE else Item(FIRST)
    if now > due[1] + max(LATE, due[1] - due[0]):
        return Item(FIRST, "failed", "it has not come in the time that it should take", due)
    return Item(FIRST, "waiting", "the first batch starts all at once", due)


def speed(seen: Seen, sent: datetime | None) -> Item:
    """Whether tokens are made as fast as before; the slow minutes in which the batch fills speak for nothing."""
    usual, server = seen.begun.before.throughput, seen.snapshot.server
    if usual is None:
        return Item(SPEED, "unknown", "how fast it was before is not known")
    if sent is None:
        return Item(SPEED)
    newer = server.updated_at is not None and server.updated_at != seen.begun.before.server_at
    made = server.gen_throughput if newer else None
    span = f"{count(usual.low)} to {rate(usual.high)} before"
    if made is not None and made >= LOW * usual.low:
        return Item(SPEED, "ok", f"{rate(made)}; {span}")
    if seen.snapshot.at - sent < PATIENCE:
        return Item(SPEED, "waiting", span if made is None else f"{rate(made)} now; {span}")
    return _slow(made, server.running, usual, span)


def _slow(made: float | None, runs: int | None, usual: Range, span: str) -> Item:
    """A throughput that is not as before, after some minutes."""
    if made is None:
        return Item(SPEED, "unknown", "the server has told of none since")
    ran = usual.running
    if runs is not None and ran is not None and abs(runs - ran) > LIKE * ran:
        return Item(SPEED, "unknown", f"{rate(made)} with {runs} running can't be compared with {ran} before ({span})")
    return Item(SPEED, "failed", f"{rate(made)}; {span}")


def errors(seen: Seen, checkpoint: Item) -> Item:
    """Whether no request has failed for good up to the first progress line, which is ``checkpoint``."""
    spoken = [view for view in seen.news if view.state is not DatasetState.SKIPPED]
    failed = sum(view.errors for view in spoken)
    if failed:
        return Item(ERRORS, "failed", f"{plural(failed, 'request')} failed for good since the start")
    if checkpoint.state in {"ok", "unknown"}:
        return Item(
            ERRORS,
            checkpoint.state,
            "none up to the first progress line" if checkpoint.state == "ok" else checkpoint.detail,
        )
    return Item(ERRORS)


def gpu(seen: Seen, memory: GpuSeen | None) -> Item:
    """Whether what the old job's processes held of the GPUs' memory is free."""
    pids = seen.begun.before.gpu_pids
    if pids == ():
        return Item(GPU, "ok", "the old job held none")
    if pids is None:
        return Item(GPU, "unknown", "whether the old job held any can't be seen (no answer of nvidia-smi)")
    if memory is None:
        return Item(GPU)
    if memory.error:
        return Item(GPU, "unknown", memory.error)
    if not memory.held:
        return Item(GPU, "ok", f"what {count(len(pids))} of the old job's processes held is free")
    held = ", ".join(f"{pid} ({size(None if mib is None else mib * 1_048_576)})" for pid, mib in memory.held)
    waited_s = (seen.snapshot.at - seen.begun.at).total_seconds()
    return Item(GPU, "failed" if waited_s > GPU_S else "waiting", f"still held by {held}")
