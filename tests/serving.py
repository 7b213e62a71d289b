"""``longwait serve`` on a run of this machine, for tests with a browser and without one."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ROOT = Path(__file__).parents[1]

DECODE = (
    "Decode batch, #running-req: 50, #token: 114822, token usage: 0.82, cuda graph: True, "
    "gen throughput (token/s): 846.33, #queue-req: 98"
)

JOB = (
    "Processing: B3_magicoder (SHORT)",
    "Loading and tokenizing prompts for B3_magicoder...",
    "  B3_magicoder: 10000 prompts tokenized",
    "  Running 10000 requests (concurrency=150, max_tokens=10240, token_budget=10,000,000)...",
    "  Existing tokens: 0, remaining budget: 10,000,000",
    "  4000/10000 (0 err) 0.7 req/s avg_comp=1232tok tot=4.9M ETA=1.9h",
)


def local_run(folder: Path) -> Path:
    """Write the logs of a run on this machine, and a config that follows it and could restart it."""
    now = datetime.now(UTC).replace(microsecond=0)
    (folder / "server.log").write_text(
        "".join(f"[{now - timedelta(seconds=left):%Y-%m-%d %H:%M:%S}] {DECODE}\n" for left in range(300, -1, -10)),
        encoding="utf-8",
    )
    (folder / "job.log").write_text(
        "".join(f"[{now - timedelta(seconds=60):%Y-%m-%d %H:%M:%S}] {line}\n" for line in JOB), encoding="utf-8"
    )
    path = folder / "longwait.yaml"
    path.write_text(
        "host: local\ntimezone: UTC\nhistory: false\n"
        f"server: {{url: 'http://127.0.0.1:9', metrics: false, log: {folder}/server.log}}\n"
        f"job: {{log: {folder}/job.log, dir: {folder}, command: [{sys.executable}, job.py], python: {sys.executable}}}\n",
        encoding="utf-8",
    )
    return path


@asynccontextmanager
async def served(config: Path, *options: str) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """Serve a run; gives the address that is printed."""
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "console", "--config", str(config), "serve", *options),
        cwd=ROOT,
        env={
            **os.environ,
            "XDG_STATE_HOME": str(config.parent / "state"),
            "XDG_DATA_HOME": str(config.parent / "data"),
        },
        stdout=asyncio.subprocess.PIPE,
    )
    assert program.stdout is not None
    try:
        async with asyncio.timeout(20):
            told = (await program.stdout.readline()).decode()
        found = re.search(r"http://127\.0\.0\.1:\d+/\?key=\S+", told)
        assert found is not None, told
        yield found[0], program
    finally:
        if program.returncode is None:
            program.kill()
        await program.wait()
