"""What goes out: start, stop and restart of the job, with their guards. asyncio only, no screen.

Every act has two halves: a plan that only looks, and its carrying out, step by step.
"""

from __future__ import annotations

from contextlib import aclosing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from console.act_plan import Planner
from console.act_run import STOP_STEP, Act
from console.acts import ActionPlan, Step, Verb
from console.job.events import ProcessFact
from console.job.lines import clean
from remote.launchers.process import ProcessLauncher

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable
    from pathlib import Path

    from remote.host import Host
    from remote.launchers.base import Launcher
    from remote.process import JobSpec

GRACE_S = 60.0
"""Seconds between TERM and KILL by default: the job's own drain takes 30, and its files must be flushed."""

WHEN_LEFT = "The host goes on with the stop by itself; look again with `longwait status`."
"""What to tell who leaves a stop before its end (Ctrl-C): ``carry_out`` can't, since a cancelled one says nothing more.

It is true from the first detail of ``STOP_STEP`` on; before, nothing has been asked of the host.
"""


def utc_now() -> datetime:
    """The time now."""
    return datetime.now(UTC)


class Controller(Protocol):
    """What the screen and the commands need of control."""

    async def plan(self, verb: Verb, script: Path | None = None) -> ActionPlan:
        """Look at the host and say what would be done; changes nothing.

        Args:
            verb: The act.
            script: For start and restart: a local script to put in place of the host's; None keeps it.
        """
        ...

    def carry_out(self, plan: ActionPlan) -> AsyncIterator[Step]:
        """Do it; a step that fails is the last one. Whatever the plan saw is proven again first.

        When it is left in the middle of a stop, the host goes on by itself; ``WHEN_LEFT`` says so.
        """
        ...


class JobControl:
    """Start, stop and restart of one job on one host; a ``Controller``.

    Args:
        host: The machine.
        spec: The job.
        launcher: How it is found, started and stopped there; by default as a plain process.
        grace_s: Seconds between TERM and KILL.
        clock: The time now, UTC.
    """

    def __init__(
        self,
        host: Host,
        spec: JobSpec,
        *,
        launcher: Callable[[JobSpec], Launcher] = ProcessLauncher,
        grace_s: float = GRACE_S,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._host = host
        self._launcher = launcher(spec)
        self._grace_s = grace_s
        self._clock = clock
        self._restarts = 0

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
        return await Planner(self._host, self._launcher, self._grace_s).plan(verb, script)

    async def carry_out(self, plan: ActionPlan) -> AsyncGenerator[Step]:
        """Do it, step by step; see ``Controller.carry_out``. Never raises ``RemoteError``: a failed step says it."""
        act = Act(self._host, self._launcher, plan, grace_s=self._grace_s, clock=self._clock)
        try:
            async with aclosing(act.steps()) as steps:
                async for step in steps:
                    yield step
        finally:
            self._restarts += act.started is not None


if TYPE_CHECKING:
    _CHECKED: type[Controller] = JobControl

__all__ = ["STOP_STEP", "WHEN_LEFT", "ActionPlan", "Controller", "JobControl", "Step", "Verb", "utc_now"]
