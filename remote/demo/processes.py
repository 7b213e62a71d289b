"""Finds and ends what a demo host started, also what was started through its SSH server and detached itself.

Everything that the demo starts inherits ``LONGWAIT_DEMO=FOLDER`` in its environment; a process belongs to the demo when
its environment, which the kernel shows to its owner, has exactly that. A process whose environment was emptied
belongs to it when Python runs one of the folder's scripts in it. The signal goes through a pidfd that was opened before
the check, so it can't reach another process that got the same number. Without ``/proc`` nothing is found.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = "LONGWAIT_DEMO"
"""The environment variable that marks the demo's processes."""
PATIENCE_S = 1.0
"""Seconds between SIGTERM and SIGKILL."""
_LOOK_S = 0.02
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Found:
    """A process of the demo.

    Attributes:
        pid: Its process id.
        pidfd: A handle on it that no other process can get; close it.
    """

    pid: int
    pidfd: int

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal; harmless when it is gone."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, number)


def marked(folder: Path) -> dict[str, str]:
    """The environment for a process of the demo in this folder."""
    return {**os.environ, MARK: str(folder)}


def belongs(pid: int, folder: Path) -> bool:
    """Whether a process is alive and is the demo's."""
    try:
        environ = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
        argv = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:  # gone, or another user's
        return False
    if f"{MARK}={folder}".encode() in environ:
        return True
    inside = os.fsencode(folder) + b"/"
    runs_python = Path(os.fsdecode(argv[0])).name.startswith("python")
    return runs_python and any(word.startswith(inside) and word.endswith(b".py") for word in argv[1:3])


@contextlib.contextmanager
def _found(folder: Path) -> Iterator[list[Found]]:
    with contextlib.ExitStack() as handles:
        found: list[Found] = []
        for pid in demo_pids(folder):
            with contextlib.suppress(ProcessLookupError):
                pidfd = os.pidfd_open(pid)
                handles.callback(os.close, pidfd)
                if belongs(pid, folder):
                    found.append(Found(pid, pidfd))
        yield found


def demo_pids(folder: Path) -> list[int]:
    """Process ids of the demo in this folder, this process not among them; empty without ``/proc``."""
    try:
        pids = [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdecimal()]
    except OSError:
        return []
    return [pid for pid in pids if pid != os.getpid() and belongs(pid, folder)]


def sweep(folder: Path, *, patience_s: float = PATIENCE_S) -> list[int]:
    """End all processes of the demo in this folder, this one excepted: SIGTERM, a while, SIGKILL.

    Args:
        folder: The demo's folder.
        patience_s: Seconds they have to end by themselves.

    Returns:
        Ids of those that are there still; empty when all is well.
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        with _found(folder) as found:
            for process in found:
                process.signal(number)
        deadline = time.monotonic() + patience_s
        while (left := demo_pids(folder)) and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        if not left:
            return []
    return demo_pids(folder)
