"""What a plan says: checks as rows and refusals, what is at stake, how the command differs."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from console import act_checks
from console.act_stakes import server_check, with_stakes
from console.act_words import about_start, command_change, spec_refusal
from console.acts import ActionPlan, Check, Verb
from console.control import JobControl
from console.job.snapshot import HealthView, Option
from remote.control_checks import FolderCheck, GpuApp, GpuMemory, ImportCheck, JobChecks, PythonCheck
from remote.files import SyntaxFault
from remote.launchers.base import Outlook
from remote.launchers.systemd import UnitLauncher
from remote.local import LocalHost
from remote.probe import Logout
from remote.process import JobSpec
from tests import samples
from tests.jobbox import SLEEPER, Box

if TYPE_CHECKING:
    from pathlib import Path

LOGOUT = Logout(in_session=False, kills=None, lingering=None, user_manager=False, systemd_run=False)
WELL = PythonCheck("python3", "command", "3.11.7", None, (ImportCheck("httpx", 3, found=True, optional=False),))


def checks(**parts: Any) -> JobChecks:
    given = {"python": WELL, "folders": (), "logout": LOGOUT, "strays": (), "gpu": None, **parts}
    return JobChecks(**given)


def folder(**parts: Any) -> FolderCheck:
    given = {"path": "/data/run", "exists": True, "is_dir": True, "writable": True}
    return FolderCheck(**{**given, "free_bytes": 80_000_000_000, "free_files": 1_000_000, **parts})


def states(found: JobChecks, outlook: Outlook | None = None) -> list[tuple[str, str]]:
    return [(row.name, row.state) for row in act_checks.rows(found, outlook or Outlook())]


def missing(*, known_from: str, optional: bool = False) -> JobChecks:
    lacks = ImportCheck("nosuch", 7, found=False, optional=optional)
    return checks(python=replace(WELL, known_from=known_from, imports=(*WELL.imports, lacks)))


def test_all_is_well() -> None:
    outlook = Outlook(("It runs detached.",))
    assert states(checks(folders=(folder(),)), outlook) == [
        ("script", "ok"),
        ("imports", "ok"),
        ("output", "ok"),
        ("launcher", "ok"),
    ]
    assert act_checks.refusal(checks(), outlook) is None


def test_a_module_that_is_missing_refuses_when_the_interpreter_is_sure() -> None:
    assert states(missing(known_from="command"))[1] == ("imports", "bad")
    assert "python3 does not have: nosuch (line 7)" in str(act_checks.refusal(missing(known_from="command"), Outlook()))
    assert states(missing(known_from="config"))[1] == ("imports", "warning")
    assert act_checks.refusal(missing(known_from="config"), Outlook()) is None
    assert states(missing(known_from="command", optional=True))[1] == ("imports", "ok")


def test_an_interpreter_that_does_not_answer_or_takes_no_script() -> None:
    assert states(checks(python=PythonCheck("x", "command", error="no such file"))) == [("script", "unknown")]
    fault = SyntaxFault(2, "invalid syntax", "b = )")
    assert states(checks(python=replace(WELL, syntax=fault))) == [("script", "bad")]
    assert states(checks(python=None)) == []


@pytest.mark.parametrize(
    ("found", "state", "words"),
    [
        (folder(free_bytes=900_000_000), "warning", "858.3 MiB free"),
        (folder(free_files=3), "warning", "room for 3 more files only"),
        (folder(writable=False), "bad", "may not be written"),
        (folder(free_bytes=None), "unknown", "free space is not known"),
        (
            folder(path="/x/out/p.jsonl", exists=False, is_dir=False, writable=False),
            "unknown",
            "/x/out is not there yet",
        ),
    ],
)
def test_folders(found: FolderCheck, state: str, words: str) -> None:
    row = act_checks.rows(checks(folders=(found,)), Outlook())[-1]
    assert (row.name, row.state) == ("output", state)
    assert words in row.detail
    refused = act_checks.refusal(checks(folders=(found,)), Outlook())
    assert (refused is not None) == (state == "bad")


def test_what_the_launcher_says() -> None:
    outlook = Outlook(("It runs in tmux.",), ("A logout ends it.",), "There is no tmux.")
    assert states(checks(python=None), outlook) == [("launcher", "ok"), ("launcher", "warning")]
    assert act_checks.refusal(checks(), outlook) == "There is no tmux."


@pytest.mark.parametrize(
    ("gpu", "state", "words"),
    [
        (GpuMemory((GpuApp(1, "GPU-0", 900, ours=True), GpuApp(2, "GPU-0", 5, ours=False))), "ok", "holds 900.0 MiB"),
        (GpuMemory((GpuApp(2, "GPU-0", 5, ours=False),)), "ok", "holds none"),
        (GpuMemory((GpuApp(1, "GPU-0", None, ours=True),)), "unknown", "does not say"),
        (GpuMemory(error="nvidia-smi hangs"), "unknown", "hangs"),
    ],
)
def test_gpu_memory(gpu: GpuMemory, state: str, words: str) -> None:
    row = act_checks.rows(checks(gpu=gpu), Outlook())[-1]
    assert (row.name, row.state, words in row.detail) == ("GPU memory", state, True)


def test_those_that_went_well_are_one_line_behind_the_others() -> None:
    rows = (
        Check("a", "ok", "one"),
        Check("b", "warning", "two"),
        Check("c", "ok", "three"),
        Check("d", "unknown", "four"),
    )
    plan = ActionPlan(Verb.START, "Start", (), checks=rows)
    assert plan.check_lines == ("! b: two", "? d: four", "✓ checked: one; three.")


# -- what is at stake


PLAN = ActionPlan(Verb.RESTART, "Restart", ("Running: process 1.", "Stop: asked."), about=1)
COST = Option("restart_job", "The job resumes: 13 kept. The end moves by about 3 min.", 60_000, 3.0)


def test_what_is_kept_and_lost_stands_after_the_process() -> None:
    plan = with_stakes(PLAN, replace(samples.healthy(), restart=COST))
    assert plan.lines == (
        "Running: process 1.",
        "Cost: the job resumes: 13 kept. The end moves by about 3 min.",
        "Kept: B1_glaive, 7,312 of 12,000 prompts done, 10.0 M of 10.0 M tokens, finished.",
        "Kept: B2_dialogue, 6,120 of 10,000 prompts done, 10.0 M of 10.0 M tokens, finished.",
        "Kept: B3_magicoder, 3,452 of 10,000 prompts done, 6.9 M of 10.0 M tokens.",
        "Not begun: B4_reasoning, B5_mathematics, B6_science, B7_summaries, B8_longdocs.",
        "Stop: asked.",
    )
    assert [check.state for check in plan.checks] == ["ok"]


def test_the_cost_stands_before_a_long_command() -> None:
    plan = replace(PLAN, lines=("Running: process 1.", "Its command: long.", "Stop: asked."), about=2)
    words = [line.partition(":")[0] for line in with_stakes(plan, replace(samples.healthy(), restart=COST)).lines]
    assert words == ["Running", "Cost", "Its command", "Kept", "Kept", "Kept", "Not begun", "Stop"]


def test_figures_from_before_a_cut_say_so() -> None:
    lost = replace(samples.link_lost(), restart=COST)
    assert any("These figures are from" in line for line in with_stakes(PLAN, lost).lines)


def test_a_start_loses_nothing_and_a_stop_asks_no_server() -> None:
    seen = replace(samples.healthy(), restart=COST)
    assert not any(line.startswith("Cost") for line in with_stakes(replace(PLAN, verb=Verb.START), seen).lines)
    assert with_stakes(replace(PLAN, verb=Verb.STOP), seen).checks == ()


def test_what_is_not_known_is_said() -> None:
    for seen in (None, samples.connecting()):
        assert "is not known" in with_stakes(PLAN, replace(seen, datasets=()) if seen else None).lines[1]
    refused = ActionPlan(Verb.STOP, "Stop", (), refusal="No job runs.")
    assert with_stakes(refused, samples.healthy()) is refused


@pytest.mark.parametrize(
    ("health", "state", "words"),
    [
        (HealthView(state="ok", latency_s=1.04, checked_at=samples.NOW), "ok", "answered now in 1.0 s"),
        (HealthView(state="failing", error="refused.", failing_since=samples.NOW), "warning", "(refused); the job's"),
        (HealthView(), "unknown", "not been asked"),
    ],
)
def test_the_server(health: HealthView, state: str, words: str) -> None:
    found = server_check(replace(samples.healthy(), health=health))
    assert (found.state, words in found.detail) == (state, True)


# -- the command


@pytest.mark.parametrize(
    ("runs", "will", "words"),
    [
        (["python3", "a.py", "--old", "x y"], ["python3", "a.py"], "without --old 'x y'"),
        (["python3", "a.py"], ["python3", "-u", "a.py"], "with -u"),
        (["python3", "a.py"], ["python3", "b.py"], "without a.py, with b.py"),
    ],
)
def test_how_a_command_differs(runs: list[str], will: list[str], words: str) -> None:
    assert command_change(runs, will) == f"The command differs from the one that runs: {words}."


def test_the_same_command_is_said_to_be() -> None:
    spec = JobSpec("python3", "/data", ("python3", "a.py"), "job.log")
    (line,) = about_start(spec, ["python3", "a.py"])
    assert line.startswith("Start: the same command as the one that runs. In /data")


def test_a_unit_needs_no_command_of_the_config() -> None:
    spec = JobSpec("python3", "/data", (), "")
    assert spec_refusal(spec, writes_script=False, unit="batch.service") is None
    assert about_start(spec, None, "batch.service") == (
        "Start: the unit batch.service, with its own command, environment, folder and log.",
    )
    assert UnitLauncher(spec, "batch.service").unit == "batch.service"


# -- on this machine


async def test_a_script_with_a_module_that_is_not_there_is_refused_before_anything_is_stopped(
    box: Box, tmp_path: Path
) -> None:
    script = tmp_path / "new.py"
    script.write_text("import json\nimport nosuch_module_of_ours\n" + SLEEPER)
    plan = await JobControl(LocalHost(), box.spec).plan(Verb.START, script)
    assert f"The script imports what {sys.executable} does not have: nosuch_module_of_ours (line 2)." == plan.refusal


async def test_a_local_script_that_is_too_large_is_refused(box: Box, tmp_path: Path) -> None:
    script = tmp_path / "new.py"
    with script.open("wb") as file:
        file.truncate(200_000_000)
    plan = await JobControl(LocalHost(), box.spec).plan(Verb.START, script)
    assert "larger than 10.0 MiB" in str(plan.refusal)


async def test_output_folders_are_checked_too(box: Box) -> None:
    (box.folder / "out").mkdir()
    outputs = (str(box.folder / "out" / "progress.jsonl"),)
    plan = await JobControl(LocalHost(), box.spec, outputs=outputs).plan(Verb.START)
    told = [check for check in plan.checks if check.name == "output"]
    assert [outputs[0] in check.detail for check in told] == [False, True]
    assert plan.gpu_pids in {None, ()}
