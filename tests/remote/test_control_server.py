"""The operator's own commands for the server: detached, logged, one at a time, never through a shell."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest

from remote.control_server import ServerStep, run_server_command, unit_command
from remote.errors import CommandFailed
from remote.local import LocalHost
from tests.jobbox import Box, job_box
from tests.waits import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOST = LocalHost()
PYTHON = sys.executable


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with job_box(tmp_path / "run -x 'q' $(touch pwned)") as made:
        yield made


async def steps(box: Box, *argv: str, wait_s: float = 20.0) -> list[ServerStep]:
    """Run a command to its last step."""
    log = str(box.folder / "control.log")
    env = {name: value for name, value in box.spec.env.items() if value is not None}
    return [
        step
        async for step in run_server_command(HOST, PYTHON, argv, log=log, cwd=str(box.folder), env=env, wait_s=wait_s)
    ]


def log_of(box: Box) -> str:
    return (box.folder / "control.log").read_text()


async def test_a_command_is_run_and_its_end_told(box: Box) -> None:
    odd = ["-rf it's", "$(touch pwned)\nnew line", "; touch pwned"]
    told = await steps(box, PYTHON, "-c", "import os, sys; print(os.getcwd(), sys.argv[1:])", *odd)
    assert [step.step for step in told] == ["started", "ended"]
    assert (told[-1].status, told[-1].failed) == (0, False)
    assert told[-1].tail == (f"{box.folder} {odd}",)
    assert "longwait runs" in log_of(box).splitlines()[0]
    assert not (box.folder / "pwned").exists()


async def test_a_command_that_fails_shows_its_last_lines(box: Box) -> None:
    told = await steps(box, "sh", "-c", "echo stopping; echo 'no such server' >&2; exit 3")
    assert (told[-1].status, told[-1].failed) == (3, True)
    assert told[-1].tail == ("stopping", "no such server")
    assert (await steps(box, "sh", "-c", "kill -9 $$"))[-1].status == -9
    assert log_of(box).count("longwait runs") == 2, "the log is added to"


async def test_a_server_that_stays_goes_on_when_it_is_watched_no_longer(box: Box) -> None:
    told = await steps(box, "sleep", "600", wait_s=1.3)
    assert [step.step for step in told] == ["started", "running", "goes_on"]
    assert box.pids() == {told[-1].pid}
    assert [step.step for step in await steps(box, "true")] == ["started", "ended"], "the next one is not held up"


async def test_a_command_goes_on_when_nobody_listens(box: Box) -> None:
    argv = ("sh", "-c", "sleep 0.3; echo done")
    log = str(box.folder / "control.log")
    async with aclosing(run_server_command(HOST, PYTHON, argv, log=log, env={})) as told:
        assert (await anext(told)).step == "started"
    await until(lambda: "done" in log_of(box).splitlines())


async def test_of_two_at_once_one_is_refused(box: Box) -> None:
    both = await asyncio.gather(steps(box, "sleep", "2"), steps(box, "sleep", "2"), return_exceptions=True)
    (refused,) = [one for one in both if isinstance(one, BaseException)]
    assert isinstance(refused, CommandFailed)
    assert "Another command of the server is at work" in refused.message
    assert log_of(box).count("longwait runs") == 1


@pytest.mark.parametrize(
    ("argv", "words"), [(("/nowhere/ctl",), "/nowhere/ctl: No such file"), ((".",), "ermission denied")]
)
async def test_a_command_that_can_not_be_run_is_told(box: Box, argv: tuple[str, ...], words: str) -> None:
    with pytest.raises(CommandFailed, match=words) as raised:
        await steps(box, *argv)
    assert raised.value.status == 127


def test_a_unit_s_commands() -> None:
    assert unit_command("restart", "sglang.service", "user") == (
        "systemctl",
        "--user",
        "restart",
        "--",
        "sglang.service",
    )
    assert unit_command("stop", "x.service", "system") == ("systemctl", "stop", "--", "x.service")
