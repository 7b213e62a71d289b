"""A GPU host in a box: an SSH server on loopback, a simulated SGLang server, small data sets, a real job.

``DemoHost`` is the console's side: it runs ``remote.demo.host`` as a process of its own, and ends it. Nothing heavy is
imported here.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from remote.demo import scratch
from remote.demo.processes import sweep
from remote.demo.scenarios import SCENARIOS
from remote.errors import RemoteError

if TYPE_CHECKING:
    from types import TracebackType

READY_S = 20.0
"""Seconds that the host may take to say that it is there; about one is usual."""
END_S = 8.0
"""Seconds that it may take to end all that it started."""
_ERRORS = "host.err"


@dataclass(frozen=True, slots=True)
class DemoDataset:
    """A data set of the demo.

    Attributes:
        name: Its name.
        kind: ``short`` or ``long``.
        prompts: How many prompts it has.
        budget: Its token budget.
    """

    name: str
    kind: str
    prompts: int
    budget: int


@dataclass(frozen=True, slots=True)
class DemoInfo:
    """How to reach the demo host, and where things are on it.

    Attributes:
        simulated: A sentence that says what this is; show it.
        ssh_port: Of its SSH server, on 127.0.0.1.
        user: The user's name there.
        client_key: The private key's file.
        known_hosts: The file with its host key.
        ssh_config: A file for ``ssh -F`` with the host ``longwait-demo``.
        server_url: The simulated server; it may be starting still.
        server_log: Its log.
        job_log: The job's log; the job starts when the server is ready.
        progress: The job's ``progress.jsonl``.
        job_dir: The folder in which the job runs.
        script: The job's script on the host.
        command: How the job is started there.
        new_script: The current script, to be deployed.
        datasets: In the order in which the job does them.
    """

    simulated: str
    ssh_port: int
    user: str
    client_key: str
    known_hosts: str
    ssh_config: str
    server_url: str
    server_log: str
    job_log: str
    progress: str
    job_dir: str
    script: str
    command: tuple[str, ...]
    new_script: str
    datasets: tuple[DemoDataset, ...] = field(default=())


class DemoHost:
    """A demo host, for as long as the context lasts.

    Args:
        scenario: One of ``SCENARIOS``.
        speed: How much faster than a real server the simulated one is.
        options: More options for ``python -m remote.demo.host``.
    """

    def __init__(self, scenario: str = SCENARIOS[0], speed: float = 1.0, *, options: tuple[str, ...] = ()) -> None:
        self._scenario = scenario
        self._speed = speed
        self._options = options
        self._folder: Path | None = None
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> DemoInfo:
        """Start the host; see ``open``."""
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        await self.close()

    async def open(self) -> DemoInfo:
        """Start the host and wait until it can be reached.

        Raises:
            RemoteError: It did not start; the message says why.
        """
        self._folder = scratch.make()
        try:
            return await self._start(self._folder)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the host and all that it started, and remove its folder; harmless when there is none."""
        process, self._process = self._process, None
        folder, self._folder = self._folder, None
        if process is not None:
            await _end(process)
        if folder is not None:
            # Also when the host was killed and could not clean up.
            await asyncio.to_thread(sweep, folder)
            await asyncio.to_thread(scratch.remove, folder)

    async def _start(self, folder: Path) -> DemoInfo:
        with (folder / _ERRORS).open("ab") as errors:
            process = await self._spawn(folder, errors.fileno())
        line = b""
        with contextlib.suppress(TimeoutError):
            line = await asyncio.wait_for(_line(process), READY_S)
        if line:
            return _read(line)
        await _end(process)
        self._process = None
        said = (folder / _ERRORS).read_text(encoding="utf-8", errors="replace").strip()
        raise RemoteError(f"The demo host did not start: {said or f'it said nothing for {READY_S:.0f} s'}")

    async def _spawn(self, folder: Path, errors: int) -> asyncio.subprocess.Process:
        process = self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "remote.demo.host"),
            *("--dir", str(folder)),
            *("--scenario", self._scenario),
            *("--speed", str(self._speed)),
            *("--parent-pid", str(os.getpid())),
            "--remove-when-left",
            *self._options,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            # Ctrl-C in the terminal is the console's, not the host's.
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        return process


async def _line(process: asyncio.subprocess.Process) -> bytes:
    return await process.stdout.readline() if process.stdout is not None else b""


async def _end(process: asyncio.subprocess.Process) -> None:
    """Say goodbye, close its stdin and wait; kill it when it does not end."""
    try:
        await asyncio.wait_for(process.communicate(scratch.GOODBYE), END_S)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


def _read(line: bytes) -> DemoInfo:
    told = json.loads(line)
    datasets = tuple(DemoDataset(**each) for each in told.pop("datasets"))
    return DemoInfo(**{**told, "command": tuple(told["command"])}, datasets=datasets)


__all__ = ["SCENARIOS", "DemoDataset", "DemoHost", "DemoInfo"]
