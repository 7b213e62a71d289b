"""``longwait serve`` without a browser: what is started, what is said, and who is let in."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import psutil
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from click.testing import CliRunner

from console import serve as serving
from console import serve_web
from console.cli import cli
from console.screen_runs import demo_app
from console.serve import Served, address, in_browser
from console.serve_gate import Gate, is_loopback
from console.serve_web import Site
from remote.demo import DemoHost
from tests.console.test_cli import local_config
from tests.serving import local_run, served
from tests.waits import alive, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

KEY = "the-key"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - asked about, not bound

CONSOLE = """
import os, sys
def say(kind, data):
    os.write(1, kind + len(data).to_bytes(4, "big") + data)
os.write(1, b"__GANGLION__\\n")
say(b"D", b"pid %d" % os.getpid())
while head := sys.stdin.buffer.read(5):
    data = sys.stdin.buffer.read(int.from_bytes(head[1:], "big"))
    if head[:1] == b"D" or b"quit" not in data:
        say(b"D", b"got " + data)
    elif "--deaf" not in sys.argv:
        break
"""
"""A console as textual-serve knows one: it says what it is given, and ends when it is told to, or not."""


# ---------------------------------------------------------------- who is let in


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1", True),
        ("localhost", True),
        ("[::1]", True),
        ("127.8.0.1", True),
        ("gpu01", False),
        ("localhost.evil.example", False),
        ("10.0.0.5", False),
        (EVERYWHERE, False),
    ],
)
def test_which_addresses_are_this_machines_own(host: str, own: bool) -> None:
    assert is_loopback(host) is own


@pytest.mark.parametrize(
    ("host", "origin", "let_in"),
    [
        ("127.0.0.1:8000", "http://127.0.0.1:8000", True),
        ("localhost:9000", "http://localhost:9000", True),  # through ssh -L, whose port is another than ours
        ("localhost:9000", "https://localhost:9000", True),
        ("127.0.0.1:8000", "http://127.0.0.1:9000", False),
        ("127.0.0.1:8000", "https://evil.example", False),
        ("127.0.0.1:8000", "null", False),
        ("127.0.0.1:8000", None, False),
        ("evil.example:8000", "http://evil.example:8000", False),
        ("", None, False),
        ("127.0.0.1:8000\r\nX: y", "http://127.0.0.1:8000", False),
    ],
)
def test_a_websocket_is_opened_by_our_own_page_only(host: str, origin: str | None, let_in: bool) -> None:
    assert (Gate(KEY).stranger(host, origin, needs_origin=True) == "") is let_in


def test_on_another_address_any_name_may_stand_but_the_key_is_needed() -> None:
    gate = Gate(KEY, bound=EVERYWHERE)
    assert gate.stranger("gpu01.example:8000") == ""
    assert gate.knows(KEY)
    assert not gate.knows("the-kez")
    assert not gate.knows("")
    assert not gate.knows(None)


# ---------------------------------------------------------------- what is started and said


def test_a_console_is_started_read_only_and_without_a_secret(tmp_path: Path) -> None:
    config = tmp_path / "a folder" / "longwait.yaml"
    argv = Served(config).argv
    assert argv == (sys.executable, "-P", "-m", "console", "--config", str(config), "--read-only")
    assert "--read-only" not in Served(config, control=True).argv
    demo = Served(None, ("--speed", "20")).argv
    assert demo[-4:] == ("--read-only", "demo", "--speed", "20")


def test_what_control_and_other_machines_mean_is_said_plainly() -> None:
    plain = Served(None).told("http://127.0.0.1:1/?key=x")
    assert "http://127.0.0.1:1/?key=x" in plain
    assert "Read-only" in plain
    assert "Warning" not in plain
    acting = replace(Served(None), control=True, host=EVERYWHERE).told("http://127.0.0.1:1/?key=x")
    assert "can start, stop and restart the job" in acting
    assert "nothing is encrypted" in acting
    assert "ssh -L" in acting


@pytest.mark.parametrize(
    ("host", "told"),
    [
        ("127.0.0.1", "http://127.0.0.1:80/?key=k"),
        (EVERYWHERE, "http://127.0.0.1:80/?key=k"),
        ("::", "http://[::1]:80/?key=k"),
        ("::1", "http://[::1]:80/?key=k"),
        ("gpu01", "http://gpu01:80/?key=k"),
    ],
)
def test_the_address_is_one_that_can_be_opened(host: str, told: str) -> None:
    assert address(host, 80, "k") == told


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual_serve", None)
    monkeypatch.delitem(sys.modules, "console.serve_web", raising=False)
    done = CliRunner().invoke(cli, ["serve", "--demo"])
    assert done.exit_code == 2
    assert done.stderr == f"{serving.NOT_INSTALLED}\n"
    assert "pip install textual-serve" in done.stderr


def test_a_port_that_is_taken_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = CliRunner().invoke(cli, ["serve", "--demo", "--port", str(port)])
    assert done.exit_code == 1
    assert done.stderr.startswith(f"Nothing is served: 127.0.0.1:{port}: ")
    assert done.stderr.count("\n") == 1


def test_a_read_only_config_stays_so_whatever_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Served] = []
    monkeypatch.setattr(serving, "run_serve", lambda served, _title: seen.append(served))
    config = local_config(tmp_path, "read_only: true\n")
    for options in ([], ["--control"]):
        CliRunner().invoke(cli, ["--config", str(config), "serve", *options])
    CliRunner().invoke(cli, ["--read-only", "serve", "--demo", "--control"])
    CliRunner().invoke(cli, ["serve", "--demo", "--control"])
    assert [each.control for each in seen] == [False, False, False, True]


def test_a_fault_of_the_config_is_told_before_anything_is_served(tmp_path: Path) -> None:
    (tmp_path / "longwait.yaml").write_text("host: gpu01\nlgo: x\n", encoding="utf-8")
    done = CliRunner().invoke(cli, ["--config", str(tmp_path / "longwait.yaml"), "serve"])
    assert done.exit_code == 2
    assert "lgo" in done.stderr


def test_a_console_knows_that_its_screen_is_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    assert not in_browser()
    monkeypatch.setenv("TEXTUAL_DRIVER", "textual.drivers.web_driver:WebDriver")
    assert in_browser()


def test_the_demo_can_be_read_only() -> None:
    app = demo_app(DemoHost(), read_only=True)
    assert app._main.setup.read_only
    assert not app._main.situation.can_act


# ---------------------------------------------------------------- the server


@pytest.fixture
async def client(request: pytest.FixtureRequest) -> AsyncIterator[TestClient]:  # type: ignore[type-arg]  # aiohttp's own
    more = getattr(request, "param", ())
    site = Site((sys.executable, "-c", CONSOLE, *more), title="longwait <gpu01>", gate=Gate(KEY))
    async with TestClient(TestServer(site.app(), host="127.0.0.1")) as opened:
        yield opened


async def opened_socket(client: TestClient, **headers: str) -> aiohttp.ClientWebSocketResponse:  # type: ignore[type-arg]
    """Open the page, then its WebSocket."""
    await client.get("/", params={"key": KEY})
    own = f"http://127.0.0.1:{client.server.port}"
    return await client.ws_connect("/ws?width=80&height=24", headers={"Origin": own, **headers})


async def pid_of(socket_: aiohttp.ClientWebSocketResponse) -> int:
    """The console's process, by its own word."""
    return int((await socket_.receive_bytes(timeout=10)).split()[1])


