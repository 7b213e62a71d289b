"""What goes out: start, stop and restart of the job, with their guards. asyncio only, no screen.

Every act has two halves: a plan that only looks, and its carrying out, step by step.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.act_former import former_of, half_done, step_words, truth_of
from console.act_journal import Scribe, lives
from console.act_plan import Planner
from console.act_run import Act
from console.acts import STOP_STEP, ActionPlan, ActResult, Step, Verb
from console.controller import WHEN_LEFT, Controller, LeftOver
from console.job.events import ProcessFact
from console.job.lines import clean
from console.journal import Kind
from console.journal_remote import NEWEST_BYTES, add_there, merged, read_there
from remote.control_checks import gpu_memory
from remote.errors import CommandFailed, RemoteError
from remote.launchers.process import ProcessLauncher
from remote.process import adopt, at_pid

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from console.act_former import Former, HalfDone
    from console.journal import Entry, Journal
    from remote.control_checks import GpuMemory
    from remote.host import Host
    from remote.launchers.base import Launcher
    from remote.process import FoundProcess, JobSpec

GRACE_S = 60.0
"""Seconds between TERM and KILL by default: the job's own drain takes 30, and its files must be flushed."""


def utc_now() -> datetime:
    """The time now."""
    return datetime.now(UTC)


