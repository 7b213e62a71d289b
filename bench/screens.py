"""Measures a program with a screen in a pseudo-terminal: when it is there, what it costs, how fast a key is answered.

The same for the console and for its peers, which are known here by how they show something without their servers.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bench.terminal import terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.terminal import Terminal

SIZE = (120, 36)
PATIENCE_S = 60.0
SETTLED_S = 10.0
"""Seconds from the first frame until what a program does at its start is over."""

TYPIST_S = 0.08
"""Seconds between two keys of a fast typist."""

LONGWAIT = (sys.executable, "-m", "console")

ESCAPE = "\x1b"
AFTER_ESCAPE_S = 0.5
"""Seconds until a key after Esc is taken for one of its own, also on a busy machine."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key, and how it is known that it was answered.

    Attributes:
        key: What is typed.
        answer: What is printed once it is drawn, and not before.
        timed: It counts. Esc does not: any program waits for what may follow it.
    """

    key: str
    answer: bytes
    timed: bool = True


@dataclass(frozen=True, slots=True)
class Program:
    """A program with a screen.

    Attributes:
        name: What it is called in the table.
        argv: Its command.
        frame: Printed with the first frame.
        data: Printed with the first figure; empty when it has none without its server.
        keys: Pressed over and over to time them; empty for none.
    """

    name: str
    argv: Sequence[str]
    frame: bytes
    data: bytes = b""
    keys: tuple[Key, ...] = ()


PALETTE = (Key("\x10", b"earch for commands"), Key(ESCAPE, b"", timed=False))
"""Ctrl+P opens the palette of commands in each program made with Textual that has not turned it off.

The first letter of its field has the cursor on it, and is written apart.
"""


def peers(folder: Path) -> Iterator[Program]:
    """Give the peers that are installed, each in an environment of its own: ``FOLDER/vllmstat/bin/vllmstat``."""

    def known(name: str) -> str:
        return str(folder / name / "bin" / name)

    for program in (
        Program("vllmstat --mock", (known("vllmstat"), "--mock", "--no-gpu"), b"CONCURRENCY", b"tok/iter", PALETTE),
        Program("vigil --demo", (known("vigil"), "--demo"), b"Dashboard", b"step:", PALETTE),
        # Without MySQL there is its first dialog only.
        Program("dolphie --tab-setup", (known("dolphie"), "--tab-setup"), b"Connect"),
    ):
        if Path(program.argv[0]).exists():
            yield program


@dataclass(slots=True)
class Costs:
    """What a program costs while it only shows.

    Attributes:
        cpu: Share of one core.
        rss_mb: Resident memory, MB.
        bytes_s: Bytes a second to the terminal.
    """

    cpu: float
    rss_mb: float
    bytes_s: float


@dataclass(slots=True)
class Start:
    """How a program came up.

    Attributes:
        frame_s: Seconds until the first frame.
        frame_cpu_s: CPU seconds that it took until then: what it would be on a machine without other work.
        data_s: Seconds until the first figure; None when it has none.
    """

    frame_s: float
    frame_cpu_s: float
    data_s: float | None


def started(program: Program) -> Start:
    """Start it, and end it when it is there."""
    with terminal(program.argv, SIZE) as shown:
        frame_s = shown.read_until(program.frame, PATIENCE_S)
        frame_cpu_s = shown.cpu_s()
        return Start(frame_s, frame_cpu_s, shown.read_until(program.data, PATIENCE_S) if program.data else None)


def costs(shown: Terminal, seconds: float) -> Costs:
    """What it costs for some seconds, from now on."""
    before, began = shown.cpu_s(), time.perf_counter()
    printed = shown.read_for(seconds)
    took = time.perf_counter() - began
    return Costs((shown.cpu_s() - before) / took, shown.rss_mb(), printed / took)


def pressed_ms(shown: Terminal, keys: Sequence[Key], rounds: int) -> list[float]:
    """Milliseconds from each timed key until its answer was printed; the first round, which imports, is left out."""
    times = []
    for number in range(rounds + 1):
        for key in keys:
            shown.read_for(TYPIST_S)
            before, began = len(shown.printed), time.perf_counter()
            shown.type(key.key)
            shown.read_from(key.answer, before, PATIENCE_S)
            if not key.timed:
                shown.read_for(AFTER_ESCAPE_S)
            elif number:
                times.append((time.perf_counter() - began) * 1000)
    return times


@dataclass
class Pouring:
    """Lines that come at a rate onto the ends of files, from a thread: a server's log and a job's.

    Attributes:
        folder: Where ``server.log`` and ``job.log`` are.
        rate: Lines a second on each.
    """

    folder: Path
    rate: float
    _end: threading.Event = field(default_factory=threading.Event)

    @contextlib.contextmanager
    def flowing(self) -> Iterator[None]:
        """Let them come."""
        thread = threading.Thread(target=self._pour)
        thread.start()
        try:
            yield
        finally:
            self._end.set()
            thread.join()

    def _pour(self) -> None:
        began, number = time.perf_counter(), 0
        with (self.folder / "server.log").open("a") as server, (self.folder / "job.log").open("a") as job:
            while not self._end.wait(max(0.0, began + number / self.rate - time.perf_counter())):
                stamp = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}"
                server.write(decode_line(stamp, number))
                job.write(f"{stamp} INFO B1: request {number} sent, {number % 150} in flight\n")
                server.flush()
                job.flush()
                number += 1


def decode_line(stamp: str, number: int, tok_s: float = 846.0) -> str:
    """One line of a busy server."""
    return (
        f"[{stamp}] Decode batch, #running-req: {40 + number % 20}, #token: {110_000 + number % 900}, token usage: "
        f"0.8{number % 10}, cuda graph: True, gen throughput (token/s): {tok_s + number % 7:.2f}, #queue-req: 98\n"
    )
