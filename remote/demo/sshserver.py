"""The demo's SSH server: on loopback, with throwaway keys; it runs real commands as the present user.

Exec sessions and forwarding to 127.0.0.1 are what it does; shells, terminals, subsystems, agents, X11 and all other
forwarding it refuses. A command's process group ends with its channel; what made a session of its own lives on.
"""

from __future__ import annotations

import asyncio
import os
import pwd
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import asyncssh

from remote.demo.sshcommand import Command

if TYPE_CHECKING:
    from pathlib import Path

USER_FALLBACK = "demo"
"""The user's name where the system has none for the present user."""


@dataclass(slots=True)
class SshServer:
    """The server and its connections.

    Attributes:
        folder: Where commands run.
        user: The only user let in.
        host_key: The server's key pair.
        client_key: The key that lets in.
        port: Its port on 127.0.0.1, once started.
        connections: Who is connected.
        commands: The commands that run.
    """

    folder: Path
    user: str
    host_key: asyncssh.SSHKey
    client_key: asyncssh.SSHKey
    port: int = 0
    _acceptor: asyncssh.SSHAcceptor | None = field(default=None, init=False)
    connections: set[asyncssh.SSHServerConnection] = field(default_factory=set, init=False)
    commands: set[asyncio.Task[None]] = field(default_factory=set, init=False)

    async def start(self) -> None:
        """Listen: on a free port the first time, on the same one afterwards."""
        self._acceptor = await asyncssh.listen(
            "127.0.0.1",
            self.port,
            server_factory=lambda: _Door(self),
            server_host_keys=[self.host_key],
            encoding=None,
            allow_pty=False,
            agent_forwarding=False,
            x11_forwarding=False,
            allow_scp=False,
            server_version="longwait_demo",
            reuse_address=True,
            backlog=100,
        )
        self.port = self._acceptor.get_port()

    async def stop(self) -> None:
        """Refuse new connections and cut the present ones; the commands on them end."""
        if self._acceptor is not None:
            self._acceptor.close()
            await self._acceptor.wait_closed()
            self._acceptor = None
        connections = list(self.connections)
        for connection in connections:
            connection.abort()
        await asyncio.gather(*(connection.wait_closed() for connection in connections))
        await asyncio.gather(*self.commands, return_exceptions=True)


class _Door(asyncssh.SSHServer):
    """Who is let in, and what a connection may open."""

    def __init__(self, server: SshServer) -> None:
        self._server = server
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._server.connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the library's signature
        if self._connection is not None:
            self._server.connections.discard(self._connection)

    def begin_auth(self, username: str) -> bool:  # noqa: ARG002 - the library's signature
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return username == self._server.user and key.public_data == self._server.client_key.public_data

    def connection_requested(self, dest_host: str, *_: object) -> bool:
        return dest_host == "127.0.0.1"

    def session_requested(self) -> Command:
        return Command(self._server.folder, self._server.commands)


def user_name() -> str:
    """The present user's name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return USER_FALLBACK
