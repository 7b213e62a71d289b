"""A Host on this machine: commands are child processes; the only file that imports psutil."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

import psutil

from remote.errors import HttpUnavailable
from remote.host import Answer, Completed
from remote.loading import load
from remote.outcome import NOT_EXECUTABLE, NOT_FOUND, STDERR_TAIL, command_failed, command_timed_out, without_stop

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence

    from remote.host import Host

GRACE_S = 2.0
"""Seconds between asking a command's processes to end and making them."""
_READ = 65_536


class LocalHost:
    """This machine, seen as a host; the link to it can't be lost."""

    @property
    def name(self) -> str:
        """Always ``local``."""
        return "local"

    async def connect(self) -> None:
        """Nothing to connect."""

    async def wait_lost(self) -> str:
        """Never returns."""
        await asyncio.get_running_loop().create_future()
        return ""

    async def close(self) -> None:
        """Nothing to close."""

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 30.0, check: bool = True
    ) -> Completed:
        """See ``remote.host.Host.run``."""
        try:
            process = await _start(argv, stdin=PIPE)
        except OSError as error:
            done = _not_started(argv, error)
        else:
            try:
                async with asyncio.timeout(timeout_s):
                    out, err = await process.communicate(stdin)
            except TimeoutError as error:
                raise command_timed_out(self.name, argv, timeout_s) from error
            finally:
                await _end(process)
            done = Completed(tuple(argv), process.returncode or 0, out, err)
        if check and done.status:
            raise command_failed(self.name, argv, done.status, done.stderr)
        return done

    @asynccontextmanager
    async def stream(self, argv: Sequence[str]) -> AsyncIterator[AsyncIterator[bytes]]:
        """See ``remote.host.Host.stream``."""
        try:
            process = await _start(argv, stdin=DEVNULL)
        except OSError as error:
            done = _not_started(argv, error)
            raise command_failed(self.name, argv, done.status, done.stderr) from error
        said = bytearray()
        listening = asyncio.create_task(_keep_tail(process, said))
        try:
            async with aclosing(self._chunks(process, argv, listening, said)) as chunks:
                yield chunks
        finally:
            await _end(process)
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _chunks(
        self, process: Process, argv: Sequence[str], listening: asyncio.Task[None], said: bytearray
    ) -> AsyncGenerator[bytes, None]:
        while data := await _piped(process.stdout).read(_READ):
            yield data
        if status := await process.wait():
            await listening
            raise command_failed(self.name, argv, status, bytes(said))

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

        client = HttpClient(self.name, self._dial)
        return await client.fetch(
            url, method=method, headers=headers, body=body, timeout_s=timeout_s, max_bytes=max_bytes
        )

    async def _dial(self, name: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            return await asyncio.open_connection(name, port)
        except ConnectionRefusedError as error:
            raise HttpUnavailable(f"Nothing listens on {name}:{port} on {self.name}.", host=self.name) from error
        except OSError as error:
            message = f"{name}:{port} can't be reached from {self.name}: {without_stop(error.strerror or str(error))}."
            raise HttpUnavailable(message, host=self.name) from error


async def _start(argv: Sequence[str], stdin: int) -> Process:
    """Start a command in a session of its own: Ctrl+C in this terminal is not meant for it."""
    return await asyncio.create_subprocess_exec(*argv, stdin=stdin, stdout=PIPE, stderr=PIPE, start_new_session=True)


def _piped(stream: asyncio.StreamReader | None) -> asyncio.StreamReader:
    """A child's pipe, which is there since it was asked for."""
    if stream is None:
        raise TypeError("the command was started without this pipe")
    return stream


def _not_started(argv: Sequence[str], error: OSError) -> Completed:
    """What a shell would have answered for a command that can't be run."""
    status = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
    return Completed(tuple(argv), status, b"", f"{argv[0]}: {error.strerror}".encode())


async def _keep_tail(process: Process, said: bytearray) -> None:
    """Read stderr to its end, so that the command never blocks on it; keep the last words."""
    while data := await _piped(process.stderr).read(_READ):
        said += data
        del said[:-STDERR_TAIL]


async def _end(process: Process) -> None:
    """End a command and all its descendants, if it still runs, and reap it."""
    if process.returncode is not None:
        await _drain(process)
        return
    family = _family(process.pid)
    for member in family:
        _signal(member, kill=False)
    try:
        async with asyncio.timeout(GRACE_S):
            await process.wait()
    except TimeoutError:
        pass
    finally:
        for member in family:
            _signal(member, kill=True)
        await process.wait()
        await _drain(process)


async def _drain(process: Process) -> None:
    """Read what a dead command left in its pipes: while they hold something, asyncio keeps its transport open.

    A detached child may hold them open; that is not waited for.
    """
    try:
        async with asyncio.timeout(GRACE_S):
            for pipe in (process.stdout, process.stderr):
                while pipe is not None and await pipe.read(_READ):
                    continue
    except (TimeoutError, RuntimeError):
        # RuntimeError: somebody still reads, who thus drains it; asyncio allows one reader only.
        return


def _family(pid: int) -> list[psutil.Process]:
    """A process and its descendants, children first."""
    try:
        head = psutil.Process(pid)
        return [*reversed(head.children(recursive=True)), head]
    except psutil.NoSuchProcess:
        return []


def _signal(member: psutil.Process, *, kill: bool) -> None:
    """Signal a process; psutil refuses when the pid was given to another one meanwhile."""
    try:
        if kill:
            member.kill()
        else:
            member.terminate()
    except psutil.NoSuchProcess:
        return


if TYPE_CHECKING:
    _CHECKED: type[Host] = LocalHost
