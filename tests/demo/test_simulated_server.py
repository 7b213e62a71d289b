"""The simulated server over HTTP, in this process."""

from __future__ import annotations

import asyncio
import json
import re

import h11
import httpx
from prometheus_client.parser import text_string_to_metric_families

from remote.demo.serving import Phase
from remote.demo.startup import CONTEXT
from tests.demo.conftest import Serve, until

IDS = list(range(1, 60))


def ask(max_new: int = 20, **more: object) -> dict[str, object]:
    return {"input_ids": IDS, "sampling_params": {"max_new_tokens": max_new}, **more}


async def test_generate_gives_sglangs_shape(serve: Serve) -> None:
    async with serve() as server:
        answer = await server.client.post("/generate", json=ask(rid="mine"))
    body = answer.json()
    assert answer.status_code == 200
    assert set(body) == {"text", "output_ids", "meta_info"}
    meta = body["meta_info"]
    assert len(body["output_ids"]) == meta["completion_tokens"] == 20
    assert meta["finish_reason"] == {"type": "length", "length": 20}
    assert (meta["id"], meta["prompt_tokens"]) == ("mine", len(IDS))
    assert meta["e2e_latency"] > 0


async def test_an_answer_that_ends_by_itself_ends_with_the_matched_id(serve: Serve) -> None:
    async with serve() as server:
        body = (await server.client.post("/generate", json=ask(10_240))).json()
        again = (await server.client.post("/generate", json=ask(10_240))).json()
    reason = body["meta_info"]["finish_reason"]
    assert reason["type"] == "stop"
    assert body["output_ids"][-1] == reason["matched"]
    assert body["output_ids"] == again["output_ids"], "the same prompt has the same answer"


async def test_openai_completions(serve: Serve) -> None:
    asked = {"prompt": IDS, "max_tokens": 7, "return_token_ids": True, "ignore_eos": True}
    async with serve() as server:
        body = (await server.client.post("/v1/completions", json=asked)).json()
        plain = (await server.client.post("/v1/completions", json={"prompt": "Two and two?"})).json()
    choice = body["choices"][0]
    assert (body["object"], choice["finish_reason"], len(choice["token_ids"])) == ("text_completion", "length", 7)
    assert choice["prompt_token_ids"] == IDS
    assert body["usage"]["total_tokens"] == len(IDS) + 7
    assert plain["usage"]["completion_tokens"] == 16
    assert "token_ids" not in plain["choices"][0]


async def test_openai_chat(serve: Serve) -> None:
    asked = {"messages": [{"role": "user", "content": "Two and two?"}], "max_tokens": 9}
    async with serve() as server:
        body = (await server.client.post("/v1/chat/completions", json=asked)).json()
    message = body["choices"][0]["message"]
    assert (body["object"], message["role"]) == ("chat.completion", "assistant")
    assert len(message["content"].split()) == body["usage"]["completion_tokens"] == 9


async def test_bad_requests_are_told_why(serve: Serve) -> None:
    bad: list[tuple[str, bytes]] = [
        ("/generate", b"{"),
        ("/generate", b"[]"),
        ("/generate", json.dumps({"sampling_params": {}}).encode()),
        ("/generate", json.dumps(ask(0)).encode()),
        ("/generate", json.dumps(ask(stream=True)).encode()),
        ("/generate", json.dumps({"input_ids": [[1], [2]]}).encode()),
        ("/generate", json.dumps({"input_ids": [1], "sampling_params": [{}]}).encode()),
        ("/generate", json.dumps({"input_ids": [1] * CONTEXT}).encode()),
        ("/v1/chat/completions", b'{"messages": []}'),
        ("/v1/completions", b'{"prompt": [true]}'),
    ]
    async with serve() as server:
        for path, body in bad:
            answer = await server.client.post(path, content=body)
            assert answer.status_code == 400, body[:60]
            told = answer.json()
            assert told["message"] if path.startswith("/v1/") else told["error"]["message"]
        assert (await server.client.get("/nothing")).status_code == 404
        assert (await server.client.get("/generate")).status_code == 405
        assert "context length" in (await server.client.post("/generate", content=bad[7][1])).text


