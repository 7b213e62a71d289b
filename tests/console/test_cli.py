"""The commands: exit codes, one clear sentence for each mistake, and never a traceback."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console import __version__
from console.facts import LinesArrived

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from console.facts import Fact

ROOT = Path(__file__).parents[2]


def longwait(*args: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the program as a person would, in a home of its own."""
    home = {
        "HOME": str(cwd),
        "XDG_CONFIG_HOME": str(cwd / ".config"),
        "XDG_DATA_HOME": str(cwd / ".data"),
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.run(
        [sys.executable, "-m", "console", *args],
        cwd=cwd,
        env={**os.environ, **home, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def local_config(folder: Path, more: str = "") -> Path:
    (folder / "job.log").write_text("Processing: B1 (SHORT)\n  B1: 100 prompts tokenized\n", encoding="utf-8")
    path = folder / "longwait.yaml"
    path.write_text(
        "host: local\n"
        "server: {url: 'http://127.0.0.1:9', metrics: false}\n"
        f"job: {{log: {folder}/job.log, dir: {folder}, command: [{sys.executable}, job.py], python: {sys.executable}}}\n"
        + more,
        encoding="utf-8",
    )
    return path


def test_version_and_help(tmp_path: Path) -> None:
    assert longwait("--version", cwd=tmp_path).stdout == f"longwait, version {__version__}\n"
    helped = longwait("--help", cwd=tmp_path).stdout
    for command in ("demo", "status", "watch", "ping", "doctor", "start", "stop", "restart", "logs", "init"):
        assert re.search(rf"^  {command} +\w", helped, re.MULTILINE)


def test_without_a_config_it_says_how_to_make_one_and_offers_the_demo(tmp_path: Path) -> None:
    done = longwait(cwd=tmp_path)
    assert done.returncode == 2
    assert "longwait init" in done.stderr
    assert "longwait demo" in done.stderr


def test_a_bad_config_is_reported_whole(tmp_path: Path) -> None:
    (tmp_path / "longwait.yaml").write_text("host: gpu01\njob: {lgo: x, log: y, grace_s: long}\n", encoding="utf-8")
    done = longwait("status", cwd=tmp_path)
    assert done.returncode == 2
    assert "line 2: job.lgo: is no known key; did you mean log?" in done.stderr
    assert "grace_s" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_console_without_a_terminal_says_so(tmp_path: Path) -> None:
    local_config(tmp_path)
    done = longwait(cwd=tmp_path)
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr


def test_a_key_for_no_command_is_said_with_the_known_ones(tmp_path: Path) -> None:
    local_config(tmp_path, "keys: {helth: f5}\n")
    done = longwait(cwd=tmp_path)
    assert done.returncode == 2
    assert "helth" in done.stderr
    assert "health" in done.stderr


def test_init_writes_a_config_that_loads_and_never_overwrites(tmp_path: Path) -> None:
    args = ("init", "--host", "me@gpu 01: #x", "--job-log", "/data/a 'b'.log")
    assert longwait(*args, cwd=tmp_path).returncode == 0
    written = (tmp_path / "longwait.yaml").read_text(encoding="utf-8")
    again = longwait(*args, cwd=tmp_path)
    assert again.returncode == 1
    assert "was left as it is" in again.stderr
    assert (tmp_path / "longwait.yaml").read_text(encoding="utf-8") == written
    from console.config_file import load  # noqa: PLC0415 - only this test reads one here

    loaded = load(tmp_path / "longwait.yaml")
    assert (loaded.host, loaded.job.log) == ("me@gpu 01: #x", "/data/a 'b'.log")


def test_status_of_this_machine_as_json(tmp_path: Path) -> None:
    local_config(tmp_path)
    done = longwait("status", "--json", cwd=tmp_path)
    reading = json.loads(done.stdout)
    wanted = {"at", "verdict", "cause", "headline", "evidence", "action", "since", "next_look", "eta", "eta_low"}
    wanted |= {"eta_high", "eta_coverage", "datasets", "server", "health", "link", "job"}
    assert wanted <= set(reading)
    assert [(dataset["name"], dataset["total"]) for dataset in reading["datasets"]] == [("B1", 100)]
    assert done.returncode == {"wait": 0, "watch": 10, "intervene": 20, "blind": 30}[reading["verdict"]]
    assert done.stderr == ""


def test_a_host_that_is_not_there_is_blind_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "longwait.yaml").write_text("host: nobody@127.0.0.1:9\njob: {log: /x}\n", encoding="utf-8")
    for command in ("status", "ping", "doctor"):
        done = longwait(command, cwd=tmp_path)
        assert done.returncode == 30, command
        assert "127.0.0.1" in done.stdout
        assert "Traceback" not in done.stderr + done.stdout


def test_ping_tells_each_proof(tmp_path: Path) -> None:
    local_config(tmp_path)
    done = longwait("ping", "--json", cwd=tmp_path)
    proofs = {proof["name"]: proof["ok"] for proof in json.loads(done.stdout)["proofs"]}
    expected = {"connection": True, "command": True, "port": False, "health": False, "answer": None, "job": False}
    assert {name: proofs[name] for name in expected} == expected
    assert proofs["job's log"] is True
    assert done.returncode == 1
    assert re.search(r"^FAIL +health .* xx$", longwait("ping", cwd=tmp_path).stdout, re.MULTILINE)


def test_doctor_names_each_fault_and_its_remedy(tmp_path: Path) -> None:
    local_config(tmp_path, "read_only: true\n")
    text = (tmp_path / "longwait.yaml").read_text(encoding="utf-8")
    (tmp_path / "longwait.yaml").write_text(
        text.replace(f"log: {tmp_path}/job.log", f"log: {tmp_path}"), encoding="utf-8"
    )
    done = longwait("doctor", cwd=tmp_path)
    assert done.returncode == 1
    assert re.search(r"FAIL +job.log .* is a folder", done.stdout)
    assert re.search(r"ok +python ", done.stdout)
    assert re.search(r"FAIL +health ", done.stdout)


def test_start_is_planned_done_and_refused_the_second_time_and_stopped(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("import time\nprint('at work', flush=True)\ntime.sleep(300)\n", encoding="utf-8")
    local_config(tmp_path)
    plan = longwait("start", "--dry-run", cwd=tmp_path)
    assert plan.returncode == 0, plan.stderr
    assert "job.py" in plan.stdout
    asked = longwait("start", cwd=tmp_path)
    assert (asked.returncode, "Nothing was done." in asked.stdout) == (1, True)
    try:
        started = longwait("start", "--yes", cwd=tmp_path)
        assert started.returncode == 0, started.stdout + started.stderr
        again = longwait("start", "--yes", cwd=tmp_path)
        assert again.returncode == 1
        assert "runs" in again.stderr
    finally:
        stopped = longwait("stop", "--yes", cwd=tmp_path)
    assert stopped.returncode == 0, stopped.stdout + stopped.stderr
    assert longwait("stop", "--yes", cwd=tmp_path).returncode == 1


def test_a_read_only_config_acts_on_nothing(tmp_path: Path) -> None:
    local_config(tmp_path, "read_only: true\n")
    done = longwait("stop", "--yes", cwd=tmp_path)
    assert (done.returncode, "read_only" in done.stderr) == (2, True)


@pytest.mark.parametrize("verb", ["start", "stop", "restart"])
def test_the_read_only_option_holds_for_every_command_that_acts(tmp_path: Path, verb: str) -> None:
    local_config(tmp_path)
    done = longwait("--read-only", verb, "--yes", cwd=tmp_path)
    assert (done.returncode, "read-only" in done.stderr) == (2, True)
    assert not (tmp_path / ".longwait").exists()


async def test_what_the_feed_dies_of_is_not_taken_for_a_quiet_host() -> None:
    from console.oneshot import consumed  # noqa: PLC0415 - only this test looks inside

    async def broken() -> AsyncIterator[Fact]:
        for fault in ("a fault of the program",):
            raise RuntimeError(fault)
        yield LinesArrived(())

    async def look_on() -> None:
        async with consumed(broken()):
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="a fault of the program"):
        await look_on()


def test_status_says_which_log_is_not_followed(tmp_path: Path) -> None:
    path = local_config(tmp_path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("metrics: false", f"metrics: false, log: {tmp_path}"), encoding="utf-8")
    done = longwait("status", cwd=tmp_path)
    assert f"{tmp_path}: the path is a folder" in done.stdout


def test_logs_prints_what_matches(tmp_path: Path) -> None:
    local_config(tmp_path)
    done = longwait("logs", "job", "--grep", "tokenized", cwd=tmp_path)
    assert done.stdout.strip() == "B1: 100 prompts tokenized"
    assert longwait("logs", "server", cwd=tmp_path).returncode == 2
    assert longwait("logs", "job", "--grep", "(", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize(
    "args", [("nosuch",), ("demo", "--scenario", "nosuch"), ("logs", "other"), ("demo", "--speed", "0")]
)
def test_wrong_usage_is_two(tmp_path: Path, args: tuple[str, ...]) -> None:
    done = longwait(*args, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
