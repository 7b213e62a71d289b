"""The job when the server fails: what is tried again, what is recorded, what costs no attempt."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.payload.conftest import WITH_EACH_CLIENT, read_until
from tests.payload.mock_server import Fault, MockServer

if TYPE_CHECKING:
    from tests.payload.conftest import Bench

pytestmark = WITH_EACH_CLIENT

AFTER_TWO = {
    "http_500": Fault("status", 500),
    "http_502": Fault("status", 502),
    "http_408": Fault("status", 408),
    "reset": Fault("reset"),
    "half": Fault("half"),
    "hang": Fault("hang"),
    "abort": Fault("abort", message="Abort in waiting queue"),
    "not_json": Fault("not_json"),
    "shape": Fault("shape"),
    "error_200": Fault("error_200"),
}
"""Faults that pass, by the prompt that meets them twice."""

KINDS = {"half": "reset", "hang": "timeout", "not_json": "bad_answer", "shape": "bad_answer", "error_200": "bad_answer"}
"""The kind that the job gives to a fault, where it isn't the fault's own name."""


@pytest.mark.parametrize("api", ["sglang", "completions", "chat"])
async def test_passing_faults_are_tried_again(bench: Bench, server: MockServer, api: str) -> None:
    bench.lines("A", *(f'{{"id": "{name}", "prompt": "{name}"}}' for name in [*AFTER_TWO, "good"]))
    bench.config(server.url, {"name": "A", "concurrency": 4}, api=api)
    server.faults = {name: [fault, fault] for name, fault in AFTER_TWO.items()}
    status, log = await bench.run("--request-timeout", "0.4")
    assert status == 0, log
    assert {row["id"]: row["attempt"] for row in bench.rows("A")} == {**dict.fromkeys(AFTER_TWO, 3), "good": 1}
    assert bench.rows("A", "errors.jsonl") == []
    errors = bench.events("error")
    for name in AFTER_TWO:
        mine = [(e["kind"], e["attempt"], e["final"]) for e in errors if e["id"] == name]
        kind = KINDS.get(name, name)
        assert mine == [(kind, 1, False), (kind, 2, False)]
    aborted = next(e["message"] for e in errors if e["id"] == "abort")
    assert ("Abort in waiting queue" if api == "sglang" else "finish_reason abort") in aborted


async def test_a_bad_request_is_recorded_once_and_tried_by_the_next_run(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 3)
    bench.config(server.url, {"name": "A", "concurrency": 1})
    server.faults = {"A 1": [Fault("status", 400, message="too long:\x1b[2J 9000 tokens")]}
    status, log = await bench.run("--no-stamps")
    assert status == 7
    assert "  ERROR: A: prompt p1 given up http_400: too long: [2J 9000 tokens" in log
    assert "  A: done 2 (1 err), 20 tokens in 0.00h\n" in log
    assert log.endswith(", 1 prompts given up (see errors.jsonl)\n")
    assert [(row["id"], row["kind"], row["attempts"]) for row in bench.rows("A", "errors.jsonl")] == [
        ("p1", "http_400", 1)
    ]
    assert bench.events("dataset_finished")[0]["reason"] == "errors"
    assert len(server.asked) == 3
    status, log = await bench.run("--no-stamps")
    assert status == 0
    assert "  Resuming: 2 already done (20 tokens)" in log
    assert len(server.asked) == 4


async def test_attempts_come_to_an_end(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 2)
    bench.config(server.url, {"name": "A"})
    server.faults = {"A 0": [Fault("status", 500)] * 9}
    assert (await bench.run("--max-attempts", "3"))[0] == 7
    assert sum(body["text"] == "A 0" for _, body in server.asked) == 3
    assert [e["final"] for e in bench.events("error")] == [False, False, True]


async def test_a_busy_server_is_asked_later_at_no_cost(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 2)
    bench.config(server.url, {"name": "A"})
    busy = Fault("status", 429, headers=(("retry-after", "0.3"),))
    server.faults = {"A 0": [busy, *[Fault("status", 503)] * 4, busy]}
    assert (await bench.run("--max-attempts", "2"))[0] == 0
    times = [at for (_, body), at in zip(server.asked, server.asked_at, strict=True) if body["text"] == "A 0"]
    assert len(times) == 7
    # Without the header the first pause would be 0.02 s.
    assert times[1] - times[0] >= 0.29
    assert [row["attempt"] for row in bench.rows("A")] == [1, 1]


async def test_a_server_busy_for_too_long_costs_only_that_prompt(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 2)
    bench.config(server.url, {"name": "A"})
    server.faults = {"A 0": [Fault("status", 503)] * 999}
    assert (await bench.run("--server-timeout", "0.3"))[0] == 7
    assert [row["kind"] for row in bench.rows("A", "errors.jsonl")] == ["http_503"]
    assert [row["id"] for row in bench.rows("A")] == ["p1"]


async def test_a_server_that_goes_and_comes_back(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 40)
    bench.config(server.url, {"name": "A", "concurrency": 4})
    server.hold.clear()
    job = await bench.start("--max-attempts", "2")
    await server.until(lambda: server.in_flight == 4)
    await server.stop()
    await read_until(job, r"  WARNING: Server gone: ")
    server.hold.set()
    await server.start()
    await read_until(job, r"  Server is back: ")
    status, _ = await bench.end(job)
    assert status == 0
    assert {row["id"] for row in bench.rows("A")} == {f"p{n}" for n in range(40)}
    assert len(bench.rows("A")) == 40
    assert [e["dataset"] for e in bench.events("server_gone")] == ["A"]
    assert bench.events("server_gone")[0]["state"] == "gone"
    assert len(bench.events("server_back")) == 1
    assert {e["attempt"] for e in bench.events("error")} == {1}


async def test_a_refused_connection_costs_no_attempt(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 12)
    bench.config(server.url, {"name": "A", "concurrency": 4})
    server.hold.clear()
    job = await bench.start("--max-attempts", "1")
    await server.until(lambda: server.in_flight == 4)
    server.deafen()
    server.hold.set()
    await read_until(job, r"  WARNING: Server gone: \w*Connect\w*Error")
    await server.start()
    assert (await bench.end(job))[0] == 0
    assert len(bench.rows("A")) == len(server.asked) == 12
    assert {(e["kind"], e["attempt"], e["final"]) for e in bench.events("error")} == {("connect", 1, False)}


async def test_a_server_that_stops_and_leaves_its_requests_open(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 12)
    bench.config(server.url, {"name": "A", "concurrency": 4})
    server.hold.clear()
    job = await bench.start("--no-stamps", "--max-attempts", "1")
    await server.until(lambda: server.in_flight == 4)
    # As some servers do on TERM: the port is closed, and nobody is told.
    server.deafen()
    await read_until(job, r"  WARNING: Server gone: ")
    line = await read_until(job, r"  4 requests to ")
    assert line == f"  4 requests to {server.url} had no answer since it was gone; they are sent again"
    server.hold.set()
    await server.start()
    assert (await bench.end(job))[0] == 0
    assert sorted(row["id"] for row in bench.rows("A")) == sorted(f"p{n}" for n in range(12))
    assert {row["attempt"] for row in bench.rows("A")} == {1}
    assert {(e["kind"], e["final"]) for e in bench.events("error")} == {("reset", False)}


async def test_a_server_that_stops_may_finish_what_it_has(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 4)
    bench.config(server.url, {"name": "A", "concurrency": 4})
    server.slow = {f"A {n}": asyncio.Event() for n in range(4)}
    job = await bench.start("--no-stamps", "--progress-every", "1")
    await server.until(lambda: server.in_flight == 4)
    server.deafen()
    await read_until(job, r"  WARNING: Server gone: ")
    for n in range(4):
        server.slow[f"A {n}"].set()
        await read_until(job, rf"^  {n + 1}/4 ")
    assert (await bench.end(job))[0] == 0
    assert len(server.asked) == 4


async def test_a_silent_server_that_answers_probes_is_left_to_work(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 4)
    bench.config(server.url, {"name": "A", "concurrency": 4})
    server.hold.clear()
    job = await bench.start("--no-stamps", "--progress-seconds", "0.5")
    for _ in range(4):
        await read_until(job, r"^  0/4 ")
    server.hold.set()
    status, log = await bench.end(job)
    assert status == 0
    assert "Server gone" not in log
    assert len(server.asked) == 4


async def test_a_storm_of_429_passes(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 60)
    bench.config(server.url, {"name": "A", "concurrency": 10})
    server.always = Fault("status", 429, headers=(("retry-after", "0.05"),))
    job = await bench.start("--max-attempts", "2")
    await read_until(job, r"  ERROR: Server fails: 20 prompts in a row failed \(http_429\); one is tried at a time")
    server.always = None
    assert (await bench.end(job))[0] == 0
    assert sorted(row["id"] for row in bench.rows("A")) == sorted(f"p{n}" for n in range(60))
    assert {row["attempt"] for row in bench.rows("A")} == {1}


async def test_the_job_may_start_before_its_server(bench: Bench) -> None:
    server = MockServer()
    await server.start()
    await server.stop()
    bench.prompts("A", 2)
    bench.config(server.url, {"name": "A"})
    job = await bench.start()
    await read_until(job, r"Server gone")
    server.hold.set()
    async with server:
        assert (await bench.end(job))[0] == 0
    assert len(bench.rows("A")) == 2


async def test_a_server_gone_for_good_ends_the_job(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 4)
    bench.config(server.url, {"name": "A", "concurrency": 2})
    server.hold.clear()
    job = await bench.start("--server-timeout", "0.3")
    await server.until(lambda: server.in_flight == 2)
    await server.stop()
    status, log = await bench.end(job)
    assert status == 4
    assert "ERROR: The server http://127.0.0.1:" in log
    assert "nothing done is lost" in log
    assert bench.rows("A", "errors.jsonl") == []
    assert bench.events("run_finished")[0]["reason"] == "failed"
    assert bench.events("dataset_finished")[0]["reason"] == "stopped"


async def test_a_server_that_fails_everything_does_not_use_up_the_dataset(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 200)
    bench.config(server.url, {"name": "A", "concurrency": 30})
    server.always = Fault("status", 500, message="CUDA error")
    job = await bench.start()
    await read_until(job, r"  ERROR: Server fails: \d+ prompts in a row failed \(http_500\); one is tried at a time")
    asked = len(server.asked)
    await server.until(lambda: len(server.asked) >= asked + 2)
    assert len(server.asked) < 100
    server.always = None
    await read_until(job, r"  Server is back: it completes requests again")
    status, _ = await bench.end(job)
    assert status == 0
    assert len({row["id"] for row in bench.rows("A")}) == 200
    assert bench.rows("A", "errors.jsonl") == []


@pytest.mark.parametrize("status", [401, 404])
async def test_a_server_that_refuses_us_ends_the_job_at_once(bench: Bench, server: MockServer, status: int) -> None:
    bench.prompts("A", 50)
    bench.config(server.url, {"name": "A", "concurrency": 5})
    server.always = Fault("status", status)
    code, log = await bench.run("--no-stamps")
    assert code == 4
    assert f"ERROR: The server refuses us (http_{status}: made to fail); " in log
    assert len(server.asked) <= 5
    assert bench.rows("A", "errors.jsonl") == []
