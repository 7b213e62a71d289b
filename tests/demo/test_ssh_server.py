"""The demo's SSH server, asked by a real client."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import asyncssh
import pytest

from remote.demo.processes import MARK, belongs, sweep
from remote.demo.sshserver import SshServer
from tests.demo.conftest import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Client = asyncssh.SSHClientConnection
Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[SshServer]:
    host_key, client_key = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    server = SshServer(tmp_path, "operator", host_key, client_key)
    await server.start()
    yield server
    await server.stop()
    assert await asyncio.to_thread(sweep, tmp_path) == []


@pytest.fixture
def connect(server: SshServer) -> Connect:
    @asynccontextmanager
    async def open_(user: str = "operator", key: asyncssh.SSHKey | None = None) -> AsyncIterator[Client]:
        known = asyncssh.import_known_hosts(f"[127.0.0.1]:{server.port} {server.host_key.export_public_key().decode()}")
        async with asyncssh.connect(
            "127.0.0.1",
            server.port,
            username=user,
            client_keys=[key or server.client_key],
            known_hosts=known,
            config=None,
            agent_path=None,
        ) as client:
            yield client

    return open_


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie, whose environment is empty, does not."""
    with suppress(OSError):
        return b"=" in (Path("/proc") / str(pid) / "environ").read_bytes()
    return False


async def test_commands_run_in_the_folder_and_their_status_comes_back(connect: Connect, server: SshServer) -> None:
    async with connect() as client:
        done = await client.run('pwd; echo "${LONGWAIT_DEMO}"; echo oops >&2; exit 7')
    assert done.stdout == f"{server.folder}\n{server.folder}\n"
    assert (done.stderr, done.exit_status) == ("oops\n", 7)


async def test_a_signal_comes_back(connect: Connect) -> None:
    async with connect() as client:
        done = await client.run("kill -9 $$")
    assert done.exit_signal is not None
    assert done.exit_signal[0] == "KILL"


async def test_bytes_pass_unchanged_in_bulk(connect: Connect) -> None:
    data = os.urandom(3_000_000) + b"\r\n\0\xff"
    async with connect() as client:
        done = await client.run("tee /dev/stderr", input=data, encoding=None)
    assert done.stdout == data
    assert done.stderr == data


async def test_a_command_that_reads_nothing_is_no_trouble(connect: Connect) -> None:
    async with connect() as client:
        done = await client.run("exec <&-; echo fine", input="x" * 2_000_000)
    assert done.stdout == "fine\n"


async def test_a_close_is_noticed_behind_input_that_nobody_wants(connect: Connect) -> None:
    async with connect() as client:
        process = await client.create_process("exec <&-; echo $$; exec sleep 300")
        pid = int(await process.stdout.readline())
        process.stdin.write("x" * 4_000_000)
        process.close()
        await until(lambda: not alive(pid), "the command has ended")


async def test_many_channels_at_once(connect: Connect) -> None:
    async with connect() as client:
        done = await asyncio.gather(*(client.run(f"echo {n}") for n in range(25)))
    assert [each.stdout for each in done] == [f"{n}\n" for n in range(25)]


async def test_a_closed_channel_ends_the_group_but_not_what_detached_itself(
    connect: Connect, server: SshServer
) -> None:
    script = "setsid sleep 300 >/dev/null 2>&1 </dev/null & echo $!; sleep 300 & echo $!; wait"
    async with connect() as client:
        process = await client.create_process(script)
        detached = int(await process.stdout.readline())
        attached = int(await process.stdout.readline())
        await until(lambda: os.getsid(detached) == detached, "it has a session of its own")
        process.close()
        await process.wait_closed()
        await until(lambda: not alive(attached), "the group's sleep has ended")
        assert alive(detached)
    assert belongs(detached, server.folder)


async def test_a_command_that_ignores_term_is_killed(connect: Connect) -> None:
    async with connect() as client:
        process = await client.create_process("trap '' TERM; echo $$; while :; do sleep 1; done")
        pid = int(await process.stdout.readline())
        process.close()
        await process.wait_closed()
        await until(lambda: not alive(pid), "the shell is gone")


