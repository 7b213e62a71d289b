"""Acts in the journal: who did what and what came of it; and consoles that were killed between two steps."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from console.act_journal import lives, this_console
from console.acts import CHECK_STEP, PROVE_STEP, PUT_STEP, START_STEP, STOP_STEP
from console.control import JobControl, Verb
from console.journal import Journal, Kind
from console.journal_remote import PLACE
from console.journal_words import told
from console.proving import taken_up
from tests.console.acts_done import FAST, HOST, NEW, PATIENT, act, control_of, started
from tests.jobbox import FAILING, MARK, SLEEPER, Box
from tests.waits import until

ROOT = Path(__file__).parents[2]

CONSOLE = """
import asyncio, sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from console.control import JobControl, Verb
from console.journal import Journal
from remote.launchers.process import ProcessLauncher
from remote.local import LocalHost
from remote.process import JobSpec

folder, journal, script, verb, hold, mark = sys.argv[1:]

async def main():
    spec = JobSpec(sys.executable, folder, (sys.executable, "./job.py"), "job.log", {"MARK": mark}, "job.py")
    kept = Journal(Path(journal), host="local", clock=lambda: datetime.now(UTC), user="former@desk")
    control = JobControl(LocalHost(), spec, launcher=partial(ProcessLauncher, watch_s=0.02), grace_s=10, journal=kept)
    plan = await control.plan(Verb(verb), Path(script) if script else None)
    async for step in control.carry_out(plan):
        if step.name == hold and step.state == "running":
            print("holding", flush=True)
            await asyncio.Event().wait()

