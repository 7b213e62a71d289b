"""One command on the demo's SSH server: a session that runs it with ``sh -c``, with its bytes, signals and end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE
from typing import TYPE_CHECKING

import asyncssh

from remote.demo.processes import marked

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from pathlib import Path

GRACE_S = 1.0
"""Seconds between SIGTERM and SIGKILL for a command whose channel is gone."""
_CHUNK = 65_536
_HELD_CHUNKS = 64
_CANNOT_RUN = 126
_SIGNALS = {each.name: each for each in signal.Signals}


class Command(asyncssh.SSHServerSession[bytes]):
    """A session in which one command runs; shells, terminals and subsystems stay refused, as the base class has it.

    Args:
        folder: Where it runs.
        running: The commands that run; this one is in it until it has ended.
    """

    def __init__(self, folder: Path, running: set[asyncio.Task[None]]) -> None:
        self._running = running
        self._folder = folder
        self._command = ""
        self._channel: asyncssh.SSHServerChannel[bytes] | None = None
        self._process: Process | None = None
        self._input: asyncio.Queue[bytes] = asyncio.Queue()
        self._deaf = False
        self._gone = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        """Keep the channel."""
        self._channel = chan

    def exec_requested(self, command: str) -> bool:
        """Take any command."""
        self._command = command
        return True

    def session_started(self) -> None:
        """Run the command."""
        if self._channel is not None:
            task = asyncio.create_task(self._attend(self._channel))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    def data_received(self, data: bytes, datatype: int | None) -> None:  # noqa: ARG002 - the library's signature
        """Keep what the client sends for the command's stdin, and hold the client up when it is too much."""
        if self._deaf:
            return
        self._input.put_nowait(data)
        if self._channel is not None and self._input.qsize() >= _HELD_CHUNKS:
            self._channel.pause_reading()

    def eof_received(self) -> bool:
        """Close the command's stdin; the channel stays open for what it says."""
        self._input.put_nowait(b"")
        return True

    def signal_received(self, signal: str) -> None:
        """Pass a signal on to the command's process group."""
        number = _SIGNALS.get(f"SIG{signal}")
        if number is not None:
            self._signal_group(number)

    def pause_writing(self) -> None:
        """The client reads too slowly: hold the command's output up."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The client reads again."""
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the library's signature
        """The channel is gone."""
        self._gone.set()
        self._writable.set()

    async def _attend(self, channel: asyncssh.SSHServerChannel[bytes]) -> None:
        try:
            process = self._process = await asyncio.create_subprocess_exec(
                "sh",
                "-c",
                self._command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                cwd=self._folder,
                env=_environment(self._folder),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            # The folder is gone, no more processes are allowed, or the command holds a NUL.
            channel.write(f"The demo host can't run this command: {error}\n".encode(), asyncssh.EXTENDED_DATA_STDERR)
            channel.exit(_CANNOT_RUN)
            return
        feeding = asyncio.create_task(self._feed(process, channel))
        ending = asyncio.create_task(self._run_out(process, channel))
        leaving = asyncio.create_task(self._gone.wait())
        await asyncio.wait({ending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not ending.done():
            await self._end_group(ending)
        for task in (feeding, leaving):
            task.cancel()
        await asyncio.gather(feeding, leaving, ending, return_exceptions=True)
        if not self._gone.is_set():
            _report(channel, process.returncode or 0)

    async def _feed(self, process: Process, channel: asyncssh.SSHServerChannel[bytes]) -> None:
        """Carry the client's bytes to the command; that it may not want them is its own affair."""
        stdin = process.stdin
        if stdin is None:
            return
        with contextlib.suppress(ConnectionError):
            while data := await self._input.get():
                stdin.write(data)
                await stdin.drain()
                if self._input.empty():
                    channel.resume_reading()
        self._deaf = True
        # Also when the rest is thrown away: a channel that is not read would not show its close.
        channel.resume_reading()
        stdin.close()

    async def _run_out(self, process: Process, channel: asyncssh.SSHServerChannel[bytes]) -> None:
        """Carry all output, then wait for the end."""
        streams = ((process.stdout, None), (process.stderr, asyncssh.EXTENDED_DATA_STDERR))
        await asyncio.gather(*(self._carry(stream, channel, kind) for stream, kind in streams if stream is not None))
        await process.wait()

    async def _carry(
        self, stream: asyncio.StreamReader, channel: asyncssh.SSHServerChannel[bytes], kind: int | None
    ) -> None:
        while data := await stream.read(_CHUNK):
            await self._writable.wait()
            # The channel may be closing without our having been told; what it does not take is read all the same, so
            # that the command does not block.
            with contextlib.suppress(BrokenPipeError):
                channel.write(data, kind)

    def _signal_group(self, number: int) -> None:
        """Signal the command's process group; what made a session of its own is not in it."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    async def _end_group(self, ending: asyncio.Task[None]) -> None:
        """The client is gone: nobody reads what the command says, so it ends."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            self._signal_group(number)
            done, _ = await asyncio.wait({ending}, timeout=GRACE_S)
            if done:
                return
        ending.cancel()


def _environment(folder: Path) -> dict[str, str]:
    """The demo's mark, and its own programs before all others."""
    return {**marked(folder), "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


def _report(channel: asyncssh.SSHServerChannel[bytes], status: int) -> None:
    """Tell the client how the command ended; ``status`` is negative for a signal."""
    if status >= 0:
        channel.exit(status)
        return
    name = signal.Signals(-status).name.removeprefix("SIG")
    channel.exit_with_signal(name)
