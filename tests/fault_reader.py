"""Follows a log over SSH as the console does, and keeps what it has read in a history; runs as a process of its own.

Started as ``python -m tests.fault_reader SSH_CONFIG LOG HISTORY``; it may be killed at any moment and started again.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from console.history import History, Place
from console.job.events import LogLine, Source
from remote.errors import LinkLost, RemoteError
from remote.link import Link
from remote.ssh import SshHost
from remote.tail import Chunk, Cursor, Reset, follow
from tests.fault_writer import numbered_line

if TYPE_CHECKING:
    from remote.tail import TailEvent

POLL_S = 0.05
SAVE_S = 0.05
HURRY = 0.1
"""Share of the usual waits between attempts: a test has less time than an operator."""


@dataclass
class Ledger:
    """What was delivered: runs of consecutive numbers, and resets between them; in the order in which they came."""

    told: list[list[object]] = field(default_factory=list)
    half: str = ""
    bad: list[str] = field(default_factory=list)

    def packed(self) -> bytes:
        return json.dumps([self.told, self.half, self.bad]).encode()

    @classmethod
    def unpacked(cls, data: bytes) -> Ledger:
        return cls(*json.loads(data))

    @property
    def last(self) -> int:
        runs = [run for run in self.told if run[0] == "lines"]
        return int(str(runs[-1][2])) if runs else 0

    def take(self, data: bytes) -> list[str]:
        """Note the lines that these bytes complete; gives them."""
        *whole, self.half = (self.half + data.decode("latin-1")).split("\n")
        for line in whole:
            self._note(line)
        return whole

    def reset(self, event: Reset) -> None:
        self.told.append(["reset", event.kind, event.lost_bytes])
        self.half = ""

    def _note(self, line: str) -> None:
        number = line.partition(" ")[0]
        if not number.isdigit() or numbered_line(int(number)) != f"{line}\n".encode("latin-1"):
            self.bad.append(line[:80])
            return
        n, run = int(number), self.told[-1] if self.told else ["none"]
        if run[0] == "lines" and run[2] == n - 1:
            run[2] = n
        else:
            self.told.append(["lines", n, n])


class Reader:
    """One reader's life."""

    def __init__(self, config: str, log: str, history: Path) -> None:
        self.place = Place(Source.JOB, log)
        self.history = History.open(history)
        left = self.history.load()
        self.ledger = Ledger.unpacked(left.state) if left else Ledger()
        cursor = left.cursors.get(self.place) if left else None
        self.cursor = cursor if isinstance(cursor, Cursor) else None
        self.host = SshHost("gpu01", config_files=[config], keepalive_s=0.4, keepalive_count=2, connect_timeout_s=3)
        self.link = Link(self.host, lambda _: None, sleep=lambda s: asyncio.sleep(s * HURRY), rng=random.Random(1))
        self.lines: list[LogLine] = []
        self.changed = False

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.link.run())
            group.create_task(self._follow())
            group.create_task(self._keep())

    async def _follow(self) -> None:
        while True:
            await self.link.wait_up()
            tail = follow(self.host, self.place.path, cursor=self.cursor, poll_s=POLL_S)
            try:
                async with aclosing(tail) as events:
                    async for event in events:
                        self._take(event)
            except LinkLost:
                await asyncio.sleep(0.02)
            except RemoteError as error:
                print(error, file=sys.stderr, flush=True)  # noqa: T201  (for whoever reads a failed run)
                await asyncio.sleep(0.1)

    def _take(self, event: TailEvent) -> None:
        match event:
            case Chunk(data=data, cursor=cursor):
                now = datetime.now(UTC)
                self.lines += [LogLine(Source.JOB, line, now) for line in self.ledger.take(data)]
                self.cursor = cursor
            case Reset(cursor=cursor):
                self.ledger.reset(event)
                self.cursor = cursor
            case _:
                return
        self.changed = True

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(SAVE_S)
            if self.changed and self.cursor is not None:
                lines, self.lines, self.changed = self.lines, [], False
                kept, state = {self.place: self.cursor}, self.ledger.packed()
                await asyncio.to_thread(self.history.save, kept, state, lines, datetime.now(UTC))
                if self.history.trouble:
                    sys.exit(self.history.trouble)


def main() -> None:
    """Read until killed."""
    config, log, history = sys.argv[1:]
    asyncio.run(Reader(config, log, Path(history)).run())


if __name__ == "__main__":
    main()
