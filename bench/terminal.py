"""Drives a program in a pseudo-terminal: what it prints, when, and what it costs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Terminal:
    """A program in a pseudo-terminal.

    Attributes:
        pid: Its process.
        master: The terminal's other end.
        began: When it was started, ``time.perf_counter``.
        printed: Everything that it printed so far.
        status: Its exit status, once it has ended; negative for a signal.
    """

    pid: int
    master: int
    began: float
    printed: bytearray
    status: int | None = None

    def read_until(self, needle: bytes, timeout_s: float) -> float:
        """Seconds from the start until ``needle`` was printed.

        Raises:
            TimeoutError: When it was not printed in time.
        """
        self.read_from(needle, 0, timeout_s)
        return time.perf_counter() - self.began

    def read_from(self, needle: bytes, start: int, timeout_s: float) -> None:
        """Read until ``needle`` was printed behind the first ``start`` bytes.

        Raises:
            TimeoutError: When it was not printed in time.
        """
        deadline = time.perf_counter() + timeout_s
        while self.printed.find(needle, start) < 0:
            if not self._read(deadline - time.perf_counter()):
                raise TimeoutError(f"{needle!r} was not printed within {timeout_s} s")

    def read_for(self, seconds: float) -> int:
        """Let it print for a while; give the bytes printed meanwhile."""
        before, deadline = len(self.printed), time.perf_counter() + seconds
        while self._read(deadline - time.perf_counter()):
            continue
        return len(self.printed) - before

    def _read(self, timeout_s: float) -> bool:
        if timeout_s <= 0 or not select.select([self.master], [], [], timeout_s)[0]:
            return False
        try:
            self.printed += os.read(self.master, 65_536)
        except OSError:
            return False  # Linux says EIO when the other end is closed
        return True

    def wait_end(self, patience_s: float) -> bool:
        """Whether it ends in time; its output is drained meanwhile, or it could not."""
        deadline = time.perf_counter() + patience_s
        while self.status is None and time.perf_counter() < deadline:
            self.read_for(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self.master, keys.encode())

    def cpu_s(self) -> float:
        """CPU seconds used so far, the program's own."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S

    def rss_mb(self) -> float:
        """Resident memory, MB of 1,000,000 bytes."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        kib = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
        return kib * 1024 / 1e6


@contextlib.contextmanager
def terminal(argv: Sequence[str], size: tuple[int, int], env: Mapping[str, str] | None = None) -> Iterator[Terminal]:
    """Run ``argv`` in a terminal of ``size`` columns and rows; end it on leaving."""
    began = time.perf_counter()
    pid, master = pty.fork()
    if pid == 0:
        known = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
        os.execvpe(argv[0], list(argv), {**known, "TERM": "xterm-256color", **(env or {})})  # noqa: S606 - argv
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    program = Terminal(pid, master, began, bytearray())
    try:
        yield program
    finally:
        _end(program)
        os.close(master)


def _end(program: Terminal) -> None:
    """TERM, and KILL when that is not enough within 10 s."""
    for word in (signal.SIGTERM, signal.SIGKILL):
        if program.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(program.pid, word)
            program.wait_end(10.0)
