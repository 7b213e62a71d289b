"""All signs of life: what each says, that they are kept, and that the server is not made to work too often."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from console import ping_asks as ask
from console.config import JobSettings, ServerSettings, Settings
from console.feed_probes import ServerProbe
from console.job.events import HealthProbe, ProcessFact
from console.journal import Journal
from console.ping_asks import Sign
from console.pings import ORDER, Ping, Pinger, PingHistory, history_of, in_order, strip
from console.screens.main import MainScreen
from console.screens.pings import PingScreen, sign_words
from console.session import open_session
from remote.errors import HttpUnavailable, LinkLost
from remote.local import LocalHost
from tests import samples
from tests.console.fakes_ui import FakeFeed, asked, make_app, screen_text, until
from tests.fakes import FakeHost

if TYPE_CHECKING:
    from pathlib import Path

URL = "http://127.0.0.1:30000"


async def no_time(seconds: float) -> None:
    assert seconds == ask.BETWEEN_S
    await asyncio.sleep(0)


async def up() -> FakeHost:
    host = FakeHost()
    await host.connect()
    return host


# -- each sign


async def test_a_port_that_listens_and_one_that_does_not() -> None:
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    number = server.sockets[0].getsockname()[1]
    found = await ask.port(LocalHost(), sys.executable, f"http://127.0.0.1:{number}")
    assert (found.state, found.detail) == ("ok", f"{number} accepts connections")
    assert found.latency_s is not None
    server.close()
    await server.wait_closed()
    gone = await ask.port(LocalHost(), sys.executable, f"http://127.0.0.1:{number}")
    assert (gone.state, "refused" in gone.detail) == ("failed", True)


async def test_logs_that_move_rest_and_are_missing(tmp_path: Path) -> None:
    moving, resting = tmp_path / "a b'$(x).log", tmp_path / "old.log"
    moving.write_text("x")
    resting.write_text("x")
    os.utime(resting, (1, 1))

    async def grow(_seconds: float) -> None:
        with moving.open("a") as file:
            file.write("yyyy")
        await asyncio.sleep(0)

    files = {"server's log": str(moving), "job's log": str(resting), "third": str(tmp_path / "none")}
    first, second, third = await ask.logs(LocalHost(), sys.executable, files, grow)
    assert (first.state, first.detail) == ("ok", "4 bytes in 2 s")
    assert (second.state, "last written" in second.detail) == ("failed", True)
    assert second.age_s is not None
    assert second.age_s > 1e9
    assert (third.state, third.detail) == ("failed", "No such file or directory")


def page(tokens: int, running: int = 50) -> bytes:
    return (
        f"# TYPE sglang:num_running_reqs gauge\nsglang:num_running_reqs {running}\n"
        f"# TYPE sglang:num_queue_reqs gauge\nsglang:num_queue_reqs 98\n"
        f"# TYPE sglang:generation_tokens_total counter\nsglang:generation_tokens_total {tokens}\n"
    ).encode()


@pytest.mark.parametrize(
    ("first", "second", "state", "words"),
    [
        (page(1_000), page(2_700), "ok", "1,700 tokens in 2 s; 50 running, 98 queued"),
        (page(1_000), page(1_000), "failed", "0 tokens in 2 s"),
        (page(1_000, 0), page(1_000, 0), "ok", "0 running"),
        (b"nothing known", b"nothing known", "unknown", "no series that is known"),
    ],
)
async def test_counters_that_move(first: bytes, second: bytes, state: str, words: str) -> None:
    host = await up()
    for body in (first, second):
        host.expect_fetch(f"{URL}/metrics", body=body)
    found = await ask.counters(ServerProbe(host, ServerSettings()), no_time)
    assert (found.state, words in found.detail, found.vital) == (state, True, False)
    host.assert_done()


async def test_no_metrics_page_is_no_fault() -> None:
    host = await up()
    for path in ("/metrics", "/prometheus/metrics"):
        host.expect_fetch(f"{URL}{path}", status=404)
    found = await ask.counters(ServerProbe(host, ServerSettings()), no_time)
    assert (found.state, found.vital) == ("unknown", False)


async def test_one_token_of_sglang() -> None:
    host = await up()
    host.expect_fetch(f"{URL}/health_generate", latency_s=1.2)
    found = await ask.answer(host, ServerSettings())
    assert found == Sign("answer", "ok", 1.2, detail="one token was made")
    host.assert_done()


async def test_one_token_of_a_server_that_knows_no_health_generate() -> None:
    host = await up()
    host.expect_fetch(f"{URL}/health_generate", status=404)
    host.expect_fetch(f"{URL}/v1/models", body=json.dumps({"data": [{"id": "qwen"}]}).encode())
    host.expect_fetch(f"{URL}/v1/completions", method="POST", status=500)
    found = await ask.answer(host, ServerSettings())
    assert (found.state, found.detail) == ("failed", "/v1/completions answered 500")
    host.assert_done()


async def test_vllm_is_not_asked_for_sglangs_path() -> None:
    host = await up()
    host.expect_fetch(f"{URL}/v1/models", body=b"[]")
    found = await ask.answer(host, ServerSettings(engine="vllm"))
    assert (found.state, "names no model" in found.detail) == ("unknown", True)
    host.assert_done()


async def test_no_answer_at_all() -> None:
    host = await up()
    host.expect_fetch(f"{URL}/health_generate", error=HttpUnavailable("The server did not answer within 60 s."))
    found = await ask.answer(host, ServerSettings())
    assert (found.state, found.latency_s) == ("failed", None)


GPU = "NVIDIA H100 80GB HBM3"
REST = "70000, 81559, 61, 640.12, 700.00, Disabled"


@pytest.mark.parametrize(
    ("text", "state", "words"),
    [
        (f"0, {GPU}, 97, {REST}\n1, {GPU}, 0, {REST}\n", "ok", "1 of 2 GPUs busy, 48 % on average"),
        (f"0, {GPU}, 0, {REST}\n", "failed", "0 of 1 GPU busy"),
        (f"0, {GPU}, [N/A], {REST}\n", "unknown", "tells of no GPU"),
        ("", "unknown", "tells of no GPU"),
    ],
)
async def test_busy_gpus(text: str, state: str, words: str) -> None:
    host = await up()
    host.expect_run(list(ask.GPUS), stdout=text.encode())
    found = await ask.gpus(host)
    assert (found.state, words in found.detail, found.vital) == (state, True, False)


async def test_a_host_without_nvidia_smi_is_not_judged() -> None:
    host = await up()
    host.expect_run(list(ask.GPUS), status=127)
    assert (await ask.gpus(host)).state == "unknown"


async def test_a_lost_link_is_a_sign_too() -> None:
    host = await up()
    host.lose_link("The cable was cut.")
    assert (await ask.timed(lambda: ask.round_trip(host), "command")).detail == "The cable was cut."


async def test_the_jobs_process() -> None:
    async def alive() -> ProcessFact:
        return ProcessFact(alive=True, pid=7)

    async def gone() -> ProcessFact:
        raise LinkLost("The link is gone.")

    assert (await ask.timed(lambda: ask.process(alive), "job")).detail == "pid 7 runs"
    assert (await ask.timed(lambda: ask.process(gone), "job")).state == "failed"


# -- kept


def ping(seconds: float, *signs: Sign) -> Ping:
    return Ping(samples.NOW + timedelta(seconds=seconds), "me@desk", signs)


def test_checks_are_kept_and_survive_a_half_line(tmp_path: Path) -> None:
    history = PingHistory(tmp_path / "pings.jsonl")
    first = ping(0, Sign("health", "ok", 1.0), Sign("job", "failed", detail="gone"))
    history.add(first)
    with (tmp_path / "pings.jsonl").open("ab") as file:
        file.write(b'{"at": "2026-')
    second = ping(60, Sign("health", "failed"), Sign("port", "unknown", vital=False))
    history.add(second)
    assert history.pings() == (first, second)
    assert [first.well, second.well] == [False, False]
    assert strip(history.pings(), "health", 10) == "+x"
    assert strip(history.pings(), "job", 10) == "x."
    assert strip(history.pings(), "health", 1) == "x"


def test_the_file_is_bounded(tmp_path: Path) -> None:
    history = PingHistory(tmp_path / "pings.jsonl")
    for number in range(400):
        history.add(ping(number, Sign("health", "ok", detail="x" * 2_000)))
    assert (tmp_path / "pings.jsonl").stat().st_size < 2 * 262_144 + 4_000
    assert history.pings()[-1].at == samples.NOW + timedelta(seconds=399)


def test_a_history_that_can_not_be_kept_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    history = PingHistory(tmp_path / "file" / "pings.jsonl")
    history.add(ping(0, Sign("health", "ok")))
    assert history.pings() == ()


def test_a_token_is_asked_for_once_a_minute(tmp_path: Path) -> None:
    history = PingHistory(tmp_path / "p")
    assert history.answer_wait_s(samples.NOW) == 0.0
    history.add(ping(0, Sign("answer", "failed")))
    history.add(ping(10, Sign("answer", "unknown")))
    assert history.answer_wait_s(samples.NOW + timedelta(seconds=45)) == 15.0
    assert history.answer_wait_s(samples.NOW + timedelta(seconds=60)) == 0.0


def test_signs_are_shown_in_one_order() -> None:
    signs = [Sign(name, "ok") for name in ("other", *reversed(ORDER))]
    assert [sign.name for sign in in_order(signs)] == [*ORDER, "other"]


# -- all at once


def settings_of(folder: Path) -> Settings:
    (folder / "job.log").write_text("x\n")
    job = JobSettings(log=str(folder / "job.log"), dir=str(folder), match="nothing of the kind", python=sys.executable)
    return Settings(host="local", server=ServerSettings(url="http://127.0.0.1:9", metrics=False), job=job)


async def test_all_signs_come_and_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "BETWEEN_S", 0.01)
    journal = Journal(tmp_path / "x.journal.jsonl", host="local", clock=lambda: samples.NOW)
    session = open_session(settings_of(tmp_path), journal=journal)

    async def health() -> HealthProbe:
        return HealthProbe("/health", ok=True, status=200, latency_s=0.5)

    pinger = Pinger(session, history_of(session), lambda: samples.NOW, health)
    assert (await pinger.connect()).state == "ok"
    found = {sign.name: sign.state async for sign in pinger.signs(answer=True)}
    gpu = found.pop("GPU")
    assert gpu in {"ok", "failed", "unknown"}
    assert found == {
        "command": "ok",
        "port": "failed",
        "health": "ok",
        "answer": "failed",
        "job's log": "ok",
        "job": "failed",
    }
    (kept,) = history_of(session).pings()
    assert {sign.name for sign in kept.signs} == {*found, "GPU"}
    again = {sign.name: sign async for sign in pinger.signs(answer=True)}
    assert again["answer"].detail == "not asked: at most once in 60 s, again in 60 s"
    assert (tmp_path / "x.pings.jsonl").exists()
    await session.host.close()


# -- on the screen


class FakePinger:
    """Gives two signs, the second when the test lets it."""

    def __init__(self, history: PingHistory) -> None:
        self.history = history
        self.gate = asyncio.Event()
        self.asked: list[bool] = []

    async def signs(self, *, answer: bool) -> object:
        self.asked.append(answer)
        yield Sign("health", "ok", 1.02, detail="/health answered 200")
        await self.gate.wait()
        yield Sign("job's log", "failed", 0.1, 240.0, "last written 4 min ago", vital=False)
        self.history.add(ping(0, Sign("health", "ok"), Sign("job's log", "failed")))


async def test_the_signs_fill_the_screen_with_their_past(tmp_path: Path) -> None:
    history = PingHistory(tmp_path / "p")
    history.add(ping(-60, Sign("health", "failed"), Sign("job's log", "ok")))
    pinger = FakePinger(history)
    app = make_app(FakeFeed(), None, pinger=lambda: pinger)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("h")
        await until(pilot, lambda: isinstance(app.screen, PingScreen), "the list")
        await until(pilot, lambda: "✓ health" in screen_text(app), "the first sign")
        assert "1.0 s; /health answered 200" in screen_text(app)
        assert "▸ job's log" in screen_text(app)
        pinger.gate.set()
        await until(pilot, lambda: "✗ job's log" in screen_text(app), "the second sign")
        await until(pilot, lambda: "health         x+" in screen_text(app), "the strip")
        await pilot.press("t")
        await asked(pilot)
        await pilot.press("escape")
        assert pinger.asked == [False]
        await pilot.press("t")
        await asked(pilot)
        await pilot.press("y")
        await until(pilot, lambda: pinger.asked == [False, True], "the question for a token")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, MainScreen), "the main screen")


def test_what_a_sign_says_on_one_line() -> None:
    assert sign_words(Sign("a", "ok", 0.038, 240.0, "x\x1b[2J")) == "38 ms; 4 min old; x"
    assert sign_words(Sign("a", "unknown")) == ""
