"""An OpenSSH server on loopback that faults can befall: killed and started again, its connections cut or silent."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from tests.sshd.conftest import SSHD, Sshd, _await_port, _free_port, _is_sshd, _signal, _write_server

if TYPE_CHECKING:
    from collections.abc import Iterator


class Server:
    """An OpenSSH server that can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        with contextlib.suppress(OSError):  # privilege separation: as root sshd refuses to start without it
            Path("/run/sshd").mkdir(exist_ok=True)
        self.folder, self.port = folder, _free_port()
        self._config = _write_server(folder, self.port)
        self._left: list[psutil.Process] = []
        self.start()

    def start(self) -> None:
        argv = [SSHD, "-D", "-E", str(self.folder / "sshd.log"), "-f", str(self._config)]
        self.process = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
        self.sshd = Sshd(self.folder, self.port, self.process.pid)
        _await_port(self.port, self.process)

    def stop(self) -> None:
        """Kill it, with all that serves live connections."""
        sessions = self.sshd.sessions()
        self.process.kill()
        self.process.wait(timeout=5)
        for process in filter(_is_sshd, sessions):
            _signal(process, signal.SIGKILL)
        self._left += sessions

    def close(self) -> None:
        self.stop()
        for process in self._left:
            _signal(process, signal.SIGKILL)
        psutil.wait_procs(self._left, timeout=5)


@contextlib.contextmanager
def server(folder: Path) -> Iterator[Server]:
    """A server for the context's time."""
    running = Server(folder)
    try:
        yield running
    finally:
        running.close()
