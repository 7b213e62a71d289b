"""SshHost against a real OpenSSH server: commands, streams, loss, silence."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from remote.errors import CommandFailed, CommandTimedOut, LinkLost
from remote.link import Link, LinkState
from tests.waits import until

if TYPE_CHECKING:
    from pathlib import Path

    from remote.ssh import SshHost
    from tests.sshd.conftest import Sshd

pytestmark = pytest.mark.sshd

ODD = ["a b", "it's", '"', "$(id)", "`id`", "new\nline", "-n", "", "*", "ü", "\\", "!x", "tab\t"]


async def test_odd_words_arrive_as_they_are(host: SshHost) -> None:
    done = await host.run(["printf", "%s\\0", *ODD])
    assert done.stdout.decode().split("\0")[:-1] == ODD


async def test_stdin_is_given_and_closed(host: SshHost) -> None:
    data = bytes(range(256)) * 4096
    assert (await host.run(["cat"], stdin=data)).stdout == data
    assert (await host.run(["cat"])).stdout == b""


async def test_output_need_not_be_utf8(host: SshHost) -> None:
    done = await host.run(["printf", "\\377\\376ok"])
    assert done.stdout == b"\xff\xfeok"
    assert done.text.endswith("ok")


async def test_status_stderr_and_signal(host: SshHost) -> None:
    with pytest.raises(CommandFailed, match="status 3") as caught:
        await host.run(["sh", "-c", "echo no space >&2; exit 3"])
    assert (caught.value.status, caught.value.stderr) == (3, "no space")
    assert (await host.run(["sh", "-c", "exit 4"], check=False)).status == 4
    assert (await host.run(["sh", "-c", "kill -9 $$"], check=False)).status in {-9, 137}
    with pytest.raises(CommandFailed, match="not found"):
        await host.run(["no-such-command"])


async def test_a_command_that_hangs_is_given_up_and_ended(host: SshHost, sshd: Sshd) -> None:
    with pytest.raises(CommandTimedOut):
        await host.run(["sleep", "987"], timeout_s=0.5)
    await until(lambda: not _running(sshd, "987"))


async def test_many_commands_at_once_wait_for_their_turn(host: SshHost) -> None:
    done = await asyncio.gather(*(host.run(["echo", str(n)]) for n in range(30)))
    assert [int(d.text) for d in done] == list(range(30))


async def test_a_stream_gives_all_and_then_its_failure(host: SshHost) -> None:
    got = b""
    async with host.stream(["sh", "-c", "seq 200000; echo bad >&2; exit 5"]) as chunks:
        while not got.endswith(b"200000\n"):
            got += await anext(chunks)
        with pytest.raises(CommandFailed, match=r"status 5.*bad"):
            await anext(chunks)
    assert got.split() == [str(n).encode() for n in range(1, 200_001)]


async def test_leaving_a_stream_ends_the_command(host: SshHost, sshd: Sshd) -> None:
    async with host.stream(["sh", "-c", "echo up; exec sleep 986"]) as chunks:
        async for chunk in chunks:
            assert chunk == b"up\n"
            break
        # The shell says "up" before it becomes the sleep.
        await until(lambda: bool(_running(sshd, "986")))
    await until(lambda: not _running(sshd, "986"))


async def test_a_slow_reader_slows_the_command(host: SshHost) -> None:
    async with host.stream(["sh", "-c", "yes | head -c 60000000"]) as chunks:
        total = len(await anext(chunks))
        await host.run(["true"])
        async for chunk in chunks:
            total += len(chunk)
    assert total == 60_000_000


async def test_a_cut_link_is_told_to_everyone(host: SshHost, sshd: Sshd) -> None:
    async with host.stream(["sh", "-c", "echo up; exec sleep 985"]) as chunks:
        await anext(chunks)
        waiting = asyncio.create_task(host.wait_lost())
        running = asyncio.create_task(host.run(["sleep", "985"]))
        await until(lambda: len(_running(sshd, "985")) == 2)
        sshd.cut()
        with pytest.raises(LinkLost):
            await anext(chunks)
        with pytest.raises(LinkLost):
            await running
        assert "lost" in await waiting
    with pytest.raises(LinkLost):
        await host.run(["true"])
    with pytest.raises(LinkLost):
        await host.fetch("http://127.0.0.1:1/")
    await host.connect()
    assert (await host.run(["echo", "back"])).text == "back\n"


async def test_a_dead_link_is_noticed(sshd: Sshd) -> None:
    host = sshd.host(keepalive_s=0.3, keepalive_count=2)
    await host.connect()
    try:
        assert (await host.run(["true"])).status == 0
        sshd.pause()
        started = time.monotonic()
        with pytest.raises(LinkLost, match="stopped answering"):
            await host.run(["true"])
        assert time.monotonic() - started < 3
        assert "stopped answering" in await host.wait_lost()
    finally:
        sshd.resume()
        await host.close()


async def test_close_does_not_wait_for_a_dead_host(sshd: Sshd) -> None:
    host = sshd.host()
    await host.connect()
    sshd.pause()
    try:
        async with asyncio.timeout(4):
            await host.close()
    finally:
        sshd.resume()
    assert "no connection" in await host.wait_lost()


async def test_a_link_comes_back_by_itself(sshd: Sshd) -> None:
    host = sshd.host()
    states: list[LinkState] = []
    link = Link(host, states.append)
    task = asyncio.create_task(link.run())
    async with asyncio.timeout(20):
        await link.wait_up()
        sshd.cut()
        await until(lambda: [s.state for s in states].count("up") == 2)
    assert (await host.run(["echo", "there"])).text == "there\n"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert [s.state for s in states] == ["connecting", "up", "lost", "connecting", "up"]
    with pytest.raises(LinkLost):
        await host.run(["true"])


async def test_nothing_is_lent_to_the_host(host: SshHost) -> None:
    done = await host.run(["sh", "-c", "echo ${SSH_AUTH_SOCK-none} ${DISPLAY-none}; test -t 0 || echo no tty"])
    assert done.text == "none none\nno tty\n"


async def test_files_of_odd_names(host: SshHost, tmp_path: Path) -> None:
    odd = tmp_path / "it's $(odd)\n-name"
    odd.write_bytes(b"content")
    assert (await host.run(["cat", str(odd)])).stdout == b"content"


def _running(sshd: Sshd, word: str) -> list[psutil.Process]:
    found = []
    for process in sshd.sessions():
        try:
            if process.cmdline() == ["sleep", word]:
                found.append(process)
        except psutil.Error:
            continue
    return found
