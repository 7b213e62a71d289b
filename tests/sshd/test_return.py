"""The host's return is seen soon, also by an attempt that began while it was away."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

import psutil
import pytest

from remote.ssh import SshHost
from tests.waits import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.sshd.conftest import Sshd

pytestmark = pytest.mark.sshd


class Mute:
    """A port on loopback that answers no SYN, as that of a host that is away: its queue of connections is full."""

    def __init__(self) -> None:
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(0)
        self.port: int = self._listener.getsockname()[1]
        self._fillers: list[socket.socket] = []
        self._relaying: set[asyncio.Task[None]] = set()
        self.knocked: set[int] = set()

    async def fill(self) -> None:
        """Connect until a connection hangs: from then on all do."""
        loop = asyncio.get_running_loop()
        for _ in range(8):
            sock = socket.socket()
            sock.setblocking(False)
            self._fillers.append(sock)
            try:
                async with asyncio.timeout(0.3):
                    await loop.sock_connect(sock, ("127.0.0.1", self.port))
            except TimeoutError:
                sock.close()
                return
        pytest.skip("this system answers more connections than a listener asked for")

    def knocks(self) -> int:
        """How many attempts were seen to hang so far, by their local ports."""
        hanging = [c for c in psutil.Process().net_connections("tcp4") if c.status == psutil.CONN_SYN_SENT]
        self.knocked |= {c.laddr.port for c in hanging if tuple(c.raddr)[1:] == (self.port,)}
        return len(self.knocked)

    async def come_back(self, port: int) -> None:
        """Take connections again and hand them to another port of loopback."""
        for sock in self._fillers:
            sock.close()
        self._listener.setblocking(False)
        loop = asyncio.get_running_loop()
        while True:
            sock, _ = await loop.sock_accept(self._listener)
            task = asyncio.create_task(_relay(sock, port))
            self._relaying.add(task)

    async def close(self) -> None:
        """End all of it."""
        for task in self._relaying:
            task.cancel()
        await asyncio.gather(*self._relaying, return_exceptions=True)
        for sock in (*self._fillers, self._listener):
            sock.close()


async def _relay(sock: socket.socket, port: int) -> None:
    """Carry bytes both ways until one side ends."""
    here = await asyncio.open_connection(sock=sock)
    there = await asyncio.open_connection("127.0.0.1", port)
    try:
        await asyncio.wait(
            {asyncio.ensure_future(_carry(*pair)) for pair in ((here[0], there[1]), (there[0], here[1]))},
            return_when=asyncio.FIRST_COMPLETED,
        )
    finally:
        here[1].close()
        there[1].close()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()


@pytest.fixture
async def mute() -> AsyncIterator[Mute]:
    mute = Mute()
    await mute.fill()
    yield mute
    await mute.close()


async def test_an_attempt_that_began_while_the_host_was_away(sshd: Sshd, mute: Mute) -> None:
    """TCP alone would knock 1, 3 and 7 s after the start: from the third attempt on its next knock is 4 s away."""
    config = sshd.add_config(f"Host away\n  HostName 127.0.0.1\n  Port {mute.port}\n")
    known = config.with_name("known_mute")
    known.write_text(sshd.known_hosts.read_text().replace(f":{sshd.port}", f":{mute.port}"))
    host = SshHost("away", config_files=[str(config)], known_hosts=[str(known)])
    connecting = asyncio.create_task(host.connect())
    tasks: list[asyncio.Task[None]] = [connecting]
    try:
        await until(lambda: mute.knocks() >= 3)
        tasks.append(asyncio.create_task(mute.come_back(sshd.port)))
        async with asyncio.timeout(3.0):  # two are promised; one more for the login on a busy machine
            await connecting
        assert (await host.run(["echo", "back"])).text == "back\n"
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await host.close()
