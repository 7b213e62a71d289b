"""The job after an end of any kind: what is done is never asked again, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.payload.conftest import SCRIPT
from tests.payload.mock_server import Fault

if TYPE_CHECKING:
    from tests.payload.conftest import Bench
    from tests.payload.mock_server import MockServer


def written(bench: Bench, name: str, *rows: dict[str, Any], tail: str = "") -> None:
    """Puts a results file in place, as a former process left it."""
    folder = bench.out / name
    folder.mkdir(parents=True)
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + tail, "utf-8")


def result(number: int, tokens: int = 506) -> dict[str, Any]:
    """A result line of a former process."""
    return {"id": f"p{number}", "completion_tokens": tokens, "prompt_tokens": 3, "text": "former"}


async def test_resume_asks_only_what_is_left(bench: Bench, server: MockServer) -> None:
    bench.prompts("B3", 12)
    written(bench, "B3", result(0), {"text": "foreign order", "completion_tokens": 506, "id": "p5"}, result(5))
    bench.config(server.url, {"name": "B3", "concurrency": 3, "max_tokens": 10240, "token_budget": 10_000_000})
    status, log = await bench.run("--no-stamps")
    assert status == 0
    assert "  Resuming: 2 already done (1,012 tokens)\n  Running 10 requests (concurrency=3, " in log
    assert "  Existing tokens: 1,012, remaining budget: 9,998,988\n" in log
    assert "  B3: done 10 (0 err), 1,112 tokens in " in log
    assert {body["text"] for _, body in server.asked} == {f"B3 {n}" for n in range(12) if n not in {0, 5}}
    assert len(server.asked) == 10
    started = bench.events("dataset_started")[0]
    assert (started["total"], started["todo"], started["done"], started["tokens"]) == (12, 10, 2, 1012)


async def test_datasets_that_need_nothing_are_skipped_without_a_server(bench: Bench) -> None:
    bench.prompts("B1_glaive", 3)
    bench.prompts("B2", 2)
    written(bench, "B1_glaive", result(0, 10_004_221))
    written(bench, "B2", result(0), result(1))
    budgets = {"name": "B1_glaive", "token_budget": 10_000_000}
    bench.config("http://127.0.0.1:9", budgets, {"name": "B2"})
    status, log = await bench.run("--no-stamps")
    assert status == 0
    assert "  B1_glaive: budget already met (10,004,221 of 10,000,000 tokens), skipping\n" in log
    assert "  B2: all 2 prompts done, skipping\n" in log
    assert log.endswith("All datasets done: 2 datasets, 10,005,233 tokens in 0.00h\n")
    first, second = bench.events("dataset_skipped")
    assert (first["reason"], first["total"], first["tokens"], first["budget"]) == (
        "budget",
        None,
        10_004_221,
        10_000_000,
    )
    assert (second["reason"], second["done"], second["total"], second["budget"]) == ("all_done", 2, 2, None)


@pytest.mark.parametrize("tail", ['{"id": "p1", "completion_tokens": 9, "text": "code {}', "\0\0\0\0", '{"id"'])
async def test_a_half_last_line_is_removed_and_done_again(bench: Bench, server: MockServer, tail: str) -> None:
    bench.prompts("A", 3)
    written(bench, "A", result(0), tail=tail)
    bench.config(server.url, {"name": "A"})
    status, log = await bench.run("--no-stamps")
    assert status == 0
    assert f"  A: the last line of results.jsonl was cut off ({len(tail)} bytes); removed, to be done again\n" in log
    assert sorted(row["id"] for row in bench.rows("A")) == ["p0", "p1", "p2"]


async def test_a_whole_last_line_without_its_end_is_kept(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 2)
    written(bench, "A", tail=json.dumps(result(0)))
    bench.config(server.url, {"name": "A"})
    status, log = await bench.run()
    assert status == 0
    assert "cut off" not in log
    assert [row["id"] for row in bench.rows("A")] == ["p0", "p1"]


async def test_a_broken_line_in_the_middle_is_said(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 2)
    written(bench, "A", result(0), tail="\0\0\0\n" + json.dumps(result(1)) + "\n")
    bench.config(server.url, {"name": "A"})
    status, log = await bench.run()
    assert status == 0
    assert "WARNING: A: 1 lines of results.jsonl can't be read" in log
    assert server.asked == []


async def test_killed_and_started_again_every_prompt_has_one_result(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 300)
    bench.config(server.url, {"name": "A", "concurrency": 8})
    for seen in (40, 110, 190):
        job = await bench.start()
        await server.until(lambda seen=seen: len(server.asked) >= seen)  # type: ignore[misc] # bound now, not later
        job.kill()
        await bench.end(job)
    # What kill -9 in the middle of a write leaves behind.
    with (bench.out / "A" / "results.jsonl").open("a") as file:
        file.write('{"id": "p299", "compl')
    with (bench.out / "progress.jsonl").open("a") as file:
        file.write('{"t": "2026-')
    status, log = await bench.run()
    assert status == 0
    assert "was cut off (21 bytes)" in log
    assert sorted(row["id"] for row in bench.rows("A")) == sorted(f"p{n}" for n in range(300))
    lines = (bench.out / "progress.jsonl").read_text().splitlines()
    assert [line for line in lines if not line.endswith("}")] == ['{"t": "2026-']


async def test_a_second_job_ends_at_once_and_names_the_first(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 2)
    bench.config(server.url, {"name": "A"})
    server.hold.clear()
    first = await bench.start()
    await server.until(lambda: server.in_flight == 2)
    status, log = await bench.run()
    assert status == 3
    assert f"Another job works on {bench.out}: pid {first.pid}, since 20" in log
    assert len(bench.events("run_started")) == 1
    server.hold.set()
    assert (await bench.end(first))[0] == 0
    assert (await bench.run())[0] == 0


async def test_a_disk_without_room_ends_the_job_cleanly(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 50)
    bench.config(server.url, {"name": "A", "concurrency": 1})
    server.tokens = lambda _text: 300
    argv = [sys.executable, str(SCRIPT), "--config", str(bench.folder / "job.json"), "--no-stamps"]
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The limit on a file's size stands in for a full disk: the write that crosses it stops half way, as there.
    job = await asyncio.create_subprocess_exec(*argv, stdout=-1, stderr=-2)
    bench.started.append(job)
    resource.prlimit(job.pid, resource.RLIMIT_FSIZE, (10_000, hard))
    status, log = await bench.end(job)
    assert status == 5
    assert "results.jsonl can't be written: " in log
    assert "Traceback" not in log
    kept = bench.rows("A")
    assert 1 <= len(kept) < 50
    assert (bench.out / "A" / "results.jsonl").read_text().endswith("}\n")
    assert (await bench.run())[0] == 0
    assert len({row["id"] for row in bench.rows("A")}) == len(bench.rows("A")) == 50


async def test_given_up_prompts_of_a_former_run_are_tried_again(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 3)
    bench.config(server.url, {"name": "A"})
    server.faults = {"A 2": [Fault("status", 400)]}
    assert (await bench.run())[0] == 7
    assert (await bench.run())[0] == 0
    assert sorted(row["id"] for row in bench.rows("A")) == ["p0", "p1", "p2"]
