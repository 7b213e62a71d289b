"""Seeded faults between a writer and a reader of one log, and what must be true of the lines afterwards.

A writer (``tests/fault_writer.py``) numbers its lines; a reader (``tests/fault_reader.py``) follows them over a real
OpenSSH server and keeps its place in a history. Meanwhile the link is cut, processes are killed or stopped, and the
log is rotated, cut or deleted. The numbers that were kept must be 1..n, each once and in order; where lines are
missing, a gap was told at this place, and lines were truly destroyed there before they could be read.
"""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from console.history_rows import KEPT_LINES
from tests.fault_judge import Outcome, judge
from tests.fault_reader import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fault_server import Server

ROOT = Path(__file__).parents[1]
SETTLE_S = 30.0
FAULTS_PER_SEED = 6


class Run:
    """One seed: its processes, its faults."""

    def __init__(self, seed: int, over: Server, folder: Path) -> None:
        self.chance = random.Random(seed)
        self.over, self.folder = over, folder
        self.log, self.history = folder / "job.log", folder / "run.sqlite3"
        self.outcome = Outcome(seed)
        self.lossy: list[int] = []
        """Last numbers that were written before each act that may destroy lines."""
        self.first_here = 1
        """The first number in the present file."""
        self.deleted = False
        writer = [sys.executable, "-S", str(ROOT / "tests" / "fault_writer.py"), str(self.log), str(seed)]
        self.writer = subprocess.Popen(writer, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.reader = self._read()

    def _read(self) -> subprocess.Popen[bytes]:
        argv = [
            sys.executable,
            "-m",
            "tests.fault_reader",
            str(self.over.sshd.config),
            str(self.log),
            str(self.history),
        ]
        with (self.folder / "reader.err").open("ab") as said:
            return subprocess.Popen(argv, cwd=ROOT, stderr=said)

    def ask(self, what: str) -> int:
        """Have the writer do something; gives the number of its last line."""
        assert self.writer.stdin is not None
        assert self.writer.stdout is not None
        self.writer.stdin.write(f"{what}\n")
        self.writer.stdin.flush()
        return int(json.loads(self.writer.stdout.readline()))

    def ledger(self) -> Ledger:
        """What is in the history now."""
        if not self.history.exists():
            return Ledger()
        with contextlib.closing(sqlite3.connect(self.history, timeout=5)) as base:
            try:
                row = base.execute("SELECT packed FROM state").fetchone()
            except sqlite3.OperationalError:  # the tables are not made yet
                return Ledger()
        return Ledger.unpacked(zlib.decompress(row[0])) if row else Ledger()

    def wait_read(self, number: int, seconds: float = SETTLE_S) -> bool:
        """Whether the line came in time."""
        deadline = time.monotonic() + seconds
        while self.ledger().last < number:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.03)
        return True

    # ------------------------------------------------------------ faults

    def cut(self) -> None:
        self.over.sshd.cut()

    def kill_sshd(self) -> None:
        self.over.stop()
        time.sleep(self.chance.uniform(0, 0.4))
        self.over.start()

    def stop_session(self) -> None:
        self.over.sshd.pause()
        time.sleep(self.chance.choice((0.1, 0.5, 2.0)))
        self.over.sshd.resume()

    def kill_reader(self) -> None:
        self.reader.kill()
        self.reader.wait()
        time.sleep(self.chance.choice((0.0, 0.0, 0.5)))
        self.reader = self._read()

    def rename(self) -> None:
        if self.deleted:  # a file that came and was renamed while nobody looked, after a deletion, has no trace
            self._seen_here()
        self.first_here = self.ask("rename") + 1

    def copy_truncate(self) -> None:
        self._seen_here()
        self.first_here = self.ask("copy_truncate") + 1

    def truncate_behind(self) -> None:
        self._seen_here()
        self._destroy("truncate")

    def truncate_caught_up(self) -> None:
        self._seen_here()
        if not self.wait_read(self.ask("hold")):
            self.outcome.problems.append("not caught up before a truncation")
        self.ask("truncate")
        self.first_here = self.ask("go") + 1

    def delete(self) -> None:
        self._seen_here()
        self._destroy("delete")
        self.deleted = True

    def _destroy(self, how: str) -> None:
        self.lossy.append(self.ask(how))
        self.first_here = self.lossy[-1] + 1

    def _seen_here(self) -> None:
        """A file that was written and emptied between two looks leaves no trace: let some of it be read."""
        if not self.wait_read(self.first_here + 3):
            self.outcome.problems.append(f"line {self.first_here + 3} did not come in {SETTLE_S} s")
        self.deleted = False

    FAULTS: tuple[Callable[[Run], None], ...] = (
        cut, cut, kill_sshd, stop_session, kill_reader, kill_reader, rename, rename, copy_truncate, copy_truncate,
        truncate_behind, truncate_caught_up, delete,
    )  # fmt: skip

    # ------------------------------------------------------------ the run

    @classmethod
    def faults_of(cls, seed: int, count: int = FAULTS_PER_SEED) -> list[str]:
        """The kinds of faults of a seed, in order."""
        chance = random.Random(seed)
        return [chance.choice(cls.FAULTS).__name__ for _ in range(count)]

    def go(self, faults: int) -> Outcome:
        """All of it."""
        try:
            self.wait_read(1)
            for fault in self.faults_of(self.outcome.seed, faults):
                time.sleep(self.chance.uniform(0.0, 0.35))
                self.outcome.faults[fault] += 1
                getattr(self, fault)()
            self.outcome.lines = self.ask("stop")
            if not self.wait_read(self.outcome.lines):
                self.outcome.problems.append(f"stuck at line {self.ledger().last} of {self.outcome.lines}")
        finally:
            self._end()
        judge(self.ledger(), self.lossy, self.outcome)
        self._judge_lines(self.ledger())
        return self.outcome

    def _end(self) -> None:
        for process in (self.reader, self.writer):
            process.kill()
            process.wait()
        for pipe in (self.writer.stdin, self.writer.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def _judge_lines(self, ledger: Ledger) -> None:
        """The kept lines are the newest that were delivered."""
        numbers: list[int] = []
        for kind, *what in reversed(ledger.told):
            if kind == "lines":
                numbers += range(int(str(what[1])), int(str(what[0])) - 1, -1)
            if len(numbers) >= KEPT_LINES:
                break
        with contextlib.closing(sqlite3.connect(self.history)) as base:
            kept = [int(text.split(" ")[0]) for (text,) in base.execute("SELECT text FROM lines ORDER BY id DESC")]
        if kept != numbers[:KEPT_LINES]:
            self.outcome.problems.append(f"{len(kept)} kept lines differ from those delivered")


def run_seed(seed: int, over: Server, folder: Path, faults: int = FAULTS_PER_SEED) -> Outcome:
    """Put a writer and a reader through seeded faults."""
    folder.mkdir(parents=True)
    return Run(seed, over, folder).go(faults)