async def test_signals_reach_the_command_also_after_the_end_of_its_input(connect: Connect) -> None:
    async with connect() as client:
        process = await client.create_process("trap 'echo caught; exit 5' INT; echo up; while :; do sleep 0.05; done")
        process.stdin.write_eof()
        assert await process.stdout.readline() == "up\n"
        process.send_signal("INT")
        done = await process.wait()
    assert (done.stdout, done.exit_status) == ("caught\n", 5)


async def test_a_lost_connection_ends_its_commands(connect: Connect) -> None:
    async with connect() as client:
        process = await client.create_process("echo $$; exec sleep 300")
        pid = int(await process.stdout.readline())
        client.abort()
        await until(lambda: not alive(pid), "the command has ended")


async def test_forwarding_goes_to_loopback_only(connect: Connect) -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello\n")
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as target, connect() as client:
        port = target.sockets[0].getsockname()[1]
        reader, writer = await client.open_connection("127.0.0.1", port)
        assert await reader.readline() == b"hello\n"
        writer.close()
        for elsewhere in ("192.0.2.1", "example.org", "127.0.0.2"):
            with pytest.raises(asyncssh.ChannelOpenError):
                await client.open_connection(elsewhere, port)
        with pytest.raises(asyncssh.ChannelListenError):
            await client.forward_remote_port("127.0.0.1", 0, "127.0.0.1", port)


async def test_everything_else_is_refused(connect: Connect) -> None:
    async with connect() as client:
        with pytest.raises(asyncssh.ChannelOpenError):
            await client.create_process()
        with pytest.raises(asyncssh.ChannelOpenError):
            await client.create_process("id", term_type="xterm")
        with pytest.raises(asyncssh.ChannelOpenError):
            await client.start_sftp_client()
        assert (await client.run("echo still here")).stdout == "still here\n"


async def test_only_the_one_key_of_the_one_user_gets_in(connect: Connect, server: SshServer) -> None:
    for user, key in (("root2", server.client_key), ("operator", asyncssh.generate_private_key("ssh-ed25519"))):
        with pytest.raises(asyncssh.PermissionDenied):
            async with connect(user, key):
                pass


async def test_a_stopped_server_refuses_and_comes_back_on_its_port(connect: Connect, server: SshServer) -> None:
    async with connect() as client:
        port = server.port
        await server.stop()
        await asyncio.wait_for(client.wait_closed(), 5)
    with pytest.raises(OSError, match=r"[Cc]onnect"):
        async with connect():
            pass
    await server.start()
    assert server.port == port
    async with connect() as client:
        assert (await client.run("echo back")).stdout == "back\n"


async def test_a_sweep_finds_what_detached_itself_and_nothing_else(tmp_path: Path) -> None:
    other = tmp_path / "other"
    mine = tmp_path / "mine"
    processes = [
        await asyncio.create_subprocess_exec(
            "sh", "-c", "trap '' TERM; exec sleep 300", env={**os.environ, MARK: str(folder)}, start_new_session=True
        )
        for folder in (mine, other)
    ]
    await until(lambda: all(alive(p.pid) for p in processes), "both run")
    assert await asyncio.to_thread(sweep, mine, patience_s=0.2) == []
    assert await asyncio.wait_for(processes[0].wait(), 5) == -signal.SIGKILL
    assert alive(processes[1].pid)
    processes[1].kill()
    await processes[1].wait()


async def test_a_script_of_the_folder_is_known_without_the_mark(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text("import time\ntime.sleep(300)\n")
    process = await asyncio.create_subprocess_exec("env", "-i", sys.executable, str(script))
    await until(lambda: belongs(process.pid, tmp_path), "the script runs")
    assert not belongs(process.pid, tmp_path / "sub")
    assert await asyncio.to_thread(sweep, tmp_path) == []
    assert await process.wait() == -signal.SIGTERM


def test_a_file_of_the_folder_in_an_editor_is_not_ours(tmp_path: Path) -> None:
    assert not belongs(os.getpid(), tmp_path)
