"""The link is cut in the middle of each step over a real OpenSSH server; what the host has done is then found out, whole."""

from __future__ import annotations

import asyncio
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from remote.control_checks import check_job
from remote.control_server import run_server_command
from remote.discover import discover
from remote.errors import JobAlreadyRuns, LinkLost
from remote.files import put_file
from remote.launchers.choose import launcher_of
from remote.process import find, start, stop
from tests.jobbox import DAEMONS, Box
from tests.waits import until

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from remote.process import FoundProcess
    from remote.ssh import SshHost
    from tests.sshd.conftest import Sshd

pytestmark = pytest.mark.sshd


async def cut_in(step: Coroutine[object, object, object], sshd: Sshd, moment: Callable[[], object]) -> None:
    """Carry a step out and cut its link at a moment of the host's; the step must say so."""
    task = asyncio.ensure_future(step)
    await until(lambda: task.done() or moment())
    assert not task.done(), "the step was over before its moment"
    sshd.cut()
    with pytest.raises(LinkLost):
        await task


async def the_one_job(box: Box, other: SshHost, launcher: str = "process") -> FoundProcess:
    """What the host has: one job, which a second start does not double."""
    await other.connect()
    with pytest.raises(JobAlreadyRuns):
        await launcher_of(box.spec, launcher).start(other)
    (process,) = (await find(other, box.spec)).processes
    assert process.by_record
    return process


async def test_a_start_whose_answer_is_lost_has_given_one_job(
    box: Box, host: SshHost, other: SshHost, sshd: Sshd
) -> None:
    await cut_in(start(host, box.spec, watch_s=3), sshd, box.record.exists)
    process = await the_one_job(box, other)
    assert box.pids() == {process.pid}


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
async def test_a_start_in_tmux_whose_answer_is_lost_has_given_one_job(
    box: Box, host: SshHost, other: SshHost, sshd: Sshd
) -> None:
    launcher = launcher_of(box.spec, "tmux")
    await cut_in(launcher.start(host), sshd, box.record.exists)
    process = await the_one_job(box, other, "tmux")
    _ = [step async for step in launcher.stop(other, process, 10)]
    assert box.pids() == set()


async def test_an_upload_that_is_cut_leaves_the_former_script_whole(
    box: Box, host: SshHost, other: SshHost, sshd: Sshd
) -> None:
    former, new = box.path.read_bytes(), b"# new\n" * 10_000_000

    def arriving() -> bool:
        return any(0 < path.stat().st_size < len(new) for path in box.folder.glob(".longwait-put-*"))

    await cut_in(put_file(host, sys.executable, str(box.path), new), sshd, arriving)
    await until(lambda: not list(box.folder.glob(".longwait-put-*")))
    assert box.path.read_bytes() == former
    await other.connect()
    put = await put_file(other, sys.executable, str(box.path), b"# small\n")
    assert put.changed
    assert put.kept is not None
    assert {str(path) for path in box.folder.iterdir()} == {put.path, put.kept}


async def test_a_server_s_command_goes_on(box: Box, host: SshHost, sshd: Sshd) -> None:
    log = box.folder / "control.log"
    argv = ("sh", "-c", "sleep 1; echo restarted")

    async def restart() -> None:
        async for _ in run_server_command(host, sys.executable, argv, log=str(log)):
            pass

    await cut_in(restart(), sshd, log.exists)
    await until(lambda: log.exists() and "restarted" in log.read_text().splitlines())


async def test_looking_over_ssh_finds_what_looking_here_does(box: Box, host: SshHost) -> None:
    box.write(DAEMONS)
    process = await start(host, box.spec, watch_s=0.05)
    await until(lambda: len(box.pids()) == 4)
    checked = await check_job(host, box.spec, script=b"import os\nimport no_such_one\n", identity=process.identity)
    assert checked.python is not None
    assert [one.name for one in checked.python.missing] == ["no_such_one"]
    assert checked.strays == ()
    found = await discover(host, sys.executable)
    assert found.processes > 4
    assert not any("no time" in text for text in found.unseen)
    steps = [step async for step in stop(host, process.identity, 5, python=sys.executable)]
    assert (steps[0].count, steps[0].left_group, steps[-1].step) == (4, 3, "gone")
    assert box.pids() == set()