class JobControl:
    """Start, stop and restart of one job on one host; a ``Controller``.

    Args:
        host: The machine.
        spec: The job.
        launcher: How it is found, started and stopped there; by default as a plain process.
        grace_s: Seconds between TERM and KILL.
        clock: The time now, UTC.
        journal: Where acts and refusals are written; None writes none.
        journal_on_host: Write the ends of acts beside the job, too.
        outputs: Files or folders that the job writes, beside its log.
    """

    def __init__(
        self,
        host: Host,
        spec: JobSpec,
        *,
        launcher: Callable[[JobSpec], Launcher] = ProcessLauncher,
        grace_s: float = GRACE_S,
        clock: Callable[[], datetime] = utc_now,
        journal: Journal | None = None,
        journal_on_host: bool = False,
        outputs: Sequence[str] = (),
    ) -> None:
        self._host = host
        self._spec = spec
        self._make = launcher
        self._launcher = launcher(spec)
        self._grace_s = grace_s
        self._clock = clock
        self._journal = journal
        self._journal_on_host = journal_on_host
        self._outputs = tuple(outputs)
        self._restarts = 0
        self.trouble = ""
        """Why the newest entry is not in the host's journal, as a sentence; empty while all is well."""

    async def process_fact(self) -> ProcessFact:
        """What the host's process table says of the job now; one cheap remote step.

        The script's digest is that of the script as it was started, where longwait started it.

        Raises:
            RemoteError: The host could not be asked.
        """
        found = await self._launcher.find(self._host)
        if not found.processes:
            return ProcessFact(alive=False, script_sha256=found.script_sha256, restarts=self._restarts)
        process = found.processes[0]
        return ProcessFact(
            alive=True,
            pid=process.pid,
            started_at=process.started_at,
            command=clean(process.command),
            script_sha256=process.script_sha256 or found.script_sha256,
            adopted=not process.by_record,
            restarts=self._restarts,
        )

    async def plan(self, verb: Verb, script: Path | None = None) -> ActionPlan:
        """Look at the host and say what would be done; see ``Controller.plan``.

        Raises:
            RemoteError: The host could not be asked.
        """
        return self._told(await self._planner(self._launcher).plan(verb, script))

    async def plan_back(self) -> ActionPlan:
        """Say how the former script and command would be put back; see ``Controller.plan_back``.

        Raises:
            RemoteError: The host could not be asked.
        """
        former = former_of(await self._entries(), self._spec.argv)
        if former is None:
            title = f"Roll the job on {self._host.name} back"
            why = "There is nothing to roll back: the journal names no act that replaced the script or the command."
            return self._told(ActionPlan(Verb.RESTART, title, (), refusal=why, rolls_back=True))
        launcher = self._launcher_for(self._argv(former), former.process)
        return self._told(await self._planner(launcher).plan_back(former))

    async def _entries(self) -> tuple[Entry, ...]:
        """The journal, and that on the host: what was done last may have been done from another machine."""
        if self._journal is None:
            return ()
        try:
            return merged(self._journal.entries(), await self.journal_there())
        except CommandFailed as error:
            self.trouble = f"The journal on the host could not be read: {error.message}"
            return self._journal.entries()

    async def journal_there(self, size: int = NEWEST_BYTES) -> tuple[Entry, ...]:
        """What the journal on the host holds; see ``Controller.journal_there``.

        Raises:
            RemoteError: It could not be read.
        """
        if not self._journal_on_host:
            return ()
        return await read_there(self._host, self._spec.python, self._spec.run_dir, size)

    def _argv(self, former: Former) -> tuple[str, ...]:
        """The command to go back to; without a script it is what the job is known by, and stays."""
        return former.argv if former.argv and self._spec.script else self._spec.argv

    async def left_over(self) -> LeftOver | None:
        """Look whether an act was broken off, and how it stands on the host; see ``Controller.left_over``.

        Raises:
            RemoteError: The host could not be asked.
        """
        half = None if self._journal is None else half_done(self._journal.recent(), lives)
        if half is None:
            return None
        truth = truth_of(half, await self._launcher.find(self._host))
        plan = None
        if truth.verb is not None:
            script = Path(half.script) if half.script and truth.verb is not Verb.STOP else None
            finish = self.plan_back() if half.rolls_back else self.plan(truth.verb, script)
            plan = replace(await finish, why=f"finishes what {half.user} began")
        left = LeftOver(self._broken_off(half), truth.lines, plan)
        if plan is None and self._journal is not None:  # so that nobody is asked about it again
            what, words = left.title.rstrip("."), " ".join(truth.lines)
            self._journal.write(Kind.ACTION, what, outcome=words, act=half.act, more=half.ended(truth.started))
        return left

    def _broken_off(self, half: HalfDone) -> str:
        since = f"{half.at:%Y-%m-%d %H:%M:%S} UTC"
        name = "roll back" if half.rolls_back else half.verb.value
        return f"The {name} of {since} by {half.user} was broken off {step_words(half)}."

    async def at_pid(self, pid: int) -> tuple[FoundProcess | None, bool]:
        """The process that has a number on the host now, and whether it may be signalled; None when there is none.

        Raises:
            RemoteError: The host could not be asked.
        """
        return await at_pid(self._host, self._spec.python, pid)

    async def adopt(self, process: FoundProcess) -> None:
        """Take a process that somebody else has started for the job: from then on it is found by a record.

        Raises:
            NotOurProcess: It is gone, or another one has its number.
            JobAlreadyRuns: Another process is the job.
            RemoteError: The host could not be asked.
        """
        what = f"Adopt process {process.pid} as the job on {self._host.name}"
        try:
            await adopt(self._host, self._spec, process.identity)
        except RemoteError as error:
            self._write(Kind.REFUSAL, what, error.message)
            raise
        await self.share(self._write(Kind.ACTION, what, f"Adopted: {clean(process.command)}"))

    def _write(self, kind: Kind, what: str, outcome: str) -> Entry | None:
        return None if self._journal is None else self._journal.write(kind, what, outcome=outcome)

    async def gpu_memory(self, pids: Sequence[int]) -> GpuMemory | None:
        """Ask who holds GPU memory; see ``Controller.gpu_memory``.

        Raises:
            RemoteError: The host could not be asked.
        """
        return await gpu_memory(self._host, self._spec.python, pids=pids)

    async def carry_out(self, plan: ActionPlan, before: Mapping[str, Any] | None = None) -> AsyncGenerator[Step]:
        """Do it, step by step; see ``Controller.carry_out``. Never raises ``RemoteError``: a failed step says it."""
        act = Act(
            self._host, self._launcher_for(plan.argv, plan.env_of), plan, grace_s=self._grace_s, clock=self._clock
        )
        scribe = Scribe(self._journal, plan, before)
        last: Step | None = None
        try:
            async with aclosing(act.steps()) as steps:
                async for step in steps:
                    scribe.take(step)  # before the step is carried out, which the next round does
                    last = step if step.result is None else replace(step, result=replace(step.result, act=scribe.act))
                    yield last
        finally:
            self._restarts += act.started is not None
        failed = last if last is not None and last.state == "failed" else None
        await self.share(scribe.end(failed, act.result))

    async def share(self, entry: Entry | None) -> None:
        """Add an entry to the journal on the host, where that is wanted; a failure is only noted."""
        if entry is None or not self._journal_on_host:
            return
        try:
            await add_there(self._host, self._spec.python, self._spec.run_dir, entry)
        except RemoteError as error:
            self.trouble = f"The journal on the host could not be written: {error.message}"

    def _planner(self, launcher: Launcher) -> Planner:
        return Planner(self._host, launcher, self._grace_s, self._outputs)

    def _launcher_for(self, argv: tuple[str, ...], env_of: tuple[str, int, int] | None) -> Launcher:
        """The launcher of the job with this command and a former process's environment; the config's for none."""
        spec = replace(self._spec, argv=argv or self._spec.argv, env_of=env_of)
        return self._launcher if spec == self._spec else self._make(spec)

    def _told(self, plan: ActionPlan) -> ActionPlan:
        """Keep a refusal in the journal."""
        if plan.refusal is not None:
            self._write(Kind.REFUSAL, plan.title, plan.refusal)
        return plan


if TYPE_CHECKING:
    _CHECKED: type[Controller] = JobControl

__all__ = [
    "STOP_STEP",
    "WHEN_LEFT",
    "ActResult",
    "ActionPlan",
    "Controller",
    "JobControl",
    "LeftOver",
    "Step",
    "Verb",
    "utc_now",
]
