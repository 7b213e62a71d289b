"""The commands that act: plan within two seconds, proof, way back, finishing, adopting, and the server's own commands."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner

from console import server_commands
from console.cli import cli
from console.config import ServerControlSettings
from console.config_file import load
from console.journal import Kind, journal_of
from console.server_control import order_of
from console.session import now
from tests.jobbox import MARK, SLEEPER, Box
from tests.webserver import http, web_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from click.testing import Result

    from console.journal import Entry

TELLING = (
    "import time\n"
    "stamp = lambda: time.strftime('[%Y-%m-%d %H:%M:%S] ', time.gmtime())\n"
    "say = lambda text: print(stamp() + text, flush=True)\n"
    "say('Processing: B1 (SHORT)')\n"
    "say('  B1: 100 prompts tokenized')\n"
    "say('  Resuming: 40 already done (4,000 tokens)')\n"
    "say('  Running 60 requests (concurrency=10, max_tokens=100)...')\n"
    "say('  20/60 (ERRORS err) 0.3 req/s avg_comp=100tok tot=0.0M ETA=0.1h')\n"
    "time.sleep(600)\n"
)
"""A job that tells of itself as the runner does."""


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what the commands write away from this user's own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def configured(box: Box, tmp_path: Path, **server: Any) -> Path:
    """A config of the box's job."""
    job = {
        "log": "job.log",
        "dir": str(box.folder),
        "script": "job.py",
        "command": [sys.executable, "./job.py"],
        "env": {MARK: box.mark},
        "python": sys.executable,
        "look_every_s": 2,
    }
    given = {"url": "http://127.0.0.1:9", "metrics": False, **server}
    path = tmp_path / "longwait.yaml"
    path.write_text(yaml.safe_dump({"host": "local", "timezone": "UTC", "server": given, "job": job}), encoding="utf-8")
    return path


def longwait(config: Path, *args: str) -> Result:
    return CliRunner().invoke(cli, ["--config", str(config), *args])


def entries(config: Path) -> tuple[Entry, ...]:
    return journal_of(load(config), now).entries()


def test_a_dry_run_shows_the_whole_plan_and_writes_nothing(box: Box, tmp_path: Path) -> None:
    config = configured(box, tmp_path)
    assert longwait(config, "start", "--yes").exit_code == 0
    before = entries(config)
    script = tmp_path / "new.py"
    script.write_text(SLEEPER + "# the new one\n")
    done = longwait(config, "restart", "--script", str(script), "--dry-run")
    assert done.exit_code == 0, done.output
    for words in (
        "Restart the job on local",
        "of user",
        "+# the new one",
        "✓ script: compiles",
        "✓ imports: ",
        "server",
    ):
        assert words in done.output, words
    assert box.path.read_text() == SLEEPER
    assert entries(config) == before


def test_a_restart_with_its_reason_is_rolled_back(box: Box, tmp_path: Path) -> None:
    config = configured(box, tmp_path)
    longwait(config, "start", "--yes")
    script = tmp_path / "new.py"
    script.write_text(SLEEPER + "# the new one\n")
    assert longwait(config, "restart", "--script", str(script), "--yes", "--why", "old budgets").exit_code == 0
    assert entries(config)[-1].why == "old budgets"
    done = longwait(config, "rollback", "--yes")
    assert done.exit_code == 0, done.output
    assert box.path.read_text() == SLEEPER
    assert len(box.pids()) == 1


def test_a_proof_is_waited_for_printed_and_written(box: Box, tmp_path: Path) -> None:
    config = configured(box, tmp_path)
    box.write(TELLING.replace("ERRORS", "0"))
    longwait(config, "start", "--yes")
    done = longwait(config, "restart", "--yes", "--proof")
    assert done.exit_code == 0, done.output
    for words in (
        "ok      the process lives",
        "ok      counts go on: B1 at 60 of 100",
        "ok      no errors",
        "Proven: ",
    ):
        assert words in done.output, words
    entry = entries(config)[-1]
    assert (entry.kind, entry.more["ok"]) == (Kind.PROOF, True)
    assert longwait(config, "stop", "--yes").exit_code == 0


def test_a_proof_that_fails_says_the_way_back(box: Box, tmp_path: Path) -> None:
    config = configured(box, tmp_path)
    box.write(TELLING.replace("ERRORS", "3"))
    done = longwait(config, "start", "--yes", "--proof")
    assert done.exit_code == 1, done.output
    assert "failed  no errors: 3 requests failed for good" in done.output
    assert "`longwait rollback`" in done.output
    assert entries(config)[-1].more["ok"] is False


def test_nothing_is_there_to_finish_or_to_roll_back(box: Box, tmp_path: Path) -> None:
    config = configured(box, tmp_path)
    assert longwait(config, "finish").output == "Nothing was broken off.\n"
    done = longwait(config, "rollback", "--yes")
    assert (done.exit_code, "nothing to roll back" in done.output) == (1, True)


def test_what_was_broken_off_is_told_by_status_and_finished(box: Box, tmp_path: Path) -> None:
    config = configured(box, tmp_path)
    more = {"verb": "start", "step": "start the job", "console": {"machine": "gone", "pid": 1}, "sha256": None}
    journal_of(load(config), now).write(Kind.INTENT, "start: start the job", act="x1", more=more)
    told = longwait(config, "status")
    assert "Half done: The start of " in told.output
    assert "No job runs now." in told.output
    assert "`longwait finish` finishes it." in told.output
    reading = json.loads(longwait(config, "status", "--json").output)
    assert reading["half_done"]["finish"] == "start"
    done = longwait(config, "finish", "--yes")
    assert done.exit_code == 0, done.output
    assert len(box.pids()) == 1
    assert json.loads(longwait(config, "status", "--json").output)["half_done"] is None


