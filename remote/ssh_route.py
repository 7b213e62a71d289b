"""The way to a host: its jump hosts, then itself, each one SSH connection inside the one before."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import asyncssh

from remote.errors import CannotConnect
from remote.ssh_address import parse_address
from remote.ssh_errors import FAILURES, cannot_connect, cannot_resolve
from remote.ssh_target import SshSettings, resolve

if TYPE_CHECKING:
    from remote.ssh_address import Address
    from remote.ssh_target import Target

MAX_HOPS = 8
"""More jump hosts than this are a loop in the SSH config."""
_CLOSE_S = 2.0

# asyncssh tells of each connection it makes; only its warnings are news.
logging.getLogger("asyncssh").setLevel(logging.WARNING)


class _Watch(asyncssh.SSHClient):
    """Told by asyncssh when the connection ends."""

    def __init__(self, ended: asyncio.Future[Exception | None]) -> None:
        self._ended = ended

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._ended.done():
            self._ended.set_result(exc)


class Route:
    """An open way to a host.

    Args:
        name: The host as the operator wrote it.
        settings: What the caller decides.

    Attributes:
        ended: Done when the last hop, the host, is gone; its result is the cause.
    """

    def __init__(self, name: str, settings: SshSettings) -> None:
        self._name = name
        self._settings = settings
        self._hops: list[asyncssh.SSHClientConnection] = []
        self.ended: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

    @property
    def connection(self) -> asyncssh.SSHClientConnection:
        """The connection to the host itself."""
        return self._hops[-1]

    async def open(self) -> None:
        """Connect, hop by hop; nothing is left open when it fails.

        Raises:
            CannotConnect: Or one of its kinds.
        """
        try:
            address = parse_address(self._name)
        except ValueError as error:
            raise cannot_resolve(self._name, error) from error
        try:
            await self._reach(address, ())
        except BaseException:
            await self.close()
            raise

    async def _reach(self, address: Address, path: tuple[Address, ...]) -> None:
        """Connect to an address, after its jump hosts."""
        if address in path or len(path) > MAX_HOPS:
            message = f"{self._name} can't be connected to: its jump hosts lead in a circle ({address.name})."
            raise CannotConnect(message, host=self._name)
        try:
            # Reads files, and a `Match exec` of the config runs a command.
            target = await asyncio.to_thread(resolve, address, self._settings)
        except (OSError, ValueError) as error:
            raise cannot_resolve(address.name, error) from error
        # Only the first of several jump hosts is reached by a route of its own; a host that is its own jump host, as
        # under `Host *`, is reached directly.
        for jump in () if self._hops else target.jumps:
            if jump != address:
                await self._reach(jump, (*path, address))
        await self._hop(target)

    async def _hop(self, target: Target) -> None:
        """Connect to one host, inside the last hop."""
        ended: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        dialer = None if target.dialer is None else target.dialer.as_tunnel()
        try:
            connection = await asyncssh.connect(
                target.address.name,
                () if target.address.port is None else target.address.port,
                tunnel=self._hops[-1] if self._hops else dialer,
                client_factory=lambda: _Watch(ended),
                **target.options,
            )
        except FAILURES as error:
            raise cannot_connect(self._name, target, error, self._settings.connect_timeout_s) from error
        self._hops.append(connection)
        self.ended = ended

    async def close(self) -> None:
        """Close all hops, the last one first; a host that doesn't answer is not waited for."""
        hops, self._hops = self._hops, []
        for hop in reversed(hops):
            hop.close()
            try:
                async with asyncio.timeout(_CLOSE_S):
                    await hop.wait_closed()
            except TimeoutError:
                hop.abort()
                await hop.wait_closed()
