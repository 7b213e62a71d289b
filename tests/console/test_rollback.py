"""Rolling back: the former script and the former command, whatever has become of the job meanwhile."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import pytest

from console.act_former import former_of
from console.control import ActionPlan, JobControl, Verb
from console.journal import Entry, Journal, Kind
from remote.launchers.process import ProcessLauncher
from remote.local import LocalHost
from remote.process import start
from tests.jobbox import FAILING, SLEEPER, Box, job_box
from tests.waits import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOST = LocalHost()
NEW = SLEEPER + "# the new one\n"
FAST = partial(ProcessLauncher, watch_s=0.02)
PATIENT = partial(ProcessLauncher, watch_s=10)
T0 = datetime(2026, 2, 24, 3, 0, tzinfo=UTC)


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with job_box(tmp_path / "run") as made:
        yield made


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "new.py"
    path.write_text(NEW)
    return path


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "j", host="local", clock=lambda: datetime.now(UTC), user="me@desk")


def control_of(box: Box, journal: Journal, launcher: object = FAST) -> JobControl:
    return JobControl(HOST, box.spec, launcher=launcher, grace_s=10.0, journal=journal)  # type: ignore[arg-type]  # partials


async def act(control: JobControl, plan: ActionPlan) -> str:
    """Carry a plan out; the last step's state."""
    assert plan.refusal is None, plan.refusal
    return [step async for step in control.carry_out(plan)][-1].state


async def started(box: Box) -> None:
    await start(HOST, box.spec, watch_s=0.02)
    await until(lambda: "ready" in box.log())


async def test_the_former_script_is_put_back_and_runs(box: Box, script: Path, journal: Journal) -> None:
    await started(box)
    control = control_of(box, journal)
    await act(control, await control.plan(Verb.RESTART, script))
    (new,) = box.pids()
    plan = await control.plan_back()
    assert plan.title == "Roll the job on local back to before restart the job on local"
    assert (plan.verb, plan.rolls_back) == (Verb.RESTART, True)
    assert "-# the new one" in plan.diff
    assert await act(control, plan) == "done"
    assert box.path.read_text() == SLEEPER
    assert new not in box.pids()
    assert journal.entries()[-1].outcome == "The job is rolled back."


async def test_a_script_that_fails_at_once_is_rolled_back(box: Box, script: Path, journal: Journal) -> None:
    await started(box)
    script.write_text(FAILING)
    control = control_of(box, journal, PATIENT)
    assert await act(control, await control.plan(Verb.RESTART, script)) == "failed"
    assert box.pids() == set()
    plan = await control_of(box, journal).plan_back()
    assert plan.verb is Verb.START
    assert await act(control_of(box, journal), plan) == "done"
    assert box.path.read_text() == SLEEPER
    assert len(box.pids()) == 1


async def test_rolling_back_twice_is_the_new_one_again(box: Box, script: Path, journal: Journal) -> None:
    await started(box)
    control = control_of(box, journal)
    for plan in (control.plan(Verb.RESTART, script), control.plan_back(), control.plan_back()):
        assert await act(control, await plan) == "done"
    assert box.path.read_text() == NEW


async def test_the_former_command_is_put_back(box: Box, script: Path, journal: Journal) -> None:
    argv = [sys.executable, "job.py", "--by", "hand"]
    with subprocess.Popen(argv, cwd=box.folder, env=box.env, start_new_session=True, stdout=subprocess.DEVNULL) as hand:
        await until(lambda: box.pids() == {hand.pid})
        control = control_of(box, journal)
        plan = await control.plan(Verb.RESTART, script)
        assert any(
            "differs from the one that runs: without job.py --by hand, with ./job.py" in line for line in plan.lines
        )
        assert await act(control, plan) == "done"
    back = await control.plan_back()
    assert back.argv == tuple(argv)
    assert await act(control, back) == "done"
    fact = await control.process_fact()
    assert fact.command.endswith("job.py --by hand")
    assert not fact.adopted


async def test_a_kept_script_that_is_gone_or_changed_is_refused(box: Box, script: Path, journal: Journal) -> None:
    await started(box)
    control = control_of(box, journal)
    await act(control, await control.plan(Verb.RESTART, script))
    (kept,) = box.folder.glob("job.py.*")
    kept.write_text("something else\n")
    assert "is not what was kept" in str((await control.plan_back()).refusal)
    kept.unlink()
    plan = await control.plan_back()
    assert "is not there any more" in str(plan.refusal)
    assert journal.entries()[-1].kind == Kind.REFUSAL


async def test_without_a_former_act_there_is_no_way_back(box: Box, journal: Journal) -> None:
    for control in (control_of(box, journal), JobControl(HOST, box.spec)):
        assert "nothing to roll back" in str((await control.plan_back()).refusal)


def action(**more: object) -> Entry:
    return Entry(T0, Kind.ACTION, "Restart the job", more={"verb": "restart", **more})


def test_the_newest_act_that_replaced_something_counts() -> None:
    old = action(kept="/r/job.py.1", former_sha256="11", former_argv=["a"], argv=["a"], pid=1)
    plain = action(kept=None, former_argv=["a"], argv=["a"], pid=2)
    stop = replace(old, more={**old.more, "verb": "stop"})
    found = former_of([old, plain, stop, Entry(T0, Kind.NOTE, "x")], ["a"])
    assert found is not None
    assert (found.kept, found.sha256, found.argv) == ("/r/job.py.1", "11", ())
    assert former_of([plain, stop], ["a"]) is None
    assert former_of([], ["a"]) is None


def test_a_command_alone_can_be_put_back_when_something_was_started() -> None:
    other = action(former_argv=["b", "c"], argv=["a"], pid=2)
    found = former_of([other], ["a"])
    assert found is not None
    assert (found.kept, found.argv) == ("", ("b", "c"))
    assert former_of([action(former_argv=["b"], argv=["a"], pid=None)], ["a"]) is None
    assert former_of([action(former_argv="b", argv=None, pid=3)], ["a"]) is None