def test_what_read_only_refuses_is_in_the_journal(box: Box, tmp_path: Path) -> None:
    config = configured(box, tmp_path)
    for command in (("rollback",), ("finish",), ("server", "restart"), ("adopt", "4711")):
        done = longwait(config, "--read-only", *command, "--yes")
        assert (done.exit_code, "read-only" in done.output) == (2, True)
    told = [(entry.kind, entry.what) for entry in entries(config)]
    wanted = ("Rollback the job", "Finish the job", "Restart the server", "Adopt process 4711")
    assert told == [(Kind.REFUSAL, what) for what in wanted]


def test_a_job_started_by_hand_is_adopted_after_one_question(box: Box, tmp_path: Path) -> None:
    config = configured(box, tmp_path)
    argv = [sys.executable, "-c", SLEEPER]
    with subprocess.Popen(argv, cwd=box.folder, env=box.env, start_new_session=True, stdout=subprocess.DEVNULL) as hand:
        shown = longwait(config, "adopt", str(hand.pid), "--dry-run")
        assert f"process {hand.pid} of user" in shown.output
        asked = longwait(config, "adopt", str(hand.pid))
        assert (asked.exit_code, "Nothing was done." in asked.output) == (1, True)
        done = longwait(config, "adopt", str(hand.pid), "--yes")
        assert done.exit_code == 0, done.output
        assert entries(config)[-1].what == f"Adopt process {hand.pid} as the job on local"
        assert longwait(config, "stop", "--yes").exit_code == 0
        assert hand.wait(10) != 0
    gone = longwait(config, "adopt", str(hand.pid), "--yes")
    assert (gone.exit_code, "There is no process" in gone.output) == (1, True)


# -- the server


@asynccontextmanager
async def healthy() -> AsyncIterator[int]:
    async with web_server(http(b"ok")) as web:
        yield web.port


async def run(config: Path, *args: str) -> Result:
    """Run a command beside the event loop in which the server answers."""
    return await asyncio.to_thread(longwait, config, *args)


async def test_a_server_is_restarted_by_its_own_command_and_waited_for(box: Box, tmp_path: Path) -> None:
    mark = tmp_path / "it's $(done)"
    async with healthy() as port:
        control = {"restart": ["touch", str(mark)], "log": str(tmp_path / "control.log")}
        config = configured(box, tmp_path, url=f"http://127.0.0.1:{port}", control=control)
        plan = await run(config, "server", "restart", "--dry-run")
        assert plan.exit_code == 0, plan.output
        assert "Run on the host: touch " in plan.output
        assert "Every request in flight fails" in plan.output
        assert not mark.exists()
        asked = await run(config, "server", "restart")
        assert (asked.exit_code, "Nothing was done." in asked.output) == (1, True)
        done = await run(config, "server", "restart", "--yes", "--why", "it hangs")
        assert done.exit_code == 0, done.output
        assert mark.exists()
        assert "The server is restarted." in done.output
    entry = entries(config)[-1]
    assert (entry.kind, entry.why, entry.outcome) == (Kind.ACTION, "it hangs", "The server is restarted.")


async def test_a_server_command_that_fails_shows_its_last_lines(box: Box, tmp_path: Path) -> None:
    control = {"stop": ["sh", "-c", "echo no such unit; exit 5"], "log": str(tmp_path / "control.log")}
    config = configured(box, tmp_path, control=control)
    done = await run(config, "server", "stop", "--yes")
    assert done.exit_code == 1
    assert "ended with status 5" in done.output
    assert "no such unit" in done.output
    missing = await run(config, "server", "start", "--yes")
    assert (missing.exit_code, "set server.control" in missing.output) == (2, True)


@pytest.mark.parametrize("end", [KeyboardInterrupt, EOFError])
def test_ctrl_c_at_the_question_leaves_the_server_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], end: type[BaseException]
) -> None:
    handlers: list[Any] = []

    def asked(_words: str) -> str:
        handlers.append(signal.getsignal(signal.SIGINT))
        raise end

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("click.termui.visible_prompt_func", asked)

    async def ask() -> bool:
        return server_commands._named("gpu01", "stop")

    before = signal.getsignal(signal.SIGINT)
    assert asyncio.run(ask()) is False  # in a loop, which takes Ctrl-C for itself
    assert handlers == [signal.default_int_handler]
    assert signal.getsignal(signal.SIGINT) is before
    assert "Traceback" not in capsys.readouterr().err


async def test_a_journal_that_can_not_be_written_is_told_of_the_server_too(box: Box, tmp_path: Path) -> None:
    control = {"stop": ["true"], "log": str(tmp_path / "control.log")}
    config = configured(box, tmp_path, control=control)
    place = journal_of(load(config), lambda: datetime.now(UTC)).path
    place.mkdir(parents=True)
    done = await run(config, "server", "stop", "--yes")
    assert done.exit_code == 0, done.output
    assert "can't be written" in done.output


def test_what_a_config_gives_for_a_verb() -> None:
    def commands(verb: str, **control: Any) -> tuple[tuple[str, ...], ...] | None:
        order = order_of(ServerControlSettings(**control), verb)
        return None if order is None else order.commands

    unit = {"unit": "sglang.service", "unit_of": "user"}
    assert commands("restart", **unit) == (("systemctl", "--user", "restart", "--", "sglang.service"),)
    assert commands("restart", start=("a",), stop=("b",)) == (("b",), ("a",))
    assert commands("restart", start=("a",)) is None
    assert commands("stop") is None
