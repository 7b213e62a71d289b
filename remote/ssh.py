"""A Host over SSH, with asyncssh; its parts ``remote/ssh_*.py`` and this file are all that import it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING

import asyncssh

from remote.errors import HttpUnavailable, LinkLost, NoSession
from remote.host import Answer, Completed
from remote.loading import load
from remote.outcome import STDERR_TAIL, call_of, command_failed, command_timed_out, without_stop
from remote.ssh_leash import leashed
from remote.ssh_route import Route
from remote.ssh_target import SshSettings
from remote.ssh_words import command_line

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence

    from remote.host import Host

MAX_RUNS = 5
"""Commands at one time, the rest waits: sshd gives ten sessions per connection (MaxSessions), and logs are followed."""
SESSION_PAUSES_S = (0.02, 0.05, 0.1, 0.2)
"""Seconds before each further attempt to open a session that was refused: too many may be open for a moment."""
_READ = 65_536


class SshHost:
    """A host over one SSH connection (and those to its jump hosts).

    Args:
        address: An alias of the SSH config, ``user@name`` or ``user@name:port``.
        config_files: See ``remote.ssh_target.SshSettings``, also for the others.
        known_hosts: known_hosts files instead of the config's.
        identity: One private key file instead of the config's.
        connect_timeout_s: Seconds for one hop.
        keepalive_s: Seconds of silence before a question.
        keepalive_count: Unanswered questions; a dead link is noticed after ``keepalive_s * (keepalive_count + 1)``.
    """

    def __init__(
        self,
        address: str,
        *,
        config_files: Sequence[str] | None = None,
        known_hosts: Sequence[str] | None = None,
        identity: str | None = None,
        connect_timeout_s: float = 10.0,
        keepalive_s: float = 3.0,
        keepalive_count: int = 3,
    ) -> None:
        self._name = address
        self._settings = SshSettings(
            None if config_files is None else tuple(config_files),
            None if known_hosts is None else tuple(known_hosts),
            identity,
            connect_timeout_s,
            keepalive_s,
            keepalive_count,
        )
        self._route: Route | None = None
        self._runs = asyncio.Semaphore(MAX_RUNS)

    @property
    def name(self) -> str:
        """The address as it was given."""
        return self._name

    async def connect(self) -> None:
        """See ``remote.host.Host.connect``; what is left of a former connection is closed first."""
        await self.close()
        route = Route(self._name, self._settings)
        await route.open()
        self._route = route

    async def wait_lost(self) -> str:
        """See ``remote.host.Host.wait_lost``."""
        if self._route is None:
            return f"There is no connection to {self._name}."
        return self._epitaph(await asyncio.shield(self._route.ended))

    def _epitaph(self, cause: Exception | None) -> str:
        """Why the link is gone."""
        match cause:
            case None:
                return f"The connection to {self._name} was closed."
            case asyncssh.ConnectionLost() if "keepalive" in str(cause):
                return f"{self._name} stopped answering."
            case _:
                return f"The connection to {self._name} was lost ({str(cause) or type(cause).__name__})."

    async def close(self) -> None:
        """See ``remote.host.Host.close``."""
        route, self._route = self._route, None
        if route is not None:
            await route.close()

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 30.0, check: bool = True
    ) -> Completed:
        """See ``remote.host.Host.run``.

        A command with ``stdin`` outlives a lost link; one without is ended.
        """
        try:
            async with asyncio.timeout(timeout_s), self._runs:
                done = await self._complete(argv, stdin)
        except TimeoutError as error:
            raise command_timed_out(self._name, argv, timeout_s) from error
        if check and done.status:
            raise command_failed(self._name, argv, done.status, done.stderr)
        return done

    async def run_sending(
        self, argv: Sequence[str], *, stdin: bytes, sent: Callable[[int], object], timeout_s: float = 30.0
    ) -> Completed:
        """See ``remote.sending.Sends``."""
        try:
            async with asyncio.timeout(timeout_s), self._runs:
                return await self._complete(argv, stdin, sent)
        except TimeoutError as error:
            raise command_timed_out(self._name, argv, timeout_s) from error

    async def _complete(
        self, argv: Sequence[str], stdin: bytes, sent: Callable[[int], object] | None = None
    ) -> Completed:
        async with self._session(argv, leash=not stdin) as process:
            with self._translated(argv):
                if sent is not None:
                    await _send(process, stdin, sent)
                out, err = await process.communicate(None if sent is not None else stdin or None)
            return Completed(tuple(argv), self._status(argv, process), out, err)

    @asynccontextmanager
    async def stream(self, argv: Sequence[str]) -> AsyncIterator[AsyncIterator[bytes]]:
        """See ``remote.host.Host.stream``. A slow reader slows the command: SSH's window is the only buffer."""
        async with self._session(argv, leash=True) as process:
            said = bytearray()
            listening = asyncio.create_task(_keep_tail(process, said))
            try:
                async with aclosing(self._chunks(process, argv, listening, said)) as chunks:
                    yield chunks
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)

    async def _chunks(
        self,
        process: asyncssh.SSHClientProcess[bytes],
        argv: Sequence[str],
        listening: asyncio.Task[None],
        said: bytearray,
    ) -> AsyncGenerator[bytes, None]:
        with self._translated(argv):
            while data := await process.stdout.read(_READ):
                yield data
            await asyncio.gather(listening, process.wait_closed())
        if status := self._status(argv, process):
            raise command_failed(self._name, argv, status, bytes(said))

    @asynccontextmanager
    async def _session(self, argv: Sequence[str], *, leash: bool) -> AsyncIterator[asyncssh.SSHClientProcess[bytes]]:
        """A remote command; it is ended, and its channel closed, on leaving."""
        with self._translated(argv):
            command = command_line(leashed(argv) if leash else argv)
            process = await self._opened(command)
        try:
            yield process
        finally:
            process.close()

    async def _opened(self, command: str) -> asyncssh.SSHClientProcess[bytes]:
        """A session with a command; sshd counts one that has just ended for a moment longer than we do."""
        for pause in SESSION_PAUSES_S:
            try:
                return await self._connection().create_process(command, encoding=None)
            except asyncssh.ChannelOpenError:
                await asyncio.sleep(pause)
        return await self._connection().create_process(command, encoding=None)

    def _status(self, argv: Sequence[str], process: asyncssh.SSHClientProcess[bytes]) -> int:
        """The exit status; negative for a signal."""
        status = process.returncode
        if status is not None:
            return status
        if self._is_lost():
            raise self._link_lost()
        message = f"{call_of(argv)} on {self._name} went away without an exit status."
        raise NoSession(message, host=self._name, argv=argv)

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_s: float = 10.0,
        max_bytes: int = 8_388_608,
    ) -> Answer:
        """See ``remote.host.Host.fetch``."""
        await load("remote.http")
        from remote.http import HttpClient  # noqa: PLC0415  (heavy; only who fetches pays)

        client = HttpClient(self._name, self._dial)
        with self._translated([method, url]):
            return await client.fetch(
                url, method=method, headers=headers, body=body, timeout_s=timeout_s, max_bytes=max_bytes
            )

    async def _dial(self, name: str, port: int) -> tuple[asyncssh.SSHReader[bytes], asyncssh.SSHWriter[bytes]]:
        """A channel to a port as the host sees it (direct-tcpip, RFC 4254 section 7.2)."""
        try:
            return await self._connection().open_connection(name, port, encoding=None)
        except asyncssh.ChannelOpenError as error:
            if self._is_lost():
                raise self._link_lost() from error
            if error.code == asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED:
                message = (
                    f"{self._name} forbids forwarding over SSH, so {name}:{port} can't be asked (AllowTcpForwarding)."
                )
            elif error.reason in {"", "Connection refused"}:
                message = f"Nothing listens on {name}:{port} on {self._name}."
            else:
                message = f"{name}:{port} can't be reached from {self._name}: {without_stop(error.reason)}."
            raise HttpUnavailable(message, host=self._name) from error

    def _connection(self) -> asyncssh.SSHClientConnection:
        if self._route is None or self._is_lost():
            raise self._link_lost()
        return self._route.connection

    def _is_lost(self) -> bool:
        return self._route is None or self._route.ended.done()

    def _link_lost(self) -> LinkLost:
        if self._route is None or not self._route.ended.done():
            return LinkLost(f"There is no connection to {self._name}.", host=self._name)
        return LinkLost(self._epitaph(self._route.ended.result()), host=self._name)

    @contextmanager
    def _translated(self, argv: Sequence[str]) -> Iterator[None]:
        """Asyncssh's errors as ours."""
        try:
            yield
        except asyncssh.ChannelOpenError as error:
            if self._is_lost():
                raise self._link_lost() from error
            why = without_stop(error.reason) or "no reason given"
            message = (
                f"{self._name} opened no session for a command: {why}. Its SSH server may allow no more at one time "
                "(MaxSessions): try again in a moment."
            )
            raise NoSession(message, host=self._name, argv=argv) from error
        except (asyncssh.Error, ConnectionError) as error:
            lost = self._link_lost() if self._is_lost() else LinkLost(self._epitaph(error), host=self._name)
            raise lost from error


async def _send(process: asyncssh.SSHClientProcess[bytes], data: bytes, sent: Callable[[int], object]) -> None:
    """Give a command its input as fast as the line takes it; one that has ended says by its status why."""
    with suppress(BrokenPipeError):
        for at in range(0, len(data), _READ):
            process.stdin.write(data[at : at + _READ])
            await process.stdin.drain()
            sent(min(len(data), at + _READ))
        process.stdin.write_eof()


async def _keep_tail(process: asyncssh.SSHClientProcess[bytes], said: bytearray) -> None:
    """Read stderr to its end, so that it never fills the channel's window; keep the last words."""
    while data := await process.stderr.read(_READ):
        said += data
        del said[:-STDERR_TAIL]


if TYPE_CHECKING:
    _CHECKED: type[Host] = SshHost