async def test_health_follows_the_servers_life(serve: Serve) -> None:
    async with serve() as server:
        assert (await server.client.get("/health")).status_code == 200
        server.serving.phase = Phase.STARTING
        assert (await server.client.get("/health_generate")).status_code == 503
        server.serving.phase = Phase.DRAINING
        assert (await server.client.get("/health")).status_code == 503
        assert (await server.client.post("/generate", json=ask())).status_code == 503
        assert server.lines("Health check request received during shutdown. Returning 503.")


async def test_metrics_are_prometheus_text_with_sglangs_names(serve: Serve) -> None:
    async with serve() as server:
        await server.client.post("/generate", json=ask(41, ignore_eos=True))
        page = await server.client.get("/metrics")
    samples = {
        (s.name, s.labels.get("mode")): s.value for f in text_string_to_metric_families(page.text) for s in f.samples
    }
    assert samples["sglang:realtime_tokens_total", "decode"] == 40
    assert samples["sglang:realtime_tokens_total", "prefill_compute"] == len(IDS)
    assert samples["sglang:generation_tokens_total", None] == 41
    assert samples["sglang:prompt_tokens_total", None] == len(IDS)
    assert samples["sglang:num_requests_total", None] == 1
    assert samples["sglang:num_running_reqs", None] == 0
    assert samples["sglang:max_total_num_tokens", None] == 140_000
    assert page.headers["content-type"].startswith("text/plain")


async def test_metrics_and_log_agree_under_load(serve: Serve) -> None:
    async with serve(speed=40.0) as server:
        load = [asyncio.create_task(server.client.post("/generate", json=ask(4000, rid=f"r{i}"))) for i in range(20)]
        await until(lambda: server.lines("Decode batch"), "a decode report")
        page = (await server.client.get("/metrics")).text
        rate = next(float(v) for v in re.findall(r"sglang:gen_throughput\{.*\} (.*)", page))
        assert any(f"gen throughput (token/s): {rate:.2f}," in line for line in server.lines("Decode batch"))
        for task in load:
            task.cancel()
        await asyncio.gather(*load, return_exceptions=True)
        await until(lambda: not server.serving.in_flight, "aborted requests leave")


async def test_information_routes(serve: Serve) -> None:
    async with serve() as server:
        info = (await server.client.get("/server_info")).json()
        old = (await server.client.get("/get_server_info")).json()
        model = (await server.client.get("/model_info")).json()
        models = (await server.client.get("/v1/models")).json()
        (load,) = (await server.client.get("/get_load")).json()
        assert server.lines("Endpoint '/get_server_info' is deprecated")
    assert info["simulated"] is old["simulated"] is True
    assert info["max_total_num_tokens"] == 140_000
    assert info["internal_states"][0]["last_gen_throughput"] == 0.0
    assert models["data"][0]["id"] == model["model_path"]
    assert "simulated" in model["note"]
    assert load == {"dp_rank": 0, "num_reqs": 0, "num_waiting_reqs": 0, "num_tokens": 0}


async def test_a_client_that_leaves_aborts_its_request(serve: Serve) -> None:
    async with serve(speed=1.0) as server:
        asking = asyncio.create_task(server.client.post("/generate", json=ask(4000, rid="left")))
        await until(lambda: server.serving.engine.running, "the request runs")
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await until(lambda: not server.serving.engine.running, "the request is gone")
        assert server.serving.in_flight == ()
        assert server.lines("disconnected from the client side")
        assert server.serving.counters.aborted == 1


