"""Killed a dozen times in the middle of everything: nothing is lost, nothing is done twice. ``bench.runner`` kills more."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.payload.mock_server import Fault

if TYPE_CHECKING:
    from tests.payload.conftest import Bench
    from tests.payload.mock_server import MockServer

KILLS = 12
COUNTS = {"A": 240, "B": 90, "C": 120}
PASSING = (Fault("status", 500), Fault("reset"), Fault("half"), Fault("abort"), Fault("not_json"), Fault("status", 429))


def tokens_of(text: str) -> int:
    """Completion tokens of a prompt: always the same for the same prompt."""
    return 5 + sum(text.encode()) % 40


def cut_short(bench: Bench, chance: random.Random) -> int:
    """What a power cut does to what was not yet on the disk: the end of a results file is gone. Returns its half line."""
    path = bench.out / chance.choice(list(COUNTS)) / "results.jsonl"
    data = path.read_bytes() if path.exists() else b""
    kept = data[: len(data) - chance.randrange(600)] if len(data) > 600 else data
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(kept)
    return len(kept) - (kept.rfind(b"\n") + 1)


async def test_a_dozen_kills(bench: Bench, server: MockServer) -> None:
    chance = random.Random(20260224)
    for name, count in COUNTS.items():
        bench.prompts(name, count)
    names = [{"name": name, "concurrency": 12, "max_tokens": 64} for name in COUNTS]
    bench.config(server.url, *names)
    server.tokens = tokens_of
    prompts = [f"{name} {n}" for name, count in COUNTS.items() for n in range(count)]
    server.faults = {text: [chance.choice(PASSING)] for text in chance.sample(prompts, 100)}
    mended = 0
    for _ in range(KILLS):
        job = await bench.start("--no-stamps", "--max-attempts", "9")
        until = len(server.asked) + chance.randrange(5, 45)
        await server.until(lambda until=until: len(server.asked) >= until)  # type: ignore[misc] # bound now, not later
        job.kill()
        await bench.end(job)
        half = cut_short(bench, chance) if chance.random() < 0.5 else 0
        mended += half > 0
    status, log = await bench.run("--no-stamps", "--max-attempts", "9")
    assert status == 0, log
    tokens = 0
    for name, count in COUNTS.items():
        rows = bench.rows(name)
        assert Counter(row["id"] for row in rows) == Counter(f"p{n}" for n in range(count))
        assert {row["id"]: row["completion_tokens"] for row in rows} == {
            f"p{n}": tokens_of(f"{name} {n}") for n in range(count)
        }
        tokens += sum(row["completion_tokens"] for row in rows)
    assert f"All datasets done: 3 datasets, {tokens:,} tokens in " in log
    assert mended > 0
    assert len(readable(bench)) > sum(COUNTS.values())


def readable(bench: Bench) -> list[dict[str, Any]]:
    """The lines of progress.jsonl; of those that are none, each is the half line of a killed process."""
    lines = (bench.out / "progress.jsonl").read_text("utf-8").splitlines()
    whole = [line for line in lines if line.startswith('{"t": ') and line.endswith("}")]
    assert len(lines) - len(whole) <= KILLS
    return [json.loads(line) for line in whole]
