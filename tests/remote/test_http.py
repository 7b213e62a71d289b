"""HTTP over a dialer: real sockets on loopback, odd servers, sentences for failures."""

from __future__ import annotations

import asyncio

import pytest

from remote.errors import HttpUnavailable
from remote.local import LocalHost
from tests.waits import until
from tests.webserver import http, web_server

HOST = LocalHost()


async def test_an_answer_is_read_whole() -> None:
    async with web_server(http(b"metrics\xff")) as web:
        answer = await HOST.fetch(f"http://127.0.0.1:{web.port}/metrics?a=1", headers={"Accept": "text/plain"})
    assert (answer.status, answer.body, answer.headers["x-kind"]) == (200, b"metrics\xff", "test")
    assert answer.text == "metrics\ufffd"
    assert 0 < answer.latency_s < 5
    head = web.heads[0].lower()
    assert head.startswith(b"get /metrics?a=1 http/1.1\r\n")
    assert b"accept: text/plain" in head
    assert b"host: 127.0.0.1:%d\r\n" % web.port in head


async def test_any_status_is_an_answer_and_no_redirect_is_followed() -> None:
    async with web_server(http(b"busy", "503 Service Unavailable", "Location: http://example.invalid/\r\n")) as web:
        assert (await HOST.fetch(f"http://127.0.0.1:{web.port}/health")).status == 503


async def test_a_body_is_sent() -> None:
    async with web_server(http(b"{}")) as web:
        await HOST.fetch(f"http://127.0.0.1:{web.port}/generate", method="POST", body=b'{"text": "hi"}')
    assert web.bodies == [b'{"text": "hi"}']
    assert web.heads[0].startswith(b"POST ")


async def test_a_long_body_is_cut() -> None:
    async with web_server(http(b"x" * 100_000)) as web:
        assert len((await HOST.fetch(f"http://127.0.0.1:{web.port}/", max_bytes=1000)).body) == 1000


async def test_a_silent_server_is_given_up_and_the_query_is_not_told() -> None:
    async with web_server(None) as web:
        with pytest.raises(HttpUnavailable, match=r"no whole answer in 0\.2 s") as caught:
            await HOST.fetch(f"http://127.0.0.1:{web.port}/health?key=secret", timeout_s=0.2)
    assert "secret" not in str(caught.value)


async def test_nobody_listens() -> None:
    async with web_server(None) as web:
        port = web.port
    with pytest.raises(HttpUnavailable, match=f"Nothing listens on 127.0.0.1:{port} on local"):
        await HOST.fetch(f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-OpenSSH\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"]
)
async def test_what_is_no_http_is_told(answer: bytes) -> None:
    async with web_server(answer) as web:
        with pytest.raises(HttpUnavailable, match=r"no HTTP answer: .*[^.]\.$"):
            await HOST.fetch(f"http://127.0.0.1:{web.port}/")


@pytest.mark.parametrize("url", ["", "health", "ftp://127.0.0.1/", "http://127.0.0.1:port/", "http://[::1/", "http://"])
async def test_a_bad_url_is_told(url: str) -> None:
    with pytest.raises(HttpUnavailable):
        await HOST.fetch(url, timeout_s=5)


async def test_a_proxy_in_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    async with web_server(http(b"direct")) as web:
        assert (await HOST.fetch(f"http://127.0.0.1:{web.port}/")).body == b"direct"


async def test_cancelling_leaves_nothing_open() -> None:
    async with web_server(None) as web:
        asking = asyncio.create_task(HOST.fetch(f"http://127.0.0.1:{web.port}/"))
        await until(lambda: web.heads)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert asking.cancelled()
