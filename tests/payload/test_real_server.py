"""The job against a real inference server. Opt-in: ``LONGWAIT_REAL_SERVER`` names one or more, separated by blanks.

docs/development.md says how to get one without a GPU. Each must serve some model; nothing is assumed of its answers but
that they are answers.
"""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.payload.conftest import WITH_EACH_CLIENT, read_until

if TYPE_CHECKING:
    from tests.payload.conftest import Bench

SERVERS = os.environ.get("LONGWAIT_REAL_SERVER", "").split()
"""Base URLs."""

COUNT = int(os.environ.get("LONGWAIT_REAL_PROMPTS", "120"))
"""Prompts of each dataset."""

pytestmark = [
    pytest.mark.real_server,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not SERVERS, reason="LONGWAIT_REAL_SERVER names no server"),
    WITH_EACH_CLIENT,
]


def prompts(bench: Bench, name: str, form: str) -> None:
    """A prompts file in one of the three forms."""
    chance = random.Random(name)
    rows: list[dict[str, Any]] = []
    for number in range(COUNT):
        text = " ".join(chance.choice(["red", "green", "blue", "and", "or"]) for _ in range(chance.randrange(5, 60)))
        content: Any = text
        if form == "messages":
            content = [{"role": "user", "content": text}]
        elif form == "input_ids":
            content = [chance.randrange(10, 200) for _ in range(chance.randrange(5, 60))]
        rows.append({"id": f"{name}-{number}", form: content})
    bench.lines(name, *(json.dumps(row) for row in rows))


def check(bench: Bench, name: str, max_tokens: int) -> int:
    """Every prompt has one result, and its figures agree; returns the tokens."""
    rows = bench.rows(name)
    assert Counter(row["id"] for row in rows) == Counter(f"{name}-{number}" for number in range(COUNT))
    for row in rows:
        assert row["finish_reason"] in {"stop", "length"}
        assert 0 <= row["completion_tokens"] <= max_tokens
        assert row["prompt_tokens"] > 0
        assert row["server"] in SERVERS
        if "output_ids" in row:
            assert len(row["output_ids"]) == row["completion_tokens"]
    return sum(row["completion_tokens"] for row in rows)


async def test_everything_is_done_once(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    forms = {"T": "prompt", "M": "messages", "I": "input_ids"}
    for name, form in forms.items():
        prompts(bench, name, form)
    sampling = {"temperature": 1.0}
    datasets = [{"name": name, "concurrency": 32, "max_tokens": 64, "sampling": sampling} for name in forms]
    bench.config(SERVERS, *datasets)
    began = time.monotonic()
    status, log = await bench.run_long()
    took = time.monotonic() - began
    # llama.cpp and some routers take no token ids for a prompt; then those, and only those, are given up.
    if status == 7:
        assert {row["kind"] for row in bench.rows("I", "errors.jsonl")} <= {"http_400", "http_422"}
        assert len(bench.rows("I", "errors.jsonl")) == COUNT
        del forms["I"]
    else:
        assert status == 0, log
    tokens = sum(check(bench, name, 64) for name in forms)
    assert re.search(rf"All datasets done: 3 datasets, {tokens:,} tokens", log)
    with capsys.disabled():
        made = f"{COUNT * len(forms)} prompts, {tokens} tokens in {took:.1f} s ({tokens / took:.0f} tok/s)"
        print(f"\n{' '.join(SERVERS)} over {bench.flags[-1]}: {made}")  # noqa: T201 - the figures are what one runs it for


async def test_killed_and_started_again(bench: Bench) -> None:
    prompts(bench, "T", "prompt")
    bench.config(SERVERS, {"name": "T", "concurrency": 24, "max_tokens": 48, "sampling": {"temperature": 1.0}})
    for seen in (10, 30):
        job = await bench.start("--no-stamps", "--progress-every", "5")
        await read_until(job, rf"^  {seen}/\d+ ")
        job.kill()
        await bench.end(job)
    assert (await bench.run_long())[0] == 0
    check(bench, "T", 48)


async def test_a_prompt_that_is_too_long_is_recorded_and_the_rest_is_done(bench: Bench) -> None:
    prompts(bench, "T", "prompt")
    with (bench.folder / "T.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"id": "long", "prompt": "red and green or blue " * 40_000}) + "\n")
    bench.config(SERVERS, {"name": "T", "concurrency": 24, "max_tokens": 16})
    status, log = await bench.run_long()
    assert status == 7, log
    (row,) = bench.rows("T", "errors.jsonl")
    assert (row["id"], row["kind"], row["attempts"]) == ("long", "http_400", 1)
    check(bench, "T", 16)


async def test_a_budget_ends_it(bench: Bench) -> None:
    prompts(bench, "T", "prompt")
    sampling = {"temperature": 1.0, "ignore_eos": True}
    bench.config(SERVERS, {"name": "T", "concurrency": 8, "max_tokens": 20, "token_budget": 600, "sampling": sampling})
    status, log = await bench.run_long()
    assert status == 0
    assert "budget reached" in log
    finished = bench.events("dataset_finished")[0]
    assert 600 <= finished["tokens"] < 600 + 8 * 20
