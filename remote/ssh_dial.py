"""The TCP connection under the first SSH connection: fresh attempts beside one that hangs.

An attempt that began while the host was away waits for TCP's own repetitions, 1, 3 and 7 seconds after its start
(RFC 6298, section 2): a host that comes back just after one of them would be seen seconds later. So another attempt is
begun every ``AGAIN_S``, and the oldest is left when there are two for an address. The host's first answer, a refusal
too, ends it. Several addresses of a name are tried side by side, as RFC 8305 has it. Behind a jump host or a
``ProxyCommand`` it is they that dial.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    import asyncssh

AGAIN_S = 1.5
"""Seconds between two attempts for one address: with TCP's repetition a second after each start, no more than a second
passes without a knock."""
NEXT_ADDRESS_S = 0.25
"""Seconds before the next address of a name is tried beside the first (RFC 8305, section 5)."""
ATTEMPTS = 2
"""Attempts at one time for an address: a link that is slow rather than dead has 3 seconds to answer."""

Address = tuple[int, tuple[object, ...]]
"""A family and a socket address of it."""


class Dialer:
    """Takes the place of asyncssh's own dialling, as a tunnel that leads nowhere else would.

    Args:
        family: Of the addresses that count: ``AF_INET``, ``AF_INET6`` or ``AF_UNSPEC``.
        local: The address to connect from (``BindAddress``); None for the system's choice.
    """

    def __init__(self, family: int = socket.AF_UNSPEC, local: tuple[str, int] | None = None) -> None:
        self._family = family
        self._local = local

    async def create_connection(
        self, session_factory: Callable[[], asyncio.Protocol], remote_host: str, remote_port: int
    ) -> tuple[asyncio.Transport, asyncio.Protocol]:
        """Connect, and give what asyncio gives for a protocol; called by asyncssh, within its time limit.

        Raises:
            OSError: The name is unknown, or every address refused.
        """
        addresses = await _addresses(remote_host, remote_port, self._family)
        local = await _addresses(*self._local, self._family) if self._local else []

        async def connect(address: Address) -> socket.socket:
            return await _connected(address, local)

        sock = await first_connected(addresses, connect)
        try:
            return await asyncio.get_running_loop().create_connection(session_factory, sock=sock)
        except BaseException:
            sock.close()
            raise

    def as_tunnel(self) -> asyncssh.SSHClientConnection:
        """Itself, under the one type that asyncssh's signature names; it calls ``create_connection`` alone."""
        return cast("asyncssh.SSHClientConnection", self)


async def first_connected(
    addresses: Sequence[Address],
    connect: Callable[[Address], Coroutine[None, None, socket.socket]],
    *,
    again_s: float = AGAIN_S,
    next_address_s: float = NEXT_ADDRESS_S,
) -> socket.socket:
    """The socket that is connected first; goes on until one is, all addresses failed, or it is cancelled.

    Args:
        addresses: Where to; at least one.
        connect: One attempt; closes its socket when it is cancelled.
        again_s: Seconds between two attempts for one address.
        next_address_s: Seconds between the first attempts for two addresses.

    Raises:
        OSError: Each address failed; a refusal is told before other failures.
    """
    race = _Race(list(addresses), connect)
    try:
        while race.left:
            await race.start_next()
            in_first_round = race.turn < len(addresses)
            if sock := await race.winner(next_address_s if in_first_round else again_s / len(race.left)):
                return sock
    finally:
        await race.end()
    raise race.failure()


class _Race:
    """The attempts that are under way.

    Attributes:
        left: The addresses that have not failed.
        turn: Attempts that were started.
    """

    def __init__(
        self, addresses: list[Address], connect: Callable[[Address], Coroutine[None, None, socket.socket]]
    ) -> None:
        self.left = addresses
        self.turn = 0
        self._connect = connect
        self._running: dict[asyncio.Task[socket.socket], Address] = {}
        self._failures: list[OSError] = []

    async def start_next(self) -> None:
        """Start an attempt for the address whose turn it is; the oldest for it is left when it has enough."""
        address = self.left[self.turn % len(self.left)]
        self.turn += 1
        older = [task for task, where in self._running.items() if where == address]
        for task in older[: max(0, len(older) - ATTEMPTS + 1)]:
            task.cancel()
            await asyncio.wait([task])
            del self._running[task]
        self._running[asyncio.create_task(self._connect(address))] = address

    async def winner(self, wait_s: float) -> socket.socket | None:
        """The connected socket; None when that time has passed, or an attempt has failed, before there was one."""
        done, _ = await asyncio.wait(self._running, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            address = self._running.pop(task)
            try:
                return task.result()
            except OSError as error:
                self._failures.append(error)
                self.left = [other for other in self.left if other != address]
        return None

    def failure(self) -> OSError:
        """What to say when every address failed: a refusal says most."""
        refusals = [error for error in self._failures if isinstance(error, ConnectionRefusedError)]
        return (refusals or self._failures)[0]

    async def end(self) -> None:
        """Leave all attempts; one that has just succeeded too is closed."""
        for task in self._running:
            task.cancel()
        for sock in await asyncio.gather(*self._running, return_exceptions=True):
            if isinstance(sock, socket.socket):
                sock.close()


async def _addresses(host: str, port: int, family: int) -> list[Address]:
    """A name's addresses. Looked up once: a slow answer would else use up each attempt's time."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
    return [(kind, where) for kind, _type, _proto, _name, where in found]


async def _connected(address: Address, local: Sequence[Address]) -> socket.socket:
    """One attempt."""
    family, where = address
    sources = [source for kind, source in local if kind == family]
    if local and not sources:
        raise OSError("the address to connect from (BindAddress) is of another family")
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        if sources:
            sock.bind(sources[0])
        await asyncio.get_running_loop().sock_connect(sock, where)
    except BaseException:
        sock.close()
        raise
    return sock