async def test_nothing_is_given_without_the_key(client: TestClient) -> None:  # type: ignore[type-arg]
    for path in ("/", "/?key=another", "/ws", "/static/js/textual.js", "/download/x"):
        answer = await client.get(path)
        assert answer.status == 403, path
    page = await client.get("/", params={"key": KEY})
    assert page.status == 200
    text = await page.text()
    assert "longwait &lt;gpu01&gt;" in text
    assert KEY not in text
    cookie = page.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert (await client.get("/")).status == 200
    assert (await client.get("/static/js/textual.js")).status == 200


async def test_the_page_may_reach_nothing_but_this_server(client: TestClient) -> None:  # type: ignore[type-arg]
    page = await client.get("/", params={"key": KEY})
    text = await page.text()
    assert "https://" not in text
    assert "http://" not in text
    policy = page.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in policy
    assert page.headers["Referrer-Policy"] == "no-referrer"


async def test_a_strangers_page_opens_no_console(client: TestClient) -> None:  # type: ignore[type-arg]
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await opened_socket(client, Origin="https://evil.example")
    assert refused.value.status == 403
    answer = await client.get("/", params={"key": KEY}, headers={"Host": "evil.example"})
    assert answer.status == 403


async def test_keys_and_sizes_reach_the_console_and_nonsense_does_not(client: TestClient) -> None:  # type: ignore[type-arg]
    opened = await opened_socket(client)
    pid = await pid_of(opened)
    deep = "[" * 100_000
    for nonsense in (
        "no json",
        deep,
        "[]",
        '["stdin", 5]',
        '["resize", {"width": -1, "height": 5}]',
        '["unknown"]',
        "5",
    ):
        await opened.send_str(nonsense)
    await opened.send_json(["ping", 7])
    assert await opened.receive_json(timeout=10) == ["pong", 7]
    await opened.send_json(["stdin", "ä"])
    assert await opened.receive_bytes(timeout=10) == b"got \xc3\xa4"
    await opened.send_str('["stdin", "half: \\ud83d"]')
    assert await opened.receive_bytes(timeout=10) == b"got half: ?"
    await opened.send_json(["resize", {"width": 120, "height": 36}])
    assert b'"width": 120' in await opened.receive_bytes(timeout=10)
    await opened.send_json(["focus"])
    assert b"focus" in await opened.receive_bytes(timeout=10)
    await opened.close()
    await until(lambda: not alive(pid))


