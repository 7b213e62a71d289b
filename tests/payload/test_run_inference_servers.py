"""Several servers: who gets what, and what becomes of the work when one is away."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.payload.conftest import read_until
from tests.payload.mock_server import Fault, MockServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.payload.conftest import Bench


@pytest.fixture
async def pair() -> AsyncIterator[tuple[MockServer, MockServer]]:
    """Two servers."""
    async with MockServer() as one, MockServer() as other:
        yield one, other


def by_server(bench: Bench) -> Counter[str]:
    """How many results each server made."""
    return Counter(row["server"] for row in bench.rows("A"))


async def test_the_least_loaded_gets_the_next(bench: Bench, pair: tuple[MockServer, MockServer]) -> None:
    one, other = pair
    bench.prompts("A", 30)
    bench.config([one.url, other.url], {"name": "A", "concurrency": 10})
    one.hold.clear()
    other.hold.clear()
    job = await bench.start("--no-stamps")
    await one.until(lambda: one.in_flight == 5)
    await other.until(lambda: other.in_flight == 5)
    # One that answers nothing keeps its five, and the other one does all the rest.
    other.hold.set()
    await other.until(lambda: len(other.asked) == 25)
    job.send_signal(10)
    assert (await read_until(job, "Status: ")).endswith(f"server {one.url} is up, 5 in flight")
    assert (await read_until(job, "Status: ")).endswith(f"server {other.url} is up, 0 in flight")
    one.hold.set()
    assert (await bench.end(job))[0] == 0
    assert by_server(bench) == {one.url: 5, other.url: 25}
    assert max(one.most_in_flight, other.most_in_flight) == 5


async def test_servers_on_the_command_line_take_turns(bench: Bench, pair: tuple[MockServer, MockServer]) -> None:
    one, other = pair
    bench.prompts("A", 8)
    bench.config("http://127.0.0.1:9", {"name": "A", "concurrency": 1})
    assert (await bench.run("--server", one.url, "--server", other.url + "/v1/"))[0] == 0
    assert by_server(bench) == {one.url: 4, other.url: 4}


async def test_a_dead_one_is_left_out_until_it_answers_again(bench: Bench, pair: tuple[MockServer, MockServer]) -> None:
    one, other = pair
    bench.prompts("A", 60)
    bench.config([one.url, other.url], {"name": "A", "concurrency": 4})
    one.hold.clear()
    other.hold.clear()
    job = await bench.start("--no-stamps")
    await one.until(lambda: one.in_flight == 2)
    await other.until(lambda: other.in_flight == 2)
    await other.stop()
    assert other.url in await read_until(job, r"^  Left out: ")
    await other.start()
    assert other.url in await read_until(job, r"^  Taken in again: ")
    other.hold.set()
    one.hold.set()
    status, log = await bench.end(job)
    assert status == 0
    assert "Server gone" not in log
    made = by_server(bench)
    assert made.total() == 60
    assert min(made.values()) > 2
    assert bench.events("server_gone") == []
    assert bench.rows("A", "errors.jsonl") == []


async def test_one_that_is_not_up_at_the_start_comes_in_later(bench: Bench, server: MockServer) -> None:
    late = MockServer()
    await late.start()
    await late.stop()
    late.hold.set()
    bench.prompts("A", 40)
    bench.config([late.url, server.url], {"name": "A", "concurrency": 4})
    server.hold.clear()
    job = await bench.start("--no-stamps")
    assert late.url in await read_until(job, r"^  Left out: ")
    await server.until(lambda: server.in_flight == 4)
    async with late:
        assert late.url in await read_until(job, r"^  Taken in again: ")
        server.hold.set()
        assert (await bench.end(job))[0] == 0
    assert by_server(bench).total() == 40
    assert len(late.asked) >= 10


async def test_when_all_are_gone_the_job_waits(bench: Bench, pair: tuple[MockServer, MockServer]) -> None:
    one, other = pair
    bench.prompts("A", 20)
    bench.config([one.url, other.url], {"name": "A", "concurrency": 4})
    one.hold.clear()
    other.hold.clear()
    job = await bench.start("--no-stamps", "--max-attempts", "2")
    await one.until(lambda: one.in_flight == 2)
    await other.until(lambda: other.in_flight == 2)
    await one.stop()
    await other.stop()
    await read_until(job, r"^  WARNING: Server gone: all 2 servers, ")
    other.hold.set()
    one.hold.set()
    await one.start()
    assert one.url in await read_until(job, r"^  Server is back: ")
    assert (await bench.end(job))[0] == 0
    assert len({row["id"] for row in bench.rows("A")}) == len(bench.rows("A")) == 20
    assert len(bench.events("server_gone")) == len(bench.events("server_back")) == 1


async def test_all_gone_for_good_end_the_job(bench: Bench) -> None:
    bench.prompts("A", 2)
    bench.config(["http://127.0.0.1:9", "http://127.0.0.1:10"], {"name": "A"})
    status, log = await bench.run("--no-stamps", "--server-timeout", "0.3")
    assert status == 4
    assert "ERROR: The servers http://127.0.0.1:9, http://127.0.0.1:10 were away for " in log


async def test_one_that_fails_everything_is_left_out(bench: Bench, pair: tuple[MockServer, MockServer]) -> None:
    one, other = pair
    other.always = Fault("status", 500, message="CUDA error")
    bench.prompts("A", 300)
    bench.config([one.url, other.url], {"name": "A", "concurrency": 40})
    status, log = await bench.run("--no-stamps", "--max-attempts", "9")
    assert status == 0
    assert f"  Left out: {other.url}: 20 prompts in a row failed (http_500); one is tried at a time\n" in log
    assert by_server(bench) == {one.url: 300}


async def test_a_busy_one_rests_and_its_prompts_go_to_the_other(
    bench: Bench, pair: tuple[MockServer, MockServer]
) -> None:
    one, other = pair
    other.always = Fault("status", 429, headers=(("retry-after", "600"),))
    bench.prompts("A", 40)
    bench.config([one.url, other.url], {"name": "A", "concurrency": 4})
    assert (await bench.run("--max-attempts", "1"))[0] == 0
    assert len(other.asked) <= 2
    assert by_server(bench) == {one.url: 40}


async def test_each_is_asked_in_its_own_way(bench: Bench, server: MockServer) -> None:
    async with MockServer(sglang=False, model="another") as other:
        bench.prompts("A", 8)
        bench.config([server.url, other.url], {"name": "A", "concurrency": 1})
        status, log = await bench.run("--no-stamps")
    assert status == 0
    assert "  WARNING: The servers have different models: another, small-model\n" in log
    assert {path for path, _ in server.asked} == {"/generate"}
    assert {(path, body["model"]) for path, body in other.asked} == {("/v1/completions", "another")}


async def test_one_that_hangs_keeps_only_its_own(bench: Bench, pair: tuple[MockServer, MockServer]) -> None:
    one, other = pair
    other.always = Fault("hang")
    bench.prompts("A", 40)
    bench.config([one.url, other.url], {"name": "A", "concurrency": 6})
    job = await bench.start("--request-timeout", "600")
    await one.until(lambda: len(one.asked) == 37)
    assert other.in_flight == 3
    await asyncio.wait_for(other.stop(), 10)
    assert (await bench.end(job))[0] == 0
    assert by_server(bench) == {one.url: 40}
