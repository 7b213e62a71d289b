"""A folder with a job in it, started for real; whatever is started in it is marked, ended and counted at the end."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from remote.payload.procctl import job_key
from remote.process import JobSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MARK = "LONGWAIT_TEST_BOX"

SLEEPER = "import time\nprint('ready', flush=True)\ntime.sleep(600)\n"
STUBBORN = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SLEEPER
TREE = (
    "import subprocess, sys\n"
    "subprocess.Popen(['sleep', '600'])\n"
    "subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
    "subprocess.Popen([sys.executable, '-c', 'import subprocess; subprocess.run([\"sleep\", \"600\"])'])\n"
) + SLEEPER
DAEMONS = (
    "import os, subprocess, sys\n"
    "def daemon(*argv, **more):\n"
    "    if os.fork() == 0:\n"
    "        os.setsid()\n"
    "        subprocess.Popen(argv, **more)\n"
    "        os._exit(0)\n"
    "    os.wait()\n"
    "daemon('sleep', '600')\n"
    "daemon('sh', '-c', 'sleep 600 & wait')\n"
) + SLEEPER
"""Starts what leaves its group, its session and its tree: three processes with another parent."""
FAILING = "import sys\nprint('reading')\nsys.exit('no such dataset')\n"


@dataclass
class Box:
    """A run folder on this machine.

    Attributes:
        folder: The run folder.
        script: Name of the job's script in it.
        mark: What is in the environment of each process started here.
    """

    folder: Path
    script: str = "job.py"
    mark: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def spec(self) -> JobSpec:
        """The job, started with this Python."""
        return JobSpec(
            python=sys.executable,
            run_dir=str(self.folder),
            argv=(sys.executable, f"./{self.script}"),
            log="job.log",
            env={MARK: self.mark},
            script=self.script,
        )

    @property
    def path(self) -> Path:
        """The script."""
        return self.folder / self.script

    @property
    def record(self) -> Path:
        """The record of the job's start; its name says which of the folder's jobs it is of."""
        key = job_key({"run_dir": str(self.folder), **{name: getattr(self.spec, name) for name in ("script", "log")}})
        return self.folder / ".longwait" / f"job-{key}.json"

    def write(self, text: str) -> None:
        """Write the script."""
        self.path.write_text(text)

    def log(self) -> str:
        """What the job has printed."""
        path = self.folder / "job.log"
        return path.read_text() if path.exists() else ""

    @property
    def env(self) -> dict[str, str]:
        """An environment for a process that a test starts itself."""
        return {**os.environ, MARK: self.mark}

    def pids(self) -> set[int]:
        """Processes of this box that are alive."""
        wanted = f"{MARK}={self.mark}".encode()
        return {int(entry.name) for entry in Path("/proc").glob("[0-9]*") if wanted in _environ(entry)}


def _environ(entry: Path) -> list[bytes]:
    """The environment of a process; empty for a zombie or one that is gone."""
    try:
        return (entry / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


@contextmanager
def job_box(folder: Path, script: str = "job.py") -> Iterator[Box]:
    """Make a box; at the end nothing of it is left."""
    folder.mkdir(parents=True, exist_ok=True)
    box = Box(folder, script)
    box.write(SLEEPER)
    try:
        yield box
    finally:
        deadline = time.monotonic() + 10
        while (pids := box.pids()) and time.monotonic() < deadline:
            for pid in pids:
                _kill(pid)
            time.sleep(0.01)
        assert not box.pids()


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@contextmanager
def begun(env: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process of that environment that runs its program: it has answered.

    Popen returns while the kernel still lays out the new program, when its command line and environment are empty.
    """
    with subprocess.Popen(
        ["/bin/cat"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(b"?")
            assert process.stdout.read(1) == b"?"
            yield process
        finally:
            process.kill()