@pytest.mark.parametrize("client", [("--deaf",)], indirect=True)
async def test_a_console_that_does_not_end_is_killed(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[type-arg]
    monkeypatch.setattr(serve_web, "END_S", 0.3)
    opened = await opened_socket(client)
    pid = await pid_of(opened)
    await opened.close()
    await until(lambda: not alive(pid))


async def test_no_more_consoles_are_opened_than_there_may_be_however_many_ask_at_once(
    client: TestClient,  # type: ignore[type-arg]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prepare, together = web.WebSocketResponse.prepare, asyncio.Barrier(serve_web.MOST_CONSOLES)

    async def slow(response: web.WebSocketResponse, request: web.BaseRequest) -> object:
        await together.wait()
        return await prepare(response, request)

    monkeypatch.setattr(web.WebSocketResponse, "prepare", slow)
    async with asyncio.timeout(20):
        asked = await asyncio.gather(
            *(opened_socket(client) for _ in range(serve_web.MOST_CONSOLES + 3)), return_exceptions=True
        )
    opened = [each for each in asked if isinstance(each, aiohttp.ClientWebSocketResponse)]
    refused = [each.status for each in asked if isinstance(each, aiohttp.WSServerHandshakeError)]
    assert (len(opened), refused) == (serve_web.MOST_CONSOLES, [503] * 3)
    for each in opened:
        await each.close()


async def test_a_key_that_is_no_text_is_refused_like_any_other(client: TestClient) -> None:  # type: ignore[type-arg]
    own = f"127.0.0.1:{client.server.port}"
    name = (await client.get("/", params={"key": KEY})).headers["Set-Cookie"].partition("=")[0]
    reader, writer = await asyncio.open_connection("127.0.0.1", client.server.port)
    writer.write(f"GET / HTTP/1.1\r\nHost: {own}\r\nCookie: {name}=".encode() + b"\xff\xfe\r\n\r\n")
    assert b" 403 " in await reader.readline()
    writer.close()
    for key in ("\udcff", "\ud83d"):
        assert not Gate(KEY).knows(key)


async def test_the_end_of_the_server_is_the_end_of_all_consoles(client: TestClient) -> None:  # type: ignore[type-arg]
    opened = [await opened_socket(client) for _ in range(serve_web.MOST_CONSOLES)]
    pids = [await pid_of(each) for each in opened]
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await opened_socket(client)
    assert refused.value.status == 503
    await client.server.close()
    await until(lambda: not any(alive(pid) for pid in pids))


def test_a_file_of_the_same_name_where_it_was_started_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "console.py").write_text("raise SystemExit('a stranger')", encoding="utf-8")
    done = subprocess.run(
        [*Served(None).argv, "--version"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.startswith("longwait, version "), done.stderr


async def test_a_console_does_not_outlive_a_server_that_was_killed(tmp_path: Path) -> None:
    async with served(local_run(tmp_path)) as (opened_at, program):
        origin = opened_at.partition("/?")[0]
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            await (await session.get(opened_at)).read()
            page = await session.ws_connect(f"{origin}/ws?width=80&height=24", headers={"Origin": origin})
            seen = b""
            while b"longwait" not in seen:
                seen += await page.receive_bytes(timeout=20)
            console = psutil.Process(program.pid).children(recursive=True)
            assert len(console) == 1
            program.kill()
            await until(lambda: not alive(console[0].pid), 20)


def test_a_console_whose_server_ended_before_it_looked_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    monkeypatch.setenv(serving.SERVER_NAMED, str(gone.pid))
    monkeypatch.setattr(serving, "ENDS_IN_S", 3600.0)
    ended = threading.Event()
    serving.end_with_server(ended.set)
    assert ended.wait(10)


async def test_signals_end_it_in_order() -> None:
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "console", "serve", "--demo"),
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert program.stdout is not None
    assert b"http://127.0.0.1:" in await program.stdout.readline()
    program.terminate()
    _, faults = await program.communicate()
    assert (program.returncode, faults) == (0, b"")
