"""Follows one log for as long as the console is open: through link cuts, rotation and a file that is not there yet."""

from __future__ import annotations

import asyncio
import shlex
from contextlib import aclosing
from typing import TYPE_CHECKING

from console.feed_gaps import gap_line
from console.job.events import Source, SourceFact
from console.job.log_lines import LogLines
from remote.command_tail import CommandChunk, CommandCursor, Missed, follow_command
from remote.errors import LinkLost, RemoteError
from remote.outcome import call_of
from remote.tail import Beat, Chunk, Cursor, Reset, Waiting, follow

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from datetime import datetime

    from console.feed_outbox import Outbox
    from console.job.events import LogLine
    from console.job.tracker import Tracker
    from remote.command_tail import CommandEvent
    from remote.frames import TailEvent
    from remote.host import Host
    from remote.link import Link

RETRY_S = 5.0
"""Seconds before a log that could not be followed is tried again while the link is up."""

LINK_PAUSE_S = 0.2
"""Seconds after a cut before asking whether the link is up: its supervisor hears of the cut a moment later."""


class SourceFollower:
    """One log, from the host to the tracker.

    Args:
        source: Which log it is.
        where: Its path on the host, or the command that prints it.
        took: Told of the lines of each chunk, in the step in which the cursor moves.
        part: Which of the server's files it is; empty when there is one.
        last_bytes: Bytes of its end to begin with; None for the whole file.
        every_line: Give every line, also those of a backlog that no pane would keep.
    """

    def __init__(
        self,
        source: Source,
        where: str | tuple[str, ...],
        *,
        host: Host,
        link: Link,
        outbox: Outbox,
        clock: Callable[[], datetime],
        took: Callable[[Sequence[LogLine]], None],
        part: str = "",
        last_bytes: int | None = None,
        every_line: bool = False,
    ) -> None:
        self.source = source
        self.part = part
        """Which of the server's files it is; empty when there is one."""
        self.path = where if isinstance(where, str) else call_of(where)
        self.name = where if isinstance(where, str) else shlex.join(where)
        """The path, or the whole command: what tells this log from all others."""
        self._command = None if isinstance(where, str) else where
        self._host = host
        self._link = link
        self._outbox = outbox
        self._clock = clock
        self._took = took
        self._last_bytes = last_bytes
        self._resume: CommandCursor | None = None
        self._turn = asyncio.Lock()
        self._waiting = False
        self._heard = False
        self.is_behind = True
        """More is known to be there than has come."""
        self.behind_since: datetime | None = None
        """Since when; None before it was looked at."""
        self.behind_from: int | None = None
        """Offset of the first byte that has come since; None before it."""
        self.size: int | None = None
        """The file's size, bytes, when the host last told; None before that."""
        self._every_line = every_line
        self.resets = 0
        """How often the file was rotated, truncated or replaced: what was read before is another file's."""
        self.cursor: Cursor | None = None
        """How far the file was read; None for a command's output."""
        self.caught_up = asyncio.Event()
        """Set once the present was reached, or it is known why there is nothing to read."""

    def standing_still(self) -> asyncio.Lock:
        """Held, it keeps the log where it is: what comes waits, and so does the host."""
        return self._turn

    @property
    def place(self) -> Cursor | CommandCursor | None:
        """How far the log was read; None before its first byte. Another follower of the same log can go on there."""
        return self._resume if self.is_command else self.cursor

    def go_on(self, place: Cursor | CommandCursor | None) -> None:
        """Begin where a former follower of this log stopped; one of another kind is not looked at."""
        if isinstance(place, CommandCursor) and self.is_command:
            self._resume = place
        elif isinstance(place, Cursor) and not self.is_command:
            self.cursor = place

    @property
    def is_command(self) -> bool:
        """Whether the log is a command's output."""
        return self._command is not None

    async def run(self, tracker: Tracker) -> None:
        """Follow until cancelled; every interruption goes on at the byte where it stopped."""
        while True:
            await self._link.wait_up()
            try:
                if await self._follow_once(tracker):
                    continue
            except LinkLost:
                self._fall_behind(tracker)
                await asyncio.sleep(LINK_PAUSE_S)
                continue
            except RemoteError as error:
                await self._reach_end(tracker)
                self._tell(tracker, "unreadable", error.message)
                self.caught_up.set()
            await asyncio.sleep(RETRY_S)

    def _events(self) -> AsyncGenerator[TailEvent, None] | AsyncGenerator[CommandEvent, None]:
        if self._command is not None:
            return follow_command(self._host, self._command, resume=self._resume, last_bytes=self._last_bytes)
        return follow(self._host, self.path, cursor=self.cursor, last_bytes=self._last_bytes)

    async def _follow_once(self, tracker: Tracker) -> bool:
        """Follow until it ends; True when it is to be followed anew from another place at once."""
        self._fall_behind(tracker)
        async with aclosing(self._events()) as events:
            async for event in events:
                if isinstance(event, (Chunk, CommandChunk)):
                    await self._take(event, tracker)
                    continue
                if isinstance(event, Beat):
                    self.size = event.size
                    if self._leap(event, tracker):
                        return True
                if isinstance(event, Waiting) or (isinstance(event, Beat) and event.at_end):
                    await self._reach_end(tracker)
                self._hear(event, tracker)
                if isinstance(event, Reset | Missed) and self.source is not Source.PROGRESS:
                    gap = (gap_line(self.source, event, self._clock()),)
                    self._took(gap)
                    await self._outbox.put(gap)
        return False

    def _leap(self, beat: Beat, tracker: Tracker) -> bool:
        """Whether so much was written since the former console that the newest part comes first again.

        What lies between is then filled in from the file's beginning, like the past of a log that is met for the first
        time; what is known of it until then stays.
        """
        cursor, last = self.cursor, self._last_bytes
        if self.source is not Source.SERVER or self._heard or cursor is None or last is None:
            return False
        self._heard = True
        if beat.size - cursor.offset <= last:
            return False
        self.cursor = None
        tracker.reset_source(self.source, part=self.part)
        return True

    async def _take(self, chunk: Chunk | CommandChunk, tracker: Tracker) -> None:
        """Pass bytes on; the cursor moves with them, so that a cut in between repeats or skips nothing."""
        self._waiting, self._heard = False, True
        async with self._turn:
            lines = self._read(tracker, chunk.data)
            if isinstance(chunk, CommandChunk):
                self._resume = chunk.cursor
            else:
                if self._lacks_its_past(chunk):
                    tracker.past_missing = True
                if self.behind_from is None:
                    self.behind_from = chunk.cursor.offset - len(chunk.data)
                self.cursor = chunk.cursor
            self._took(lines)
        await self._outbox.put(lines)
        # Parsing a full chunk takes some milliseconds; the screen's keys come first.
        await asyncio.sleep(0)

    def _fall_behind(self, tracker: Tracker) -> None:
        """More may be there than has come."""
        self.is_behind, self.behind_since, self.behind_from = True, self._clock(), None
        tracker.feed(self.source, b"", self._clock(), part=self.part, more=True)

    async def _reach_end(self, tracker: Tracker) -> None:
        """All that was there has come: lines that waited for the last one can be read."""
        if not self.is_behind:
            return
        async with self._turn:
            self.is_behind = False
            lines = self._read(tracker, b"")
            self._took(lines)
        await self._outbox.put(lines)

    def _read(self, tracker: Tracker, data: bytes) -> Sequence[LogLine]:
        lines = tracker.feed(self.source, data, self._clock(), part=self.part, more=self.is_behind)
        return lines.whole() if self._every_line and isinstance(lines, LogLines) else lines

    def _lacks_its_past(self, chunk: Chunk) -> bool:
        """Whether something before this chunk is to be filled in."""
        return self.source is Source.SERVER and self.cursor is None and chunk.cursor.offset > len(chunk.data)

    def _hear(self, event: Reset | Missed | Waiting | Beat, tracker: Tracker) -> None:
        match event:
            case Missed():
                reason = f"{self.path} no longer has the lines that were read last: some may be missing."
                self._tell(tracker, "restarted", reason)
            case Reset(kind=kind, lost_bytes=lost, cursor=cursor):
                self._waiting = False
                self.resets += 1
                if self.source is Source.SERVER:
                    tracker.past_missing = False
                tracker.reset_source(self.source, part=self.part)
                self.cursor = cursor
                gone = (
                    "" if lost == 0 else f"; {'an unknown number of' if lost is None else f'{lost:,}'} bytes are gone"
                )
                self._tell(tracker, kind, f"{self.path} was {kind} and is read from its beginning{gone}.", lost or 0)
            case Waiting(reason=reason, kind=kind):
                self._waiting = True
                self._tell(tracker, "missing" if kind == "missing" else "unreadable", reason)
                self.caught_up.set()
            case Beat(at_end=at_end):
                # The host also beats while it waits for the file.
                if not self._waiting:
                    self._tell(tracker, "following")
                if at_end:
                    self.caught_up.set()

    def _tell(self, tracker: Tracker, state: str, reason: str = "", lost: int = 0) -> None:
        fact = SourceFact(source=self.source, state=state, path=self.path, reason=reason, lost_bytes=lost)
        tracker.note(fact, self._clock())
        self._outbox.mark()
