"""Carries a plan out, step by step; a step that fails is the last, and says what state the host is in."""

from __future__ import annotations

import shlex
from contextlib import aclosing
from typing import TYPE_CHECKING, NamedTuple

from console.act_upload import upload
from console.act_words import processes, sentence, who
from console.acts import CHECK_STEP, PROVE_STEP, PUT_STEP, START_STEP, STOP_STEP, ActResult, Step, Verb
from console.job.lines import clean
from console.job.units import duration
from remote.errors import LinkLost, RemoteError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from datetime import datetime

    from console.acts import ActionPlan
    from remote.files import PutResult
    from remote.host import Host
    from remote.launchers.base import Launcher
    from remote.process import FoundProcess, StopStep

AGAIN = "Look again when the link is back."
"""What to do when it is not known what the host has done."""


class ActError(Exception):
    """An act can't go on, for a reason that is no fault of the link or the host: one sentence."""


class _Stage(NamedTuple):
    """A part of an act: its name, its work (which tells how far it is), and the state of the host if it fails."""

    name: str
    work: Callable[[], AsyncGenerator[str]]
    if_failed: Callable[[], str]
    if_lost: Callable[[], str]


class Act:
    """One act, carried out once.

    Args:
        host: The machine.
        launcher: How the job is found, started and stopped there.
        plan: What the operator has seen and agreed to.
        grace_s: Seconds between TERM and KILL.
        clock: The time now, UTC.
    """

    def __init__(
        self, host: Host, launcher: Launcher, plan: ActionPlan, *, grace_s: float, clock: Callable[[], datetime]
    ) -> None:
        self._host = host
        self._launcher = launcher
        self._plan = plan
        self._grace_s = grace_s
        self._clock = clock
        self._asked = False
        self._stopped = False
        self._put: PutResult | None = None
        self.started: FoundProcess | None = None
        """The process that this act has started."""

    async def steps(self) -> AsyncGenerator[Step]:
        """Do it."""
        if self._plan.refusal:
            yield Step("check the plan", "failed", self._plan.refusal, 0.0)
            return
        for stage in self._stages():
            async with aclosing(self._carry(stage)) as steps:
                async for step in steps:
                    yield step
                    if step.state == "failed":
                        return

    def _stages(self) -> list[_Stage]:
        """What the plan's verb consists of, in order."""
        verb = self._plan.verb
        stages = [_Stage(PROVE_STEP, self._prove, _nothing_done, _nothing_done)]
        if verb is not Verb.START:
            stages.append(_Stage(STOP_STEP, self._stop, self._after_failed_stop, self._after_lost_stop))
        if verb is not Verb.STOP:
            if self._plan.new_script is not None:
                stages.append(_Stage(PUT_STEP, self._place, self._after_failed_put, _after_lost_put))
            stages.append(_Stage(START_STEP, self._start, self._after_failed_start, _after_lost_start))
            stages.append(_Stage(CHECK_STEP, self._check, self._way_back, lambda: AGAIN))
        return stages

    async def _carry(self, stage: _Stage) -> AsyncGenerator[Step]:
        """Do one stage: told when it begins, as it goes, and when it ends."""
        began = self._clock()
        yield Step(stage.name, "running")
        detail = ""
        try:
            async with aclosing(stage.work()) as told:
                async for detail in told:
                    yield Step(stage.name, "running", detail)
        except (RemoteError, ActError) as error:
            # A time-out leaves as much unknown as a lost link: the host may have done it.
            unknown = isinstance(error, RemoteError) and error.retryable
            state = stage.if_lost() if unknown else stage.if_failed()
            why = clean(f"{sentence(str(error))} {state}".strip())
            yield Step(stage.name, "failed", why, self._since(began), self.result)
        else:
            yield Step(stage.name, "done", detail, self._since(began), self.result)

    @property
    def result(self) -> ActResult:
        """What has been changed on the host so far."""
        kept = self._put.kept if self._put is not None else None
        if self.started is None:
            return ActResult(kept=kept)
        sha256 = self.started.script_sha256 or self._plan.wanted_sha256
        return ActResult(self.started.pid, self.started.started_at, sha256, kept, self.started.place)

    def _since(self, began: datetime) -> float:
        return (self._clock() - began).total_seconds()

    # The stages' work: each tells how far it is, and what came of it last.

    async def _prove(self) -> AsyncGenerator[str]:
        found = await self._launcher.find(self._host)
        planned = self._plan.process
        now = [process.identity for process in found.processes]
        if planned is None and now:
            raise ActError(f"A job has been started meanwhile: {who(found.processes[0])}.")
        if planned is not None and not now:
            raise ActError(f"Process {planned.pid} has ended by itself meanwhile; start the job instead.")
        if planned is not None and now != [planned.identity]:
            raise ActError(f"The job is not process {planned.pid} any more, as the plan saw it; make the plan again.")
        if self._plan.verb is not Verb.STOP and found.script_sha256 != self._plan.host_sha256:
            raise ActError("The script on the host was changed meanwhile; make the plan again.")
        yield who(found.processes[0]) if found.processes else "no job runs"

    async def _stop(self) -> AsyncGenerator[str]:
        if self._plan.process is None:
            raise ActError("The plan names no process to stop.")
        gone = False
        async with aclosing(self._launcher.stop(self._host, self._plan.process, self._grace_s)) as steps:
            async for step in steps:
                self._asked, gone = True, step.step == "gone"
                yield stop_words(step, self._grace_s)
        if not gone:
            raise LinkLost(f"The stop was not told to its end by {self._host.name}.", host=self._host.name)
        self._stopped = True

    async def _place(self) -> AsyncGenerator[str]:
        spec = self._launcher.spec
        data = self._plan.new_script or b""
        async with aclosing(upload(self._host, spec.python, spec.script_path, data, self._clock)) as uploading:
            async for told in uploading:
                if isinstance(told, str):
                    yield told
                else:
                    self._put = told
        put = self._put
        if put is None:
            raise ActError("The host has not said whether the script is in place.")
        kept = f"; the former one is kept at {put.kept}" if put.kept else ""
        yield clean(f"{put.sha256[:8]} is in place{kept}" if put.changed else f"{put.sha256[:8]} was there already")

    async def _start(self) -> AsyncGenerator[str]:
        self.started = await self._launcher.start(self._host)
        place = f" in {self.started.place}" if self.started.place else ""
        yield clean(" ".join([f"process {self.started.pid}{place}", *self.started.notes]))

    async def _check(self) -> AsyncGenerator[str]:
        if self.started is None:
            raise ActError("Nothing was started.")
        found = await self._launcher.find(self._host)
        if not [process for process in found.processes if process.pid == self.started.pid]:
            raise ActError(
                f"Process {self.started.pid} has ended already; its log says why: {self._launcher.spec.log_path}."
            )
        wanted = self._plan.wanted_sha256
        runs = self.started.script_sha256 or found.script_sha256
        if not self._launcher.spec.script:
            yield f"process {self.started.pid} runs"
        elif runs != wanted or found.script_sha256 != wanted:
            raise ActError(f"Process {self.started.pid} runs, but not the script that was meant: someone changed it.")
        else:
            yield f"process {self.started.pid} runs; its script is {(wanted or '')[:8]}, as meant"

    @property
    def _has_script(self) -> bool:
        """Whether the config names a script; without one there is nothing to say of it."""
        return bool(self._launcher.spec.script)

    # What state the host is in when a stage has failed, and what to do.

    def _after_failed_stop(self) -> str:
        if self._plan.verb is Verb.STOP:
            return "Nothing else was done."
        script = "the script on the host is as it was, and " if self._has_script else ""
        return f"Nothing else was done: {script}no job was started."

    def _after_lost_stop(self) -> str:
        if not self._asked:
            return f"The stop may not have begun. {AGAIN}"
        return f"The host goes on with it by itself: KILL after {duration(self._grace_s)}. {AGAIN}"

    def _after_failed_put(self) -> str:
        job = "The old job is stopped. " if self._stopped else ""
        return f"{job}The script on the host is the former one, whole. When the cause is mended, start the job."

    def _after_failed_start(self) -> str:
        job = "The old job is stopped, and none runs now. " if self._stopped else ""
        return f"{job}{self._way_back()}"

    def _way_back(self) -> str:
        if not self._has_script:
            return ""
        if self._put is None or self._put.kept is None:
            return "The script on the host is as it was." if self._put is None else "The new script is in place."
        undo = shlex.join(["cp", "-p", "--", self._put.kept, self._put.path])
        return (
            "The new script is in place. To go back to the former one, roll back (`longwait rollback`), or "
            f"run on the host: {undo} and then start the job."
        )


def _nothing_done() -> str:
    return "Nothing was done."


def _after_lost_put() -> str:
    return f"The script on the host is the former or the new one, whole. {AGAIN}"


def _after_lost_start() -> str:
    return f"The job may have been started; two starts never give two jobs. {AGAIN}"


def stop_words(step: StopStep, grace_s: float) -> str:
    """How far a stop is, and how long the job has until KILL.

    Args:
        step: What was told.
        grace_s: Seconds between TERM and KILL.
    """
    match step.step:
        case "term":
            left = f", {step.left_group} of them outside its group" if step.left_group else ""
            return f"asked {processes(step.count)} to end{left}"
        case "waiting":
            left = f"waiting: {processes(step.count)} left after {duration(step.seconds)}"
            return f"{left}, KILL in {duration(grace_s - step.seconds)}" if step.seconds < grace_s else left
        case "kill":
            return f"ended {processes(step.count)} with KILL after {duration(step.seconds)}"
        case _:
            return f"gone after {duration(step.seconds)}"
