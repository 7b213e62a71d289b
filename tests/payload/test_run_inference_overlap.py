"""Two datasets at work at once: who fills which places, and how the log keeps them apart."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

from console.job.job_events import Completion, DatasetFinished, Progress
from console.job.progress_log import parse_progress
from console.job.runner_log import RunnerLog
from tests.payload.conftest import read_until
from tests.payload.mock_server import Fault
from tests.samples import NOW
from tests.waits import until

if TYPE_CHECKING:
    from tests.payload.conftest import Bench
    from tests.payload.mock_server import MockServer


def of(server: MockServer, name: str) -> list[str]:
    """The prompts of a dataset that were asked, in their order."""
    texts = (str(body["text"]) for _, body in server.asked)
    return [text for text in texts if text.startswith(f"{name} ")]


def two(bench: Bench, server: MockServer, **more: Any) -> None:
    """Six prompts of A, the last of them slow, and five of B; four in flight."""
    bench.prompts("A", 6)
    bench.prompts("B", 5)
    bench.config(server.url, {"name": "A", "concurrency": 4, **more}, {"name": "B", "concurrency": 4})
    server.slow = {"A 5": asyncio.Event()}


async def test_the_next_dataset_fills_the_places_that_the_tail_leaves(bench: Bench, server: MockServer) -> None:
    two(bench, server)
    job = await bench.start("--no-stamps", "--progress-every", "1")
    assert (await read_until(job, "Processing: B")).startswith("Processing: B (SHORT)")
    await read_until(job, r"^  5/5 \(0 err\)")
    await read_until(job, r"^  B: done 5 \(0 err\)")
    assert server.in_flight == 1
    server.slow["A 5"].set()
    assert re.match(r"  A: 6/6 \(0 err\) \d+\.\d req/s avg_comp=10tok tot=0\.0M ETA=0s$", await read_until(job, "6/6"))
    status, log = await bench.end(job)
    assert status == 0
    assert log.splitlines()[-2:] == [
        "  A: done 6 (0 err), 60 tokens in 0.00h",
        "All datasets done: 2 datasets, 110 tokens in 0.00h",
    ]
    assert server.most_in_flight <= 4
    assert [event["dataset"] for event in bench.events("dataset_finished")] == ["B", "A"]
    assert (len(bench.rows("A")), len(bench.rows("B"))) == (6, 5)


async def test_without_overlap_the_next_dataset_waits(bench: Bench, server: MockServer) -> None:
    two(bench, server)
    job = await bench.start("--no-stamps", "--no-overlap", "--progress-every", "1", "--progress-seconds", "0.2")
    await read_until(job, r"^  5/6 ")
    # A later line says so too: a second has passed in which B could have begun.
    await read_until(job, r"^  5/6 ")
    await read_until(job, r"^  5/6 ")
    assert of(server, "B") == []
    server.slow["A 5"].set()
    status, log = await bench.end(job)
    assert status == 0
    assert log.index("  A: done 6") < log.index("Processing: B")
    assert [event["dataset"] for event in bench.events("dataset_finished")] == ["A", "B"]


async def test_what_the_console_reads_of_it(bench: Bench, server: MockServer) -> None:
    two(bench, server)
    job = await bench.start("--progress-every", "1")
    before = [await read_until(job, r"B: done 5 ")]
    server.slow["A 5"].set()
    status, log = await bench.end(job)
    assert status == 0
    reader = RunnerLog(NOW.tzinfo)  # type: ignore[arg-type] # it has one
    told = [said.event for line in [*before, *log.splitlines()] for said in reader.parse(line, NOW)]
    assert [(event.name, event.done) for event in told if isinstance(event, Progress)] == [("A", 6)]
    assert [event.name for event in told if isinstance(event, DatasetFinished)] == ["B", "A"]
    lines = (bench.out / "progress.jsonl").read_text("utf-8").splitlines()
    events = [said.event for line in lines for said in parse_progress(line, NOW)]
    assert [event.name for event in events if isinstance(event, Completion)] == [*"AAAAA", *"BBBBB", "A"]


async def test_shares_add_up_when_datasets_have_different_concurrency(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 8)
    bench.prompts("B", 6)
    bench.config(server.url, {"name": "A", "concurrency": 8}, {"name": "B", "concurrency": 2, "kind": "long"})
    # Half of A stays in flight, so half of the server is left: one request of B.
    server.slow = {f"A {n}": asyncio.Event() for n in range(4)} | {f"B {n}": asyncio.Event() for n in range(6)}
    job = await bench.start()
    await server.until(lambda: of(server, "B") == ["B 0"])
    server.slow["B 0"].set()
    await server.until(lambda: of(server, "B") == ["B 0", "B 1"])
    assert server.in_flight == 5
    for n in range(4):
        server.slow[f"A {n}"].set()
    await server.until(lambda: of(server, "B") == ["B 0", "B 1", "B 2"])
    assert server.in_flight == 2
    for event in server.slow.values():
        event.set()
    assert (await bench.end(job))[0] == 0
    assert len(bench.rows("B")) == 6


async def test_a_retry_of_the_former_dataset_goes_first(bench: Bench, server: MockServer) -> None:
    two(bench, server)
    server.faults = {"A 5": [Fault("status", 500)]}
    server.slow = {f"B {n}": asyncio.Event() for n in range(5)}
    job = await bench.start()
    # B holds all places before A's last prompt has failed, and gets none back before that was sent again.
    await server.until(lambda: len(of(server, "B")) >= 3)
    for n in range(3):
        server.slow[f"B {n}"].set()
    await server.until(lambda: of(server, "A").count("A 5") == 2)
    for event in server.slow.values():
        event.set()
    assert (await bench.end(job))[0] == 0
    assert len(bench.rows("A")) == 6


async def test_a_budget_without_room_lets_the_next_dataset_begin(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 50)
    bench.prompts("B", 3)
    bench.config(server.url, {"name": "A", "concurrency": 4, "max_tokens": 20, "token_budget": 100}, {"name": "B"})
    # Nine completions leave room for one more of ten tokens; before it has ended, B is done.
    server.slow = {"A 9": asyncio.Event()}
    job = await bench.start("--no-stamps")
    await read_until(job, r"^  B: done 3 \(0 err\)")
    await server.until(lambda: len(of(server, "A")) == 10)
    server.slow["A 9"].set()
    status, log = await bench.end(job)
    assert status == 0
    assert "  A: done 10 (0 err), 100 tokens in 0.00h, budget reached\n" in log


async def test_a_dataset_that_needs_nothing_is_skipped_beside_one_at_work(bench: Bench, server: MockServer) -> None:
    two(bench, server)
    bench.prompts("B", 0)
    bench.prompts("C", 3)
    bench.config(server.url, {"name": "A", "concurrency": 4}, {"name": "B"}, {"name": "C", "concurrency": 4})
    job = await bench.start("--no-stamps")
    await read_until(job, r"^  B: all 0 prompts done, skipping")
    await read_until(job, r"^  C: done 3 ")
    server.slow["A 5"].set()
    assert (await bench.end(job))[0] == 0


async def test_a_next_dataset_that_cannot_be_read_waits_for_the_tail(bench: Bench, server: MockServer) -> None:
    two(bench, server)
    (bench.folder / "B.jsonl").write_bytes(b"\x1f\x8b broken")
    job = await bench.start("--no-stamps", "--progress-every", "1", "--progress-seconds", "0.2")
    await read_until(job, r"^  5/6 ")
    await read_until(job, r"^  5/6 ")
    server.slow["A 5"].set()
    status, log = await bench.end(job)
    assert status == 2
    assert "  A: done 6 (0 err), 60 tokens" in log
    assert re.search(r"ERROR: B: the prompts file .*B\.jsonl can't be read \(", log)


async def test_term_with_two_at_work_speaks_of_both(bench: Bench, server: MockServer) -> None:
    two(bench, server)
    server.slow |= {f"B {n}": asyncio.Event() for n in range(5)}
    job = await bench.start("--no-stamps", "--drain", "600")
    await server.until(lambda: server.in_flight == 4 and len(of(server, "B")) == 3)
    job.terminate()
    await read_until(job, r"Stopping by SIGTERM: 4 requests in flight have 600 s to finish")
    server.slow["B 0"].set()
    await until(lambda: len(bench.rows("B")) == 1)  # answered is not yet received
    job.terminate()
    status, log = await bench.end(job)
    assert status == 6
    a = "A has 5 of 6 done, 50 tokens; 1 requests in flight were aborted, the next run does them"
    b = "B has 1 of 5 done, 10 tokens; 2 requests in flight were aborted, the next run does them"
    assert log.endswith(f"Stopped by SIGTERM: {a}; {b}\n")
    assert len(of(server, "B")) == 3
    server.slow = {}
    assert (await bench.run())[0] == 0
    assert (len(bench.rows("A")), len(bench.rows("B"))) == (6, 5)
