"""Acts on a real job of this machine, done in one call each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from console.control import JobControl
from remote.launchers.process import ProcessLauncher
from remote.local import LocalHost
from remote.process import start
from tests.jobbox import SLEEPER
from tests.waits import until

if TYPE_CHECKING:
    from console.control import ActionPlan, Step
    from console.journal import Journal
    from remote.host import Host
    from tests.jobbox import Box

HOST = LocalHost()
NEW = SLEEPER + "# the new one\n"
FAST = partial(ProcessLauncher, watch_s=0.02)
PATIENT = partial(ProcessLauncher, watch_s=10)


def control_of(box: Box, journal: Journal | None = None, *, host: Host = HOST, **parts: object) -> JobControl:
    """What acts on the box's job."""
    given = {"launcher": FAST, "grace_s": 10.0, "journal": journal, **parts}
    return JobControl(host, box.spec, **given)  # type: ignore[arg-type]  # a test's own table


async def act(control: JobControl, plan: ActionPlan) -> list[Step]:
    """Carry a plan out; the steps' ends."""
    return [step async for step in control.carry_out(plan) if step.state != "running"]


async def ended(control: JobControl, plan: ActionPlan) -> str:
    """Carry a plan out that is not refused; the last step's state."""
    assert plan.refusal is None, plan.refusal
    return (await act(control, plan))[-1].state


async def started(box: Box) -> int:
    """Start the job; its pid."""
    process = await start(HOST, box.spec, watch_s=0.02)
    await until(lambda: "ready" in box.log())
    return process.pid
