"""A job killed hundreds of times at random moments, with a server that fails at random: is anything lost or doubled?

Each seed is a job of its own: three datasets, a server that resets, aborts and fails, a few kills at random moments,
some with the end of a results file cut off as a power cut would, then a last run to the end.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.runner.measured import SCRIPT
from tests.payload.mock_server import Fault, MockServer
from tests.payload.test_run_inference_kills import PASSING, tokens_of

COUNTS = {"A": 150, "B": 40, "C": 60}
"""Prompts of each dataset."""
KILLS_EACH = 5
"""Kills of each seed."""
LONGEST_S = 1.2
"""Every fourth kill comes at most so long after the start: before the first request, where the machine is busy."""
MOST_REQUESTS = 90
"""The others come after at most so many requests more."""


def written(folder: Path, url: str) -> None:
    """The job's config and its prompts."""
    for name, count in COUNTS.items():
        rows = ({"id": f"p{n}", "prompt": f"{name} {n}"} for n in range(count))
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    sets = [{"name": name, "prompts": f"{name}.jsonl", "concurrency": 8, "max_tokens": 64} for name in COUNTS]
    (folder / "job.json").write_text(json.dumps({"server": url, "out": "out", "datasets": sets}), "utf-8")


async def started(folder: Path) -> asyncio.subprocess.Process:
    """The job."""
    flags = ("--no-stamps", "--backoff", "0.02", "--probe-every", "0.05", "--max-attempts", "20")
    argv = (sys.executable, str(SCRIPT), "--config", str(folder / "job.json"), *flags)
    return await asyncio.create_subprocess_exec(*argv, stdout=-1, stderr=-2)


async def killing_moment(chance: random.Random, server: MockServer, job: asyncio.subprocess.Process) -> None:
    """Waits for a chance moment, or for the job's end."""
    if chance.random() < 0.25:  # noqa: PLR2004 - every fourth
        moment = asyncio.create_task(asyncio.sleep(chance.uniform(0.05, LONGEST_S)))
    else:
        seen = len(server.asked) + chance.randrange(MOST_REQUESTS)
        moment = asyncio.create_task(server.until(lambda: len(server.asked) > seen))
    end = asyncio.create_task(job.wait())
    await asyncio.wait((moment, end), return_when=asyncio.FIRST_COMPLETED)
    for task in (moment, end):
        task.cancel()
    await asyncio.gather(moment, end, return_exceptions=True)


def cut(folder: Path, chance: random.Random) -> None:
    """Takes off the end of a results file."""
    path = folder / "out" / chance.choice(list(COUNTS)) / "results.jsonl"
    if path.exists():
        data = path.read_bytes()
        path.write_bytes(data[: len(data) - chance.randrange(min(len(data), 2000) + 1)])


async def one(seed: int) -> tuple[int, int, list[str]]:
    """One seed: how many kills came in time, how many half lines were mended, and what is wrong."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    kills = mended = 0
    async with MockServer(tokens=tokens_of) as server:
        texts = [f"{name} {n}" for name, count in COUNTS.items() for n in range(count)]
        server.faults = {text: [chance.choice((*PASSING, Fault("shape")))] for text in chance.sample(texts, 60)}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            written(folder, server.url)
            for _ in range(KILLS_EACH):
                job = await started(folder)
                await killing_moment(chance, server, job)
                if job.returncode is None:
                    job.kill()
                    kills += 1
                out, _ = await job.communicate()
                mended += len(re.findall(rb"was cut off", out))
                if chance.random() < 0.5:  # noqa: PLR2004 - every other time
                    cut(folder, chance)
            out, _ = await (job := await started(folder)).communicate()
            mended += len(re.findall(rb"was cut off", out))
            return kills, mended, wrong(folder, job.returncode, out.decode())


def wrong(folder: Path, status: int | None, log: str) -> list[str]:
    """What is wrong with what a finished job left behind."""
    found = [] if status == 0 else [f"exit status {status}"]
    total = 0
    for name, count in COUNTS.items():
        lines = (folder / "out" / name / "results.jsonl").read_bytes().splitlines()
        rows = [json.loads(line) for line in lines]
        if Counter(row["id"] for row in rows) != Counter(f"p{n}" for n in range(count)):
            found.append(f"{name}: {len(rows)} results of {count} prompts")
        if any(row["completion_tokens"] != tokens_of(f"{name} {row['id'][1:]}") for row in rows):
            found.append(f"{name}: wrong tokens")
        total += sum(row["completion_tokens"] for row in rows)
    if f", {total:,} tokens in" not in log.splitlines()[-1]:
        found.append(f"the log says {log.splitlines()[-1]!r}, the results hold {total:,} tokens")
    return found


async def many(kills: int) -> int:
    """Seeds until there were so many kills; prints what came of it, returns the number of seeds with a fault."""
    began, seed, done, mended, bad = time.monotonic(), 0, 0, 0, 0
    while done < kills:
        came, half, found = await one(seed)
        done, mended = done + came, mended + half
        if found:
            bad += 1
            print(f"seed {seed}: {'; '.join(found)}")
        seed += 1
    took = time.monotonic() - began
    print(f"{done} kills in {seed} jobs, {mended} half lines mended, {bad} jobs with a fault, {took:.0f} s")
    return bad
