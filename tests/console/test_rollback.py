"""Rolling back: the former script and the former command, whatever has become of the job meanwhile."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from console.act_former import former_of
from console.control import JobControl, Verb
from console.journal import Entry, Journal, Kind
from tests.console.acts_done import FAST, HOST, NEW, PATIENT, control_of, ended, started
from tests.jobbox import FAILING, SLEEPER, Box
from tests.waits import until

if TYPE_CHECKING:
    from pathlib import Path

T0 = datetime(2026, 2, 24, 3, 0, tzinfo=UTC)


async def test_the_former_script_is_put_back_and_runs(box: Box, script: Path, journal: Journal) -> None:
    await started(box)
    control = control_of(box, journal)
    await ended(control, await control.plan(Verb.RESTART, script))
    (new,) = box.pids()
    plan = await control.plan_back()
    assert plan.title == "Roll the job on local back to before restart the job on local"
    assert (plan.verb, plan.rolls_back) == (Verb.RESTART, True)
    assert "-# the new one" in plan.diff
    assert await ended(control, plan) == "done"
    assert box.path.read_text() == SLEEPER
    assert new not in box.pids()
    assert journal.entries()[-1].outcome == "The job is rolled back."


async def test_a_script_that_fails_at_once_is_rolled_back(box: Box, script: Path, journal: Journal) -> None:
    await started(box)
    script.write_text(FAILING)
    control = control_of(box, journal, launcher=PATIENT)
    assert await ended(control, await control.plan(Verb.RESTART, script)) == "failed"
    assert box.pids() == set()
    plan = await control_of(box, journal).plan_back()
    assert plan.verb is Verb.START
    assert await ended(control_of(box, journal), plan) == "done"
    assert box.path.read_text() == SLEEPER
    assert len(box.pids()) == 1


async def test_rolling_back_twice_is_the_new_one_again(box: Box, script: Path, journal: Journal) -> None:
    await started(box)
    control = control_of(box, journal)
    for plan in (control.plan(Verb.RESTART, script), control.plan_back(), control.plan_back()):
        assert await ended(control, await plan) == "done"
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
        assert await ended(control, plan) == "done"
    back = await control.plan_back()
    assert back.argv == tuple(argv)
    assert await ended(control, back) == "done"
    fact = await control.process_fact()
    assert fact.command.endswith("job.py --by hand")
    assert not fact.adopted


async def test_a_kept_script_that_is_gone_or_changed_is_refused(box: Box, script: Path, journal: Journal) -> None:
    await started(box)
    control = control_of(box, journal)
    await ended(control, await control.plan(Verb.RESTART, script))
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


@pytest.mark.parametrize(
    "more",
    [
        {"verb": ["restart"]},
        {"former": {}},
        {"former": {"boot_id": "x", "pid": "../../x", "ticks": 1}},
        {"former": {"boot_id": "x", "pid": 1, "ticks": None}},
        {"former": "x"},
    ],
)
def test_what_somebody_has_written_into_the_host_s_journal_is_no_process_and_no_fault(more: dict[str, object]) -> None:
    found = former_of([action(**{"kept": "/r/job.py.1", "former_sha256": "11", **more})], ["a"])
    assert found is None or found.process is None


def test_a_command_alone_can_be_put_back_when_something_was_started() -> None:
    other = action(former_argv=["b", "c"], argv=["a"], pid=2)
    found = former_of([other], ["a"])
    assert found is not None
    assert (found.kept, found.argv) == ("", ("b", "c"))
    assert former_of([action(former_argv=["b"], argv=["a"], pid=None)], ["a"]) is None
    assert former_of([action(former_argv="b", argv=None, pid=3)], ["a"]) is None


TELLS_ENV = "import os\nprint('TOKEN is', os.environ.get('TOKEN'), os.environ.get('MORE'), flush=True)\n" + SLEEPER


async def test_what_was_started_by_hand_comes_back_with_the_environment_that_it_had(
    box: Box, script: Path, journal: Journal
) -> None:
    box.write(TELLS_ENV)
    script.write_text(TELLS_ENV + "# the new one\n")
    by_hand = {**box.env, "TOKEN": "secret of the shell"}
    with subprocess.Popen([*box.spec.argv], cwd=box.folder, env=by_hand, stdout=subprocess.DEVNULL) as hand:
        control = control_of(box, journal)
        plan = await control.plan(Verb.RESTART, script)
        assert plan.env_changed == ("TOKEN",)
        assert "Variables that differ from those of the process that runs: TOKEN." in plan.lines
        assert await ended(control, plan) == "done"
        assert hand.wait(timeout=10)
    await until(lambda: "TOKEN is None" in box.log())
    back = await control.plan_back()
    assert "Environment: that of the former process, as it was kept when that was stopped." in back.lines
    assert await ended(control, back) == "done"
    await until(lambda: "TOKEN is secret of the shell" in box.log())
    said = journal.path.read_text() + repr(plan) + repr(back) + "".join(map(str, box.record.parent.glob("*.json")))
    assert "secret" not in said
    assert "secret" not in box.record.read_text()


async def test_a_changed_environment_alone_can_be_rolled_back(box: Box, journal: Journal) -> None:
    box.write(TELLS_ENV)
    await started(box)
    spec = replace(box.spec, env={**box.spec.env, "MORE": "1"})
    control = JobControl(HOST, spec, launcher=FAST, grace_s=10.0, journal=journal)
    await ended(control, await control.plan(Verb.RESTART))
    await until(lambda: "TOKEN is None 1" in box.log())
    plan = await control.plan_back()
    assert plan.refusal is None
    assert plan.env_changed == ("MORE",)
    assert await ended(control, plan) == "done"
    assert box.log().splitlines()[-2] == "TOKEN is None None"


async def test_an_environment_that_is_not_kept_is_told_and_the_config_s_is_given(
    box: Box, script: Path, journal: Journal
) -> None:
    await started(box)
    spec = replace(box.spec, keep_env=False)
    control = JobControl(HOST, spec, launcher=FAST, grace_s=10.0, journal=journal)
    await ended(control, await control.plan(Verb.RESTART, script))
    plan = await control.plan_back()
    assert (plan.refusal, plan.env_of) == (None, None)
    assert any("that of the former process is not kept" in line for line in plan.lines)
    assert ("environment", "warning") in [(check.name, check.state) for check in plan.checks]
    assert await ended(control, plan) == "done"


async def test_an_environment_that_alone_was_changed_and_is_not_kept_leaves_nothing_to_roll_back(
    box: Box, journal: Journal
) -> None:
    await started(box)
    spec = replace(box.spec, env={**box.spec.env, "MORE": "1"}, keep_env=False)
    control = JobControl(HOST, spec, launcher=FAST, grace_s=10.0, journal=journal)
    await ended(control, await control.plan(Verb.RESTART))
    plan = await control.plan_back()
    assert "There is nothing to roll back" in str(plan.refusal)


async def test_what_another_machine_did_last_is_what_is_rolled_back(box: Box, script: Path, tmp_path: Path) -> None:
    await started(box)
    consoles = []
    for name in ("mine", "bobs"):
        journal = Journal(tmp_path / name, host="local", clock=lambda: datetime.now(UTC), user=f"{name}@desk")
        given = {"launcher": FAST, "grace_s": 10.0, "journal": journal, "journal_on_host": True}
        consoles.append(JobControl(HOST, box.spec, **given))  # type: ignore[arg-type]  # a test's own table
    mine, bobs = consoles
    await ended(mine, await mine.plan(Verb.RESTART, script))
    script.write_text(SLEEPER + "# bob's\n")
    await ended(bobs, await bobs.plan(Verb.RESTART, script))
    assert [entry.user for entry in await mine.journal_there()] == ["mine@desk", "bobs@desk"]
    plan = await mine.plan_back()
    assert "-# bob's" in plan.diff
    assert "+# the new one" in plan.diff
    assert not [check for check in plan.checks if check.state == "warning" and check.name == "script"]
    assert await ended(mine, plan) == "done"
    assert box.path.read_text() == NEW


async def test_a_script_that_somebody_has_changed_since_is_told(box: Box, script: Path, journal: Journal) -> None:
    await started(box)
    control = control_of(box, journal)
    await ended(control, await control.plan(Verb.RESTART, script))
    box.write(SLEEPER + "# somebody's\n")
    plan = await control.plan_back()
    (told,) = [check for check in plan.checks if check.name == "script" and check.state == "warning"]
    assert "somebody has changed it since" in told.detail
