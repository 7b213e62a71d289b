"""Follow the output of a command that prints a log and stays: ``journalctl -f``, ``docker logs -f``, any other.

Like ``remote.tail.follow``, for logs that are no file. stdout and stderr are one log: Docker gives a container's stderr
on stderr, and that is where inference servers log. The known tools of ``remote.log_commands`` are resumed exactly where
they stopped, over cut links and restarts; where the tool no longer has what was read last, a ``Missed`` says so. Any
other command starts anew after a cut, and a ``Reset`` says so.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from remote.errors import CommandFailed
from remote.frames import Beat, Reset, Waiting
from remote.log_commands import LogCommand, log_command
from remote.log_cursor import CommandCursor
from remote.log_journal import JournalReader
from remote.log_stamps import StampedReader
from remote.outcome import NOT_FOUND, call_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Sequence

    from remote.host import Host

__all__ = ["ENDED_WELL", "CommandChunk", "CommandCursor", "CommandEvent", "Missed", "follow_command"]

BEAT_S = 5.0
"""Seconds of silence between two beats. The link's own keepalive is what notices a dead host."""
FIRST_BEAT_S = 1.0
"""Seconds of silence after which the past is taken to be read: a command doesn't say so."""
BUSY_S = 3.0
"""Seconds after which a command that never pauses is taken to be at the present: its past comes as fast as it can."""
ENDED_WELL = "ended by itself."
"""In the words of a ``Waiting``: the command ended without a fault."""
_PROGRAM = 'exec "$@" 2>&1'
_MAX_WORDS = 300


@dataclass(frozen=True, slots=True)
class CommandChunk:
    """New bytes of the log.

    Attributes:
        data: Whole lines from a tool that can be resumed, cut anywhere from another command; never empty.
        cursor: The place after them.
    """

    data: bytes
    cursor: CommandCursor


@dataclass(frozen=True, slots=True)
class Missed:
    """The log was to be read on, but no longer has the lines that were read last (vacuumed, rotated, made anew).

    How many came after these and are gone as well can't be known.
    """


CommandEvent = CommandChunk | Reset | Missed | Waiting | Beat


async def follow_command(
    host: Host,
    argv: Sequence[str],
    *,
    resume: CommandCursor | None = None,
    last_bytes: int | None = None,
    quiet_s: float = FIRST_BEAT_S,
) -> AsyncGenerator[CommandEvent, None]:
    """Run a command and follow its output; ends when the command does, after a ``Waiting`` that says why.

    Call it again with the last cursor, after a pause: a container that is restarted ends its log command, and a
    rotation ends ``kubectl logs -f``.

    Args:
        host: Where to run it.
        argv: The command as the user wrote it; options for stamps, cursors and following are added to known tools.
        resume: The last cursor, when this is not the first start. It belongs to this command.
        last_bytes: On the first start of a known tool: begin about this many bytes before the end. None: at the log's
            beginning. Words of the user's own that say where to begin come first.
        quiet_s: Seconds without output until the first beat.

    Raises:
        LinkLost: The link broke; call again with the last cursor.
        RemoteError: The host ran nothing.
    """
    command = log_command(argv)
    reader = _reader(command, resume)
    if resume is not None and reader.cursor.kind == "plain":
        yield Reset("restarted", None)
    words = ["sh", "-c", _PROGRAM, "longwait", *command.argv(resume, last_bytes)]
    size, status, told = 0, 0, False
    async with host.stream(words) as chunks:
        output = _paced(chunks, quiet_s)
        try:
            async with aclosing(output):
                async for piece in output:
                    if piece is None:
                        yield Beat(size, at_end=True)
                    elif data := reader.feed(piece):
                        size += len(data)
                        if reader.missed and not told:
                            told = True
                            yield Missed()
                        yield CommandChunk(data, reader.cursor)
        except CommandFailed as error:
            status = error.status
    yield Waiting(_end_of(argv, status, reader.last_words), "ended")


async def _paced(chunks: AsyncIterator[bytes], quiet_s: float) -> AsyncGenerator[bytes | None, None]:
    """The output; None when there was none for a while."""
    pause = quiet_s
    loop = asyncio.get_running_loop()
    due = loop.time() + BUSY_S
    coming: asyncio.Future[bytes] = asyncio.ensure_future(anext(chunks))
    try:
        while True:
            done, _ = await asyncio.wait({coming}, timeout=pause)
            if not done:
                pause = max(quiet_s, BEAT_S)
                yield None
                continue
            try:
                data = coming.result()
            except StopAsyncIteration:
                return
            yield data
            if loop.time() >= due:
                # A log that is never quiet for long is at its present too, as soon as its past has had time to come.
                due = loop.time() + BEAT_S
                yield None
            coming = asyncio.ensure_future(anext(chunks))
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)


def _end_of(argv: Sequence[str], status: int, said: bytes) -> str:
    """Why a command ended, for a person."""
    if status == NOT_FOUND:
        end = "was not found; is it installed and on the PATH of a login without a terminal?"
    else:
        end = ENDED_WELL if status == 0 else f"ended with status {status}."
    last = said.splitlines()[-1][:_MAX_WORDS].decode("utf-8", "replace") if said else ""
    return f"{call_of(argv)} {end}" + (f" It said: {last}" if last else "")


class _Reader(Protocol):
    """Turns a command's output into the log's new bytes."""

    missed: bool
    """What was read last did not come again, though it was to."""

    @property
    def cursor(self) -> CommandCursor:
        """The place after all that was given."""
        ...

    @property
    def last_words(self) -> bytes:
        """The tool's last words of its own."""
        ...

    def feed(self, data: bytes) -> bytes:
        """Take more output; give what is new."""
        ...


class _PlainReader:
    """The output as it comes."""

    cursor = CommandCursor("plain")
    missed = False

    def __init__(self) -> None:
        self._tail = b""

    @property
    def last_words(self) -> bytes:
        return self._tail.strip()

    def feed(self, data: bytes) -> bytes:
        self._tail = (self._tail + data)[-_MAX_WORDS:]
        return data


def _reader(command: LogCommand, resume: CommandCursor | None) -> _Reader:
    match command.kind:
        case "journal":
            return JournalReader(resume)
        case "stamped":
            return StampedReader(resume, keep_stamps=command.wants_stamps)
        case "plain":
            return _PlainReader()
