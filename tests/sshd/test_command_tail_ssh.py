"""Following commands over real SSH, with the link cut under them; and two follows over one connection."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from remote.errors import CannotConnect, LinkLost
from tests.log_tools import BEGIN, KINDS, Heard, LogTool
from tests.tailing import Seen, append, numbered
from tests.waits import alive, until

if TYPE_CHECKING:
    from pathlib import Path

    from remote.ssh import SshHost
    from tests.sshd.conftest import Sshd

pytestmark = pytest.mark.sshd

BURSTS = 6
LINES = 400


async def _read_on(heard: Heard, cuts: list[str]) -> None:
    """Connect and resume until the last line has come."""
    wanted = len(numbered(1, BURSTS * LINES))
    while len(heard.data) < wanted:
        try:
            await heard.host.connect()
            await heard.read(wanted)
        except (LinkLost, CannotConnect) as error:
            cuts.append(str(error))


@pytest.mark.parametrize("kind", KINDS)
async def test_the_link_is_cut_again_and_again(kind: str, sshd: Sshd, tmp_path: Path) -> None:
    tool = LogTool(tmp_path, kind)
    heard = Heard(sshd.host(), tool.argv)
    cuts: list[str] = []
    reading = asyncio.create_task(_read_on(heard, cuts))
    try:
        for burst in range(BURSTS):
            before = len(heard.data)
            for nth in range(burst * LINES + 1, (burst + 1) * LINES + 1):
                # Three lines at a time have one stamp.
                tool.write(b"line %d" % nth, BEGIN + nth // 3 * 7_000_000, stream=1 + nth % 2)
            await until(lambda before=before: len(heard.data) > before)  # type: ignore[misc]  # bound per round
            if burst < BURSTS - 1:
                sshd.cut()
                await until(lambda burst=burst: len(cuts) > burst)  # type: ignore[misc]  # bound per round
        await until(reading.done)
        reading.result()
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await heard.host.close()
    assert heard.data == numbered(1, BURSTS * LINES)
    assert len(cuts) >= BURSTS - 1


async def test_the_command_is_ended_on_the_host(host: SshHost, sshd: Sshd, tmp_path: Path) -> None:
    tool = LogTool(tmp_path, "docker")
    tool.write(b"one")
    heard = Heard(host, tool.argv)
    reading = asyncio.create_task(heard.read())
    await until(lambda: heard.data)
    remote = [p.pid for p in sshd.sessions() if str(tool.store) in p.cmdline()]
    assert remote
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await until(lambda: not any(alive(pid) for pid in remote))


async def test_several_files_and_a_command_at_once(host: SshHost, tmp_path: Path) -> None:
    """One log is one session.

    sshd gives a connection ten (MaxSessions), and the console keeps five for commands (``remote.ssh.MAX_RUNS``), so one
    connection takes five logs. HTTP needs none: it has channels of its own kind, which sshd does not count.
    """
    seen = [Seen(host, tmp_path / f"rank{n}.log") for n in range(4)]
    tool = LogTool(tmp_path, "docker")
    tool.write(b"one")
    heard = Heard(host, tool.argv)
    reading = [asyncio.create_task(one.read()) for one in seen]
    reading.append(asyncio.create_task(heard.read()))
    for nth, one in enumerate(seen):
        append(one.path, numbered(nth, nth + 2000))
    await asyncio.gather(*(one.until(numbered(nth, nth + 2000)) for nth, one in enumerate(seen)))
    await until(lambda: heard.data == b"one\n")
    done = await asyncio.gather(*(host.run(["sleep", "0.1"]) for _ in range(8)))
    assert [one.status for one in done] == [0] * 8
    for task in reading:
        task.cancel()
    await asyncio.gather(*reading, return_exceptions=True)
