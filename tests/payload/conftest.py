"""The job as a real process, and a folder for it to work in."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.payload.mock_server import MockServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SCRIPT = Path(__file__).parents[2] / "remote" / "payload" / "run_inference.py"
"""The program under test."""

NO_AIOHTTP = pytest.mark.skipif(importlib.util.find_spec("aiohttp") is None, reason="aiohttp is not installed")

WITH_EACH_CLIENT = pytest.mark.parametrize("bench", [pytest.param("aiohttp", marks=NO_AIOHTTP), "httpx"], indirect=True)
"""Runs a test with each HTTP library that the job knows; without it, the job takes the first that is there."""


@dataclass(slots=True)
class Bench:
    """A folder with a config and prompts, and the processes started in it.

    Attributes:
        folder: The folder.
        flags: What every job is started with.
        started: Every process, to be ended after the test.
    """

    folder: Path
    flags: tuple[str, ...] = ()
    started: list[asyncio.subprocess.Process] = field(default_factory=list)

    @property
    def out(self) -> Path:
        """Where results go."""
        return self.folder / "out"

    def prompts(self, name: str, count: int) -> None:
        """Writes a prompts file: ids p0, p1, ... and texts ``NAME 0``, ``NAME 1``, ..."""
        rows = ({"id": f"p{n}", "prompt": f"{name} {n}"} for n in range(count))
        self.lines(name, *(json.dumps(row) for row in rows))

    def lines(self, name: str, *lines: str) -> None:
        """Writes a prompts file line by line."""
        (self.folder / f"{name}.jsonl").write_text("".join(line + "\n" for line in lines), "utf-8")

    def config(self, server: str | list[str], *datasets: dict[str, Any], **more: Any) -> None:
        """Writes the config; a dataset's prompts file is named after it."""
        full = [{"prompts": f"{dataset['name']}.jsonl", **dataset} for dataset in datasets]
        table = {"server": server, "out": "out", "datasets": full, **more}
        (self.folder / "job.json").write_text(json.dumps(table), "utf-8")

    async def start(self, *flags: str, env: dict[str, str] | None = None) -> asyncio.subprocess.Process:
        """Starts the job; stdout and stderr come together."""
        quick = ("--backoff", "0.02", "--probe-every", "0.05")
        return await self.start_as(("--config", str(self.folder / "job.json"), *quick, *self.flags, *flags), env=env)

    async def start_as(
        self, flags: tuple[str, ...], *, env: dict[str, str] | None = None, cwd: Path | None = None
    ) -> asyncio.subprocess.Process:
        """Starts the job with these flags alone."""
        argv = (sys.executable, str(SCRIPT), *flags)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *argv, stdout=pipe, stderr=asyncio.subprocess.STDOUT, env=env, cwd=cwd, limit=1 << 20
        )
        self.started.append(process)
        return process

    async def run(self, *flags: str, env: dict[str, str] | None = None) -> tuple[int, str]:
        """Runs the job to its end: exit status and log."""
        return await self.end(await self.start(*flags, env=env))

    async def run_long(self) -> tuple[int, str]:
        """Runs a job that may take minutes: exit status and log."""
        return await self.end(await self.start("--no-stamps"), within_s=800)

    async def end(self, process: asyncio.subprocess.Process, within_s: float = 30) -> tuple[int, str]:
        """Waits for a started job: exit status and what is left of its log."""
        out, _ = await asyncio.wait_for(process.communicate(), within_s)
        assert process.returncode is not None
        return process.returncode, out.decode()

    def rows(self, name: str, file: str = "results.jsonl") -> list[dict[str, Any]]:
        """The lines of one of a dataset's files; none when it isn't there."""
        return read_rows(self.out / name / file)

    def events(self, event: str) -> list[dict[str, Any]]:
        """The events of one kind in progress.jsonl."""
        return [row for row in read_rows(self.out / "progress.jsonl") if row["event"] == event]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """A JSONL file's lines; none when it isn't there."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line] if path.exists() else []


async def read_until(process: asyncio.subprocess.Process, pattern: str) -> str:
    """Reads a job's log up to the first line that a pattern is found in; returns that line."""
    assert process.stdout is not None
    while True:
        line = (await asyncio.wait_for(process.stdout.readline(), 15)).decode()
        assert line, f"the log ended before {pattern!r} came"
        if re.search(pattern, line):
            return line.rstrip("\n")


@pytest.fixture
async def bench(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    """A folder for the job; whatever still runs after the test is ended."""
    made = Bench(tmp_path, ("--client", request.param) if hasattr(request, "param") else ())
    yield made
    for process in made.started:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.communicate()


@pytest.fixture
async def server() -> AsyncIterator[MockServer]:
    """A mock SGLang server that answers at once."""
    async with MockServer() as made:
        yield made
