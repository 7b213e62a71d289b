"""The job's ends before its time: budgets and signals."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

from tests.payload.conftest import read_until
from tests.payload.mock_server import Fault

if TYPE_CHECKING:
    from tests.payload.conftest import Bench
    from tests.payload.mock_server import MockServer


async def test_a_budget_ends_the_dataset_and_the_next_begins(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 500)
    bench.prompts("B", 2)
    bench.config(server.url, {"name": "A", "concurrency": 10, "token_budget": 1000}, {"name": "B"})
    server.tokens = lambda text: 5 + int(text.split()[1]) % 11
    status, log = await bench.run("--no-stamps")
    assert status == 0
    assert re.search(
        r"\n  A: done \d+ \(0 err\), (1,0\d\d) tokens in 0\.00h, budget reached(, \d+ tokens over)?\n", log
    )
    finished, after = sorted(bench.events("dataset_finished"), key=lambda event: str(event["dataset"]))
    assert (finished["reason"], after["reason"]) == ("budget", "all_done")
    assert finished["over"] == finished["tokens"] - 1000
    # Once the mean is known, no more is in flight than the budget has room for: the overshoot is a few answers' spread.
    assert 1000 <= finished["tokens"] < 1000 + 5 * 15
    asked = len(server.asked)
    status, log = await bench.run("--no-stamps", "--only", "A")
    assert status == 0
    assert "  A: budget already met (1,0" in log
    assert len(server.asked) == asked


async def test_a_budget_that_is_nearly_met_starts_no_more_than_it_needs(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 100)
    bench.config(server.url, {"name": "A", "concurrency": 50, "token_budget": 500})
    assert (await bench.run())[0] == 0
    bench.config(server.url, {"name": "A", "concurrency": 50, "token_budget": 535})
    asked = len(server.asked)
    assert (await bench.run())[0] == 0
    assert len(server.asked) - asked == 4
    assert bench.events("dataset_finished")[-1]["tokens"] == 540


async def test_term_lets_requests_in_flight_finish(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 50)
    bench.config(server.url, {"name": "A", "concurrency": 5})
    server.hold.clear()
    job = await bench.start("--no-stamps")
    await server.until(lambda: server.in_flight == 5)
    job.send_signal(signal.SIGHUP)
    job.terminate()
    await read_until(
        job, r"Stopping by SIGTERM: 5 requests in flight have 30 s to finish; a second signal ends at once"
    )
    server.hold.set()
    status, log = await bench.end(job)
    assert status == 6
    assert "  A: done 5 (0 err), 50 tokens in 0.00h, stopped\n" in log
    assert log.endswith("Stopped by SIGTERM: A has 5 of 50 done, 50 tokens\n")
    assert len(bench.rows("A")) == len(server.asked) == 5
    assert bench.events("dataset_finished")[0]["reason"] == "stopped"
    assert (bench.events("run_finished")[0]["reason"], bench.events("run_finished")[0]["exit_code"]) == ("stopped", 6)


async def test_nothing_new_starts_and_what_does_not_finish_in_time_is_aborted(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 5)
    bench.config(server.url, {"name": "A", "concurrency": 2})
    server.hold.clear()
    server.faults = {"A 1": [Fault("hang")]}
    job = await bench.start("--no-stamps", "--drain", "0.5")
    await server.until(lambda: server.in_flight == 2)
    job.send_signal(signal.SIGINT)
    await read_until(job, "Stopping by SIGINT")
    server.hold.set()
    status, log = await bench.end(job)
    assert status == 6
    tail = "A has 1 of 5 done, 10 tokens; 1 requests in flight were aborted, the next run does them\n"
    assert log.endswith(f"Stopped by SIGINT: {tail}")
    assert len(server.asked) == 2
    assert (await bench.run())[0] == 0
    assert len(bench.rows("A")) == 5


async def test_a_second_signal_ends_at_once(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 5)
    bench.config(server.url, {"name": "A", "concurrency": 2})
    server.hold.clear()
    job = await bench.start("--drain", "600")
    await server.until(lambda: server.in_flight == 2)
    job.terminate()
    await read_until(job, "Stopping by SIGTERM")
    job.terminate()
    assert (await bench.end(job))[0] == 6


async def test_a_signal_is_heard_while_the_server_is_awaited(bench: Bench) -> None:
    bench.prompts("A", 2)
    bench.config("http://127.0.0.1:9", {"name": "A"})
    job = await bench.start("--no-stamps")
    await read_until(job, "Server gone")
    job.terminate()
    status, log = await bench.end(job)
    assert status == 6
    assert log.endswith("Stopped by SIGTERM: the server had not answered yet\n")


async def test_usr1_says_where_things_stand(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 9)
    bench.config(server.url, {"name": "A", "concurrency": 2})
    server.hold.clear()
    job = await bench.start("--no-stamps")
    await server.until(lambda: server.in_flight == 2)
    job.send_signal(signal.SIGUSR1)
    assert (await read_until(job, "Status: ")).endswith(f"server {server.url} is up")
    assert await read_until(job, "0/9") == "  0/9 (0 err) 0.0 req/s avg_comp=?tok tot=0.0M ETA=?"
    assert (await read_until(job, "in flight")).startswith(
        "  A: 2 in flight, 0 wait for another attempt, 7 not begun, "
    )


async def test_a_quiet_server_still_gets_progress_lines(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 9)
    bench.config(server.url, {"name": "A", "concurrency": 2})
    server.hold.clear()
    job = await bench.start("--no-stamps", "--progress-seconds", "0.5")
    assert await read_until(job, r"^  0/9") == "  0/9 (0 err) 0.0 req/s avg_comp=?tok tot=0.0M ETA=?"
    beat = bench.events("heartbeat")[0]
    assert (beat["dataset"], beat["done"], beat["errors"], beat["in_flight"], beat["tokens"]) == ("A", 0, 0, 2, 0)
