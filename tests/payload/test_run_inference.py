"""The job end to end against a mock server: what it asks, what it writes, what it says."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tests.payload.conftest import read_rows
from tests.payload.mock_server import Fault, MockServer

if TYPE_CHECKING:
    from tests.payload.conftest import Bench


async def test_log_has_the_shapes_of_a_real_run(bench: Bench, server: MockServer) -> None:
    bench.prompts("B3_magicoder", 100)
    bench.config(server.url, {"name": "B3_magicoder", "concurrency": 7, "token_budget": 100_000})
    status, log = await bench.run("--no-stamps")
    assert status == 0
    lines = log.splitlines()
    assert re.fullmatch(r"Run started: pid \d+, 1 datasets, server http://127.0.0.1:\d+", lines[0])
    assert lines[1:8] == [
        "=" * 60,
        "Processing: B3_magicoder (SHORT)",
        "=" * 60,
        "Loading and tokenizing prompts for B3_magicoder...",
        "  B3_magicoder: 100 prompts tokenized",
        "  Running 100 requests (concurrency=7, max_tokens=10240, token_budget=100,000)...",
        "  Existing tokens: 0, remaining budget: 100,000",
    ]
    assert re.fullmatch(r"  50/100 \(0 err\) \d+\.\d req/s avg_comp=10tok tot=0\.0M ETA=\d+s", lines[8])
    assert re.fullmatch(r"  100/100 \(0 err\) \d+\.\d req/s avg_comp=10tok tot=0\.0M ETA=0s", lines[9])
    assert lines[10] == "  B3_magicoder: done 100 (0 err), 1,000 tokens in 0.00h"
    assert lines[11] == "All datasets done: 1 datasets, 1,000 tokens in 0.00h"
    assert len(lines) == 12


async def test_every_prompt_has_one_result(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 60)
    bench.prompts("B", 9)
    bench.config(server.url, {"name": "A", "concurrency": 16}, {"name": "B", "kind": "long"})
    assert (await bench.run())[0] == 0
    assert sorted(row["id"] for row in bench.rows("A")) == sorted(f"p{n}" for n in range(60))
    assert sorted(row["id"] for row in bench.rows("B")) == sorted(f"p{n}" for n in range(9))
    row = next(row for row in bench.rows("A") if row["id"] == "p7")
    assert row["text"] == "answer to A 7"
    assert row["output_ids"] == list(range(10))
    assert (row["finish_reason"], row["prompt_tokens"], row["completion_tokens"]) == ("stop", 3, 10)
    assert row["server"] == server.url
    assert row["attempt"] == 1


async def test_the_server_is_kept_full_and_never_overfull(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 40)
    bench.config(server.url, {"name": "A", "concurrency": 16})
    server.hold.clear()
    job = await bench.start()
    await server.until(lambda: server.in_flight == 16)
    server.hold.set()
    assert (await bench.end(job))[0] == 0
    assert server.most_in_flight == 16
    assert len(server.asked) == 40


async def test_progress_jsonl_tells_the_whole_story(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 3)
    bench.config(server.url, {"name": "A", "concurrency": 2, "max_tokens": 64, "token_budget": 5000})
    assert (await bench.run(env={"TZ": "Asia/Kathmandu"}))[0] == 0
    rows = read_rows(bench.out / "progress.jsonl")
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", row["t"]) for row in rows)
    kinds = ["run_started", "dataset_started", *["completion"] * 3, "dataset_finished", "run_finished"]
    assert [row["event"] for row in rows] == kinds
    started = rows[0]
    assert (started["zone"], started["utc_offset_s"], started["version"]) == ("Asia/Kathmandu", 20700, 2)
    assert started["datasets"] == ["A"]
    assert {key: rows[1][key] for key in rows[1] if key not in {"t", "event"}} == {
        "dataset": "A", "kind": "short", "total": 3, "todo": 3, "done": 0, "tokens": 0,
        "concurrency": 2, "max_tokens": 64, "budget": 5000,
    }  # fmt: skip
    keys = {"t", "event", "dataset", "id", "prompt_tokens", "completion_tokens", "finish_reason", "seconds", "attempt"}
    assert set(rows[2]) == keys
    finished = rows[-2]
    assert (finished["done"], finished["errors"], finished["tokens"], finished["reason"]) == (3, 0, 30, "all_done")
    assert (rows[-1]["reason"], rows[-1]["exit_code"]) == ("done", 0)


async def test_each_line_is_stamped_in_the_hosts_time(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 1)
    bench.config(server.url, {"name": "A"})
    _, log = await bench.run(env={"TZ": "Asia/Kathmandu"})
    lines = log.splitlines()
    assert all(re.match(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] ", line) for line in lines)
    assert lines[0].endswith("] Time zone: Asia/Kathmandu (UTC+05:45)")
    assert sum("Time zone" in line for line in lines) == 1


async def test_sglang_is_always_told_how_many_tokens(bench: Bench, server: MockServer) -> None:
    bench.lines("A", '{"id": "ids", "input_ids": [5, 6]}', '{"id": "text", "prompt": "hello"}')
    sampling = {"temperature": 0.5, "min_tokens": 2}
    bench.config(server.url, {"name": "A", "sampling": sampling}, defaults={"max_tokens": 77, "concurrency": 1})
    assert (await bench.run())[0] == 0
    expected = {"temperature": 0.5, "min_new_tokens": 2, "max_new_tokens": 77}
    assert server.asked == [
        ("/generate", {"input_ids": [5, 6], "sampling_params": expected}),
        ("/generate", {"text": "hello", "sampling_params": expected}),
    ]


async def test_conversations_and_system_prompts_go_to_the_chat_endpoint(bench: Bench, server: MockServer) -> None:
    conversation = [{"role": "user", "content": "hello"}]
    bench.lines("A", json.dumps({"id": "m", "messages": conversation}), '{"id": "t", "prompt": "ciao"}')
    bench.config(server.url, {"name": "A", "system_prompt": "Be brief.", "concurrency": 1})
    assert (await bench.run())[0] == 0
    assert [path for path, _ in server.asked] == ["/v1/chat/completions"] * 2
    system = {"role": "system", "content": "Be brief."}
    assert server.asked[0][1]["messages"] == [system, *conversation]
    assert server.asked[1][1]["messages"] == [system, {"role": "user", "content": "ciao"}]
    assert bench.rows("A")[0]["reasoning"] == "hm"


async def test_openai_endpoints_when_the_server_is_no_sglang(bench: Bench) -> None:
    async with MockServer(sglang=False) as server:
        bench.lines("A", '{"id": "ids", "input_ids": [5, 6]}', '{"id": "text", "prompt": "hello"}')
        bench.config(server.url + "/v1/", {"name": "A", "max_tokens": 7, "concurrency": 1})
        status, _ = await bench.run(env={"INFERENCE_API_KEY": "not-a-real-key"})
    assert status == 0
    assert [path for path, _ in server.asked] == ["/v1/completions"] * 2
    body = server.asked[0][1]
    assert (body["prompt"], body["max_tokens"], body["model"]) == ([5, 6], 7, "small-model")
    assert body["return_token_ids"] is True
    assert bench.rows("A")[0]["output_ids"] == list(range(7))
    assert bench.rows("A")[0]["finish_reason"] == "length"
    assert server.headers["authorization"] == "Bearer not-a-real-key"


async def test_bad_lines_and_doubles_are_said_and_the_rest_is_done(bench: Bench, server: MockServer) -> None:
    good = json.dumps({"id": 7, "prompt": "one"})
    bench.lines("A", good, "{broken", "", '{"id": "x"}', good, '{"prompt": "\\ud800 lone"}')
    bench.config(server.url, {"name": "A", "concurrency": 1})
    status, log = await bench.run("--no-stamps")
    assert status == 7
    assert log.endswith(", 2 lines rejected (see rejected.jsonl)\n")
    assert "  A: 2 prompts tokenized" in log
    assert "  WARNING: A: 2 lines rejected, see rejected.jsonl; the first is line 2: it is no JSON" in log
    assert "  A: 1 lines repeat an id, each is done once" in log
    rejected = bench.rows("A", "rejected.jsonl")
    assert [row["line"] for row in rejected] == [2, 4]
    assert rejected[1]["file"] == str(bench.folder / "A.jsonl")
    assert "has none" in rejected[1]["reason"]
    ids = [row["id"] for row in bench.rows("A")]
    assert ids[0] == "7"
    assert re.fullmatch(r"[0-9a-f]{16}", ids[1])


async def test_config_faults_come_together(bench: Bench) -> None:
    bench.prompts("A", 1)
    sampling = {"max_tokens": 5}
    first = {"name": "A", "concurency": 3, "max_tokens": 0, "sampling": sampling, "kind": "short"}
    bench.config("ftp://host", first, {"name": "../x", "kind": "huge"}, {"name": "a"}, servr="x")
    status, log = await bench.run("--only", "B", "--max-attempts", "0", "--drain", "nan")
    assert status == 2
    for part in (
        "The config: unknown key 'servr'; did you mean 'server'?",
        "server: 'ftp://host' is no http:// or https:// URL.",
        "datasets[0] (A): unknown key 'concurency'; did you mean 'concurrency'?",
        "datasets[0] (A).max_tokens must be a whole number of at least 1, not 0.",
        "datasets[0] (A).sampling.max_tokens can't be set there",
        "datasets[1] (../x).name must be letters",
        "datasets[1] (../x).kind must be 'short' or 'long', not \"huge\".",
        "datasets[2] (a).prompts: the file",
        "the name 'A' is used twice",
        "--only: unknown key 'B'",
        "--max-attempts must be at least 1.",
        "--drain must be a number of seconds",
    ):
        assert part in log
    assert "Traceback" not in log
    assert not bench.out.exists()


async def test_a_key_that_stands_twice_is_a_fault(bench: Bench) -> None:
    (bench.folder / "job.json").write_text('{"out": "a", "out": "b", "datasets": []}')
    status, log = await bench.run()
    assert status == 2
    assert log.endswith("can't be understood: the key 'out' stands there twice.\n")


async def test_yaml_with_a_limit_and_only_one_dataset(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 9)
    bench.prompts("B", 9)
    rows = "".join(f"  - {{name: {name}, prompts: {name}.jsonl, limit: 4}}\n" for name in "AB")
    (bench.folder / "job.yaml").write_text(f"server: {server.url}\nout: out\ndatasets:\n{rows}")
    status, log = await bench.run("--config", str(bench.folder / "job.yaml"), "--only", "B")
    assert status == 0
    assert "B: 4 prompts tokenized" in log
    assert {body["text"] for _, body in server.asked} == {f"B {n}" for n in range(4)}


async def test_dry_run_and_status_change_nothing(bench: Bench, server: MockServer) -> None:
    bench.prompts("A", 4)
    bench.config(server.url, {"name": "A", "token_budget": 1000})
    status, log = await bench.run("--dry-run")
    assert status == 0
    text = (
        "  Would run 4 requests (concurrency=150, max_tokens=10240), 0 already done, remaining budget: 1,000 tokens\n"
    )
    assert text in log
    status, log = await bench.run("--status")
    assert (status, log) == (0, "A: 0/4 done, 0 tokens (budget 1,000), 0 errors, mean ? tokens\n")
    assert not bench.out.exists()
    assert server.asked == []
    server.faults = {"A 3": [Fault("status", 400)]}
    assert (await bench.run())[0] == 7
    status, log = await bench.run("--status")
    assert (status, log) == (0, "A: 3/4 done, 30 tokens (budget 1,000), 1 errors, mean 10 tokens\n")