asyncio.run(main())
""".replace('"MARK"', repr(MARK))


# -- what is written


async def test_an_act_is_written_step_by_step_and_with_its_end(box: Box, script: Path, journal: Journal) -> None:
    pid = await started(box)
    control = control_of(box, journal)
    plan = replace(await control.plan(Verb.RESTART, script), why="the old one knows no budgets")
    await act(control, plan)
    *intents, action = journal.entries()
    assert [entry.more["step"] for entry in intents] == [PROVE_STEP, STOP_STEP, PUT_STEP, START_STEP, CHECK_STEP]
    assert {entry.kind for entry in intents} == {Kind.INTENT}
    assert {entry.act for entry in intents} == {action.act}
    assert (action.kind, action.what, action.outcome) == (
        Kind.ACTION,
        "Restart the job on local",
        "The job is restarted.",
    )
    assert (action.user, action.why) == ("me@desk", "the old one knows no budgets")
    (new,) = box.pids()
    assert action.more["former"]["pid"] == pid
    assert action.more["pid"] == new
    assert action.more["sha256"] == plan.wanted_sha256
    assert Path(action.more["kept"]).read_text() == SLEEPER
    assert all(step["state"] == "done" for step in action.more["steps"])
    assert len(told(journal.entries())) == 1


async def test_each_intent_is_on_the_disk_before_its_step(box: Box, journal: Journal) -> None:
    await started(box)
    control = control_of(box, journal)
    async for step in control.carry_out(await control.plan(Verb.STOP)):
        if step.state == "running" and not step.detail:
            assert json.loads(journal.path.read_bytes().splitlines()[-1])["more"]["step"] == step.name


async def test_a_refusal_is_written(box: Box, journal: Journal) -> None:
    await control_of(box, journal).plan(Verb.STOP)
    (entry,) = journal.entries()
    assert (entry.kind, entry.what) == (Kind.REFUSAL, "Stop the job on local")
    assert "nothing to stop" in entry.outcome


async def test_a_failed_act_is_written_with_its_reason(box: Box, script: Path, journal: Journal) -> None:
    script.write_text(FAILING)
    control = control_of(box, journal, launcher=PATIENT)
    await act(control, await control.plan(Verb.START, script))
    entry = journal.entries()[-1]
    assert entry.more["ok"] is False
    assert "no such dataset" in entry.outcome
    assert entry.more["kept"]


async def test_no_environment_goes_into_the_journal(box: Box, journal: Journal) -> None:
    spec = replace(box.spec, env={**box.spec.env, "HF_TOKEN": "sekret"})
    control = JobControl(HOST, spec, launcher=FAST, journal=journal)
    await act(control, await control.plan(Verb.START))
    assert b"sekret" not in journal.path.read_bytes()


async def test_the_end_is_written_beside_the_job_too(box: Box, journal: Journal) -> None:
    control = control_of(box, journal, journal_on_host=True)
    await act(control, await control.plan(Verb.START))
    (line,) = (box.folder / PLACE).read_text().splitlines()
    assert json.loads(line) == journal.entries()[-1].values()
    assert control.trouble == ""
    (box.folder / PLACE).unlink()
    (box.folder / PLACE).mkdir()
    await act(control, await control.plan(Verb.STOP))
    assert "could not be written" in control.trouble


async def test_a_journal_that_can_not_be_written_stops_no_act(box: Box, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    journal = Journal(tmp_path / "file" / "j", host="local", clock=lambda: datetime.now(UTC))
    control = control_of(box, journal)
    assert (await act(control, await control.plan(Verb.START)))[-1].state == "done"
    assert "can't be written" in journal.trouble


# -- consoles that were killed


def killed_at(box: Box, journal: Journal, script: Path | None, verb: Verb, step: str) -> None:
    """Have another console begin an act, and kill it when a step is about to begin."""
    argv = [str(box.folder), str(journal.path), "" if script is None else str(script), verb.value, step, box.mark]
    with subprocess.Popen([sys.executable, "-c", CONSOLE, *argv], cwd=ROOT, stdout=subprocess.PIPE) as console:
        assert console.stdout is not None
        assert console.stdout.readline() == b"holding\n"
        console.send_signal(signal.SIGKILL)
        assert console.wait(10) == -signal.SIGKILL


@pytest.mark.parametrize(
    "case",
    [
        (PROVE_STEP, "before anything was done", Verb.RESTART),
        (STOP_STEP, "when the job was being stopped", Verb.RESTART),
        (PUT_STEP, "when the script was being put in place", Verb.START),
        (START_STEP, "when the job was being started", Verb.START),
    ],
    ids=lambda case: case[0],
)
async def test_a_restart_whose_console_was_killed_is_told_and_finished(
    box: Box, script: Path, journal: Journal, case: tuple[str, str, Verb]
) -> None:
    step, words, finish = case
    old = await started(box)
    killed_at(box, journal, script, Verb.RESTART, step)
    assert box.pids() == ({old} if finish is Verb.RESTART else set())
    control = control_of(box, journal)
    left = await control.left_over()
    assert left is not None
    assert f"by former@desk was broken off {words}." in left.title
    assert left.plan is not None
    assert left.plan.verb is finish
    assert left.plan.why == "finishes what former@desk began"
    assert ("No job runs now." in left.lines) == (finish is Verb.START)
    steps = await act(control, left.plan)
    assert steps[-1].state == "done"
    (new,) = box.pids()
    assert new != old
    assert box.path.read_text() == NEW
    assert await control.left_over() is None


async def test_what_an_act_has_replaced_that_was_broken_off_can_be_put_back(
    box: Box, script: Path, journal: Journal
) -> None:
    await started(box)
    former = box.path.read_text()
    killed_at(box, journal, script, Verb.RESTART, START_STEP)
    control = control_of(box, journal)
    left = await control.left_over()
    assert left is not None
    assert left.plan is not None
    assert (await act(control, left.plan))[-1].state == "done"
    plan = await control.plan_back()
    assert plan.title.endswith("back to before the restart that was broken off")
    assert (await act(control, plan))[-1].state == "done"
    assert box.path.read_text() == former


async def test_a_start_that_came_through_is_told_and_nothing_is_left_to_do(
    box: Box, script: Path, journal: Journal
) -> None:
    await started(box)
    killed_at(box, journal, script, Verb.RESTART, CHECK_STEP)
    (new,) = box.pids()
    control = control_of(box, journal)
    left = await control.left_over()
    assert left is not None
    assert left.plan is None
    assert left.lines[0] == f"A job runs: process {new}, started by longwait since."
    assert "the one that was meant" in left.lines[1]
    assert await control.left_over() is None
    proof = taken_up(journal.recent(), datetime.now(UTC))
    assert proof is not None
    assert proof.proof.begun.pid == new


async def test_a_stop_whose_console_was_killed(box: Box, journal: Journal) -> None:
    await started(box)
    killed_at(box, journal, None, Verb.STOP, STOP_STEP)
    control = control_of(box, journal)
    left = await control.left_over()
    assert left is not None
    assert left.plan is not None
    assert left.plan.verb is Verb.STOP
    (pid,) = box.pids()
    os.kill(pid, signal.SIGKILL)
    await until(lambda: not box.pids())
    left = await control.left_over()
    assert left is not None
    assert (left.plan, left.lines) == (None, ("The process that was to be stopped has ended.",))


async def test_a_script_that_was_changed_meanwhile_is_told(box: Box, script: Path, journal: Journal) -> None:
    await started(box)
    killed_at(box, journal, script, Verb.RESTART, PUT_STEP)
    box.write(SLEEPER + "# somebody's\n")
    left = await control_of(box, journal).left_over()
    assert left is not None
    assert left.lines[-1].startswith("The script on the host is neither")


async def test_an_act_that_is_under_way_is_not_half_done(box: Box, journal: Journal) -> None:
    control = control_of(box, journal)
    async for step in control.carry_out(await control.plan(Verb.START)):
        if step.name == START_STEP and step.state == "running":
            assert await control_of(box, journal).left_over() is None
    assert await control.left_over() is None


def test_a_console_is_known_from_every_other() -> None:
    mine = this_console()
    assert lives(mine)
    assert not lives({**mine, "machine": "another"})
    assert not lives({**mine, "ticks": -1})
    assert not lives({})
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
        assert not lives({**mine, "pid": ended.pid})
