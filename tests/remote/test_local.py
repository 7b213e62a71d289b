"""LocalHost: commands as child processes, ended with their descendants."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from remote.errors import CommandFailed, CommandTimedOut
from remote.local import LocalHost
from tests.waits import alive, until

if TYPE_CHECKING:
    from pathlib import Path

HOST = LocalHost()
ODD = ["a b", "it's", "$(id)", "new\nline", "-n", "", "*"]


async def test_words_stdin_and_bytes() -> None:
    assert (await HOST.run(["printf", "%s\\0", *ODD])).text.split("\0")[:-1] == ODD
    data = bytes(range(256)) * 4096
    assert (await HOST.run(["cat"], stdin=data)).stdout == data


async def test_status_and_last_words() -> None:
    with pytest.raises(CommandFailed, match=r"status 3\. It said: no space") as caught:
        await HOST.run(["sh", "-c", "echo first >&2; echo no space >&2; exit 3"])
    assert (caught.value.status, caught.value.stderr) == (3, "first\nno space")
    assert (await HOST.run(["sh", "-c", "kill -9 $$"], check=False)).status == -9
    assert (await HOST.run(["no-such-command"], check=False)).status == 127
    with pytest.raises(CommandFailed, match="not found"):
        await HOST.run(["no-such-command"])
    with pytest.raises(CommandFailed, match="not found"):
        async with HOST.stream(["no-such-command"]):
            pass
    with pytest.raises(CommandFailed, match="126"):
        await HOST.run(["/etc/passwd"])


async def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with pytest.raises(CommandTimedOut, match=r"0\.5 s"):
        await HOST.run(["sh", "-c", f"sleep 984 & echo $! $$ > '{pids}'; wait"], timeout_s=0.5)
    await until(lambda: not any(alive(int(pid)) for pid in pids.read_text().split()))


async def test_a_stream_gives_all_and_then_its_failure() -> None:
    got = b""
    async with HOST.stream(["sh", "-c", "seq 200000; echo bad >&2; exit 5"]) as chunks:
        while not got.endswith(b"200000\n"):
            got += await anext(chunks)
        with pytest.raises(CommandFailed, match=r"status 5.*bad"):
            await anext(chunks)
    assert got.split() == [str(n).encode() for n in range(1, 200_001)]


async def test_leaving_a_stream_ends_a_command_that_ignores_it() -> None:
    async with HOST.stream(["sh", "-c", "trap '' TERM; sleep 983 & echo $! $$; wait; wait"]) as chunks:
        pids = [int(pid) for pid in (await anext(chunks)).split()]
        assert all(alive(pid) for pid in pids)
    await until(lambda: not any(alive(pid) for pid in pids))


async def test_stderr_without_end_does_not_block() -> None:
    async with HOST.stream(["sh", "-c", "yes noise | head -c 2000000 >&2; echo done"]) as chunks:
        assert [chunk async for chunk in chunks] == [b"done\n"]


async def test_the_link_is_never_lost() -> None:
    await HOST.connect()
    waiting = asyncio.create_task(HOST.wait_lost())
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
    await HOST.close()
    assert HOST.name == "local"
