"""The job over a real SSH connection: it outlives the link, and a stop goes on without one."""

from __future__ import annotations

import sys
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

import pytest

from console.control import JobControl, Verb
from remote.errors import LinkLost, NoSession
from remote.launchers.process import ProcessLauncher
from remote.process import find, start, stop
from tests.jobbox import SLEEPER, STUBBORN, Box
from tests.waits import until

if TYPE_CHECKING:
    from pathlib import Path

    from remote.process import ProcessIdentity
    from remote.ssh import SshHost
    from tests.sshd.conftest import Sshd

pytestmark = pytest.mark.sshd

MAX_SESSIONS = 10
"""What an OpenSSH server allows on one connection (man 5 sshd_config, MaxSessions)."""


async def test_a_job_outlives_the_connection_that_started_it(
    box: Box, host: SshHost, other: SshHost, sshd: Sshd
) -> None:
    process = await start(host, box.spec)
    sshd.cut()
    await host.wait_lost()
    await other.connect()
    assert [one.identity for one in (await find(other, box.spec)).processes] == [process.identity]


async def test_a_stop_goes_on_when_the_link_is_cut(box: Box, host: SshHost, sshd: Sshd) -> None:
    box.write(STUBBORN)
    process = await start(host, box.spec)
    await until(lambda: "ready" in box.log())
    with pytest.raises(LinkLost):
        await _stop_and_cut(host, process.identity, sshd)
    await until(lambda: not box.pids())


async def _stop_and_cut(host: SshHost, identity: ProcessIdentity, sshd: Sshd) -> None:
    async for step in stop(host, identity, 1.0, python=sys.executable):
        assert step.step in {"term", "waiting"}
        sshd.cut()


async def test_an_ssh_server_that_opens_no_more_sessions_is_told_as_such(box: Box, host: SshHost) -> None:
    process = await start(host, box.spec, watch_s=0.05)
    async with AsyncExitStack() as open_:
        for _ in range(MAX_SESSIONS):
            chunks = await open_.enter_async_context(host.stream(["sh", "-c", "echo up; exec sleep 600"]))
            assert await anext(chunks) == b"up\n"
        with pytest.raises(NoSession, match=r"opened no session for a command: .*[^.]\. .*MaxSessions") as asked:
            await find(host, box.spec)
        with pytest.raises(NoSession, match="MaxSessions") as streamed:
            _ = [step async for step in stop(host, process.identity, 1, python=sys.executable)]
        with pytest.raises(NoSession):
            await host.run(["true"])
    assert "ython" not in asked.value.message + streamed.value.message
    assert box.pids() == {process.pid}


async def test_a_restart_with_a_new_script(box: Box, host: SshHost, tmp_path: Path) -> None:
    script = tmp_path / "new.py"
    script.write_text(SLEEPER + "# new\n" * 50_000)
    control = JobControl(host, box.spec, launcher=partial(ProcessLauncher, watch_s=0.05), grace_s=10)
    for verb, new in ((Verb.START, None), (Verb.RESTART, script), (Verb.STOP, None)):
        steps = [step async for step in control.carry_out(await control.plan(verb, new))]
        assert steps[-1].state == "done", steps[-1].detail
    assert box.pids() == set()
    assert box.path.read_bytes() == script.read_bytes()
    assert (await control.process_fact()).restarts == 2
