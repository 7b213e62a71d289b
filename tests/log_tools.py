"""A fake log tool with its store, and a reader of its output that is cut and goes on."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from remote.command_tail import CommandChunk, CommandCursor, CommandEvent, Missed, follow_command
from remote.frames import Beat, Reset, Waiting

if TYPE_CHECKING:
    from remote.host import Host

BEGIN = 1_767_225_600_000_000_000
"""2026-01-01, nanoseconds since 1970."""
PROGRAM = Path(__file__).with_name("fake_log_tool.py")
KINDS = ("journalctl", "docker", "kubectl")


class LogTool:
    """A fake tool in a folder, and what it has to print."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.store = folder / f"{kind}.store"
        self.store.touch()
        program = folder / kind
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -I {PROGRAM} {kind} {self.store} "$@"\n')
        program.chmod(0o755)
        self.argv = [str(program), "-u", "x", "-f"] if kind == "journalctl" else [str(program), "logs", "-f", "c"]

    def write(self, text: bytes, at: int = BEGIN, stream: int = 1) -> None:
        """One line of the log."""
        self._append({"at": at, "stream": stream, "text": text.decode("latin-1")})

    def begin_anew(self) -> None:
        """Drop what was written: vacuumed, rotated away, or another container of the same name."""
        self.store.write_text("")

    def end(self, status: int) -> None:
        """End the tool."""
        self._append({"end": status})

    def _append(self, entry: dict[str, object]) -> None:
        with self.store.open("a") as file:
            file.write(json.dumps(entry) + "\n")


@dataclass
class Heard:
    """What one reader has got so far; the cursor goes through its text each time, as through a file."""

    host: Host
    argv: list[str]
    data: bytes = b""
    cursor: CommandCursor | None = None
    events: list[CommandEvent] = field(default_factory=list)
    last_bytes: int | None = None

    def resets(self) -> list[str]:
        return [event.kind for event in self.events if isinstance(event, Reset)]

    def missed(self) -> int:
        return sum(isinstance(event, Missed) for event in self.events)

    def waits(self) -> list[tuple[str, str]]:
        return [(event.kind, event.reason) for event in self.events if isinstance(event, Waiting)]

    def beats(self) -> list[Beat]:
        return [event for event in self.events if isinstance(event, Beat)]

    async def read(self, enough: int | None = None) -> None:
        """Follow until ``enough`` bytes have come in all, the command ended, or it was cut."""
        resume = None if self.cursor is None else CommandCursor.from_text(self.cursor.text)
        tail = follow_command(self.host, self.argv, resume=resume, last_bytes=self.last_bytes, quiet_s=0.05)
        async with asyncio.timeout(20), aclosing(tail) as events:
            async for event in events:
                self.events.append(event)
                if isinstance(event, CommandChunk):
                    self.data += event.data
                    self.cursor = event.cursor
                if enough is not None and len(self.data) >= enough:
                    return