async def test_an_abort_is_answered_with_200_and_its_reason(serve: Serve) -> None:
    async with serve(speed=1.0) as server:
        asking = asyncio.create_task(server.client.post("/generate", json=ask(4000, rid="left-1")))
        await until(lambda: server.serving.engine.running, "the request runs")
        duplicate = await server.client.post("/generate", json=ask(rid="left-1"))
        assert (await server.client.post("/abort_request", json={"rid": "left"})).status_code == 200
        answer = await asking
    assert duplicate.status_code == 400
    assert answer.status_code == 200
    assert answer.json()["meta_info"]["finish_reason"]["type"] == "abort"


async def test_a_hung_server_keeps_its_port_and_says_nothing(serve: Serve) -> None:
    async with serve("server-hang") as server:
        asking = asyncio.create_task(server.client.post("/generate", json=ask()))
        await until(lambda: server.serving.in_flight, "the request is in")
        before = (await server.client.get("/metrics")).text
        answer = await server.client.get("/health")
        assert answer.status_code == 503
        assert answer.elapsed.total_seconds() > 1.0
        assert (await server.client.get("/metrics")).text == before
        assert (await server.client.get("/v1/models")).status_code == 200
        with_limit = httpx.Timeout(0.3)
        try:
            await server.client.get("/server_info", timeout=with_limit)
        except httpx.ReadTimeout:
            pass
        else:
            raise AssertionError("a hung scheduler answers nothing")
        assert not server.lines("Decode batch")
        assert server.lines("Health check failed. Server couldn't get a response from detokenizer")
        await server.serving.drain()
        assert server.lines("Force exiting")
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


async def test_an_error_storm_fails_most_requests(serve: Serve) -> None:
    async with serve("error-storm") as server:
        answers = [await server.client.post("/generate", json=ask()) for _ in range(20)]
    codes = [answer.status_code for answer in answers]
    assert codes.count(500) == 14
    assert codes.count(200) == 6
    assert next(a for a in answers if a.status_code == 500).json()["error"]["message"]


async def test_first_checkpoint_makes_all_answers_long(serve: Serve) -> None:
    async with serve("first-checkpoint", speed=2000.0) as server:
        body = (await server.client.post("/generate", json=ask(10_240))).json()
    assert body["meta_info"]["completion_tokens"] > 2000


async def test_the_drain_waits_for_what_is_in_flight(serve: Serve) -> None:
    async with serve() as server:
        asking = asyncio.create_task(server.client.post("/generate", json=ask(2000, ignore_eos=True)))
        await until(lambda: server.serving.in_flight, "the request is in")
        await server.serving.drain()
        assert (await asking).status_code == 200
        assert server.lines("Draining requests and shutting down")
        assert server.lines("Gracefully exiting... Remaining number of requests 1.")


async def test_connections_are_kept_and_pipelined(serve: Serve) -> None:
    conn = h11.Connection(h11.CLIENT)
    one = b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n"
    async with serve() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        health = b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n"
        writer.write(health + one)
        await writer.drain()
        conn.send(h11.Request(method="GET", target="/health", headers=[("host", "x")]))
        conn.send(h11.EndOfMessage())
        statuses: list[int] = []
        while len(statuses) < 2:
            event = conn.next_event()
            if event is h11.NEED_DATA:
                conn.receive_data(await reader.read(65_536))
            elif isinstance(event, h11.Response):
                statuses.append(event.status_code)
            elif isinstance(event, h11.EndOfMessage) and len(statuses) < 2:
                conn.start_next_cycle()
                conn.send(h11.Request(method="GET", target="/v1/models", headers=[("host", "x")]))
                conn.send(h11.EndOfMessage())
        writer.close()
        await writer.wait_closed()
    assert statuses == [200, 200]


async def test_rubbish_gets_400_and_the_server_lives(serve: Serve) -> None:
    async with serve() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"\x16\x03\x01 rubbish\r\n\r\n")
        await writer.drain()
        assert (await reader.read(1000)).startswith(b"HTTP/1.1 400")
        writer.close()
        await writer.wait_closed()
        assert (await server.client.get("/health")).status_code == 200
