"""Writes numbered lines to a log as fast as a busy server does, and rotates it on request; runs as a process of its own.

Started as ``python fault_writer.py LOG SEED``. Each line of stdin is a request: it is done between two lines of the log,
so that this process itself never loses a byte. Its answer is one JSON line: the number of the last line written before.
"""

from __future__ import annotations

import json
import os
import random
import select
import shutil
import sys
import time
from pathlib import Path

BEAT_S = 0.004
BURST = 9_000
"""Lines of a burst: more than one chunk of the follower holds."""


def numbered_line(n: int) -> bytes:
    """The line with number ``n``; all of it follows from the number, so that a damaged one shows."""
    return b"%d %s\n" % (n, b"abcdefghijklmnopqrstuvwxyz0123456789"[: n * 7 % 37])


class Writer:
    """The log and its next number."""

    def __init__(self, log: Path, seed: int) -> None:
        self.log = log
        self.last = 0
        self.chance = random.Random(seed)
        self.file = self._open()

    def _open(self) -> int:
        return os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, count: int) -> None:
        """Whole lines, in two writes that meet anywhere."""
        data = b"".join(numbered_line(n) for n in range(self.last + 1, self.last + count + 1))
        middle = self.chance.randrange(len(data))
        for part in (data[:middle], data[middle:]):
            while part:
                part = part[os.write(self.file, part) :]  # noqa: PLW2901  (what is left of it)
        self.last += count

    def some(self) -> None:
        """As much as comes in one beat."""
        self.write(BURST if self.chance.random() < 0.001 else self.chance.randint(1, 8))

    def _reopen(self) -> None:
        os.close(self.file)
        self.file = self._open()

    def _shift(self) -> None:
        """Make room for ``LOG.1``, as logrotate does."""
        kept = sorted((int(path.suffix[1:]) for path in self.log.parent.glob(f"{self.log.name}.[0-9]*")), reverse=True)
        for n in kept:
            Path(f"{self.log}.{n}").rename(f"{self.log}.{n + 1}")

    def rename(self) -> None:
        """Rotation by rename; the writer may go on for a while in the old file."""
        self._shift()
        self.log.rename(f"{self.log}.1")
        for _ in range(self.chance.choice((0, 0, 1, 3))):
            self.some()
            time.sleep(BEAT_S)
        self._reopen()

    def copy_truncate(self) -> None:
        """Rotation by copy; nothing is written between the copy and the cut."""
        self._shift()
        shutil.copyfile(self.log, f"{self.log}.1")
        os.ftruncate(self.file, 0)

    def truncate(self) -> None:
        """The log is emptied in place."""
        os.ftruncate(self.file, 0)

    def delete(self) -> None:
        """The log is deleted and made anew."""
        self.log.unlink()
        for _ in range(self.chance.choice((0, 0, 2))):
            self.some()
        self._reopen()


def main() -> None:
    """Write until told to stop; ``hold`` and ``go`` are the two other requests."""
    writer = Writer(Path(sys.argv[1]), int(sys.argv[2]))
    held = False
    while True:
        if select.select([sys.stdin], [], [], None if held else BEAT_S)[0]:
            asked = sys.stdin.readline().strip()
            if asked in {"rename", "copy_truncate", "truncate", "delete"}:
                getattr(writer, asked)()
            held = asked in {"hold", "stop"} or (held and asked != "go")
            print(json.dumps(writer.last), flush=True)  # noqa: T201  (its answer)
            if asked in {"", "stop"}:
                return
        if not held:
            writer.some()


if __name__ == "__main__":
    main()
