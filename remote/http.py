"""HTTP through any byte stream: an SSH channel, so that 127.0.0.1 is the host's, or a plain socket.

The only file that imports httpx. Its transport runs on ``remote.http_stream``, so no listening port is needed, and
neither proxies nor cookies of this machine can creep in.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import TYPE_CHECKING, Any

import httpcore
import httpx

from remote.errors import HttpUnavailable
from remote.host import Answer
from remote.http_stream import Backend
from remote.outcome import without_stop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from remote.http_stream import Dial

_FAILURES = (
    *(httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol),
    *(httpx.HTTPError, httpx.InvalidURL),
    *(ssl.SSLError, OSError, ValueError),
)
_NO_LIMIT = httpx.Timeout(None)
_REQUEST_STARTED = "http11.send_request_headers.started"


class HttpClient:
    """Asks URLs through a dialer; one stream per request, closed after it.

    Args:
        host: The host's name, for messages.
        dial: Opens a byte stream to (name, port) as seen from that host.
    """

    def __init__(self, host: str, dial: Dial) -> None:
        self._host = host
        self._dial = dial

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_s: float = 10.0,
        max_bytes: int = 8_388_608,
    ) -> Answer:
        """Ask a URL; the answer's body is cut after ``max_bytes``. See ``remote.host.Host.fetch``."""
        where = url
        try:
            target = httpx.URL(url)
            where = _place(target)
            async with asyncio.timeout(timeout_s):
                return await self._ask(target, method, headers or {}, body, max_bytes)
        except TimeoutError as error:
            message = f"{where} on {self._host} gave no whole answer in {timeout_s:g} s."
            raise HttpUnavailable(message, host=self._host) from error
        except _FAILURES as error:
            message = (
                f"{where} on {self._host} gave no HTTP answer: {without_stop(str(error)) or type(error).__name__}."
            )
            raise HttpUnavailable(message, host=self._host) from error

    async def _ask(
        self, url: httpx.URL, method: str, headers: Mapping[str, str], body: bytes | None, max_bytes: int
    ) -> Answer:
        started = time.monotonic()

        async def trace(event: str, _info: Mapping[str, Any]) -> None:
            nonlocal started
            if event == _REQUEST_STARTED:
                started = time.monotonic()

        async with (
            # The time limit is the caller's, over the whole request; httpx's own are per step.
            httpx.AsyncClient(transport=_Transport(self._dial), trust_env=False, timeout=_NO_LIMIT) as client,
            client.stream(method, url, headers=dict(headers), content=body, extensions={"trace": trace}) as response,
        ):
            got = bytearray()
            async for part in response.aiter_bytes():
                got += part
                if len(got) >= max_bytes:
                    break
            return Answer(
                response.status_code, bytes(got[:max_bytes]), time.monotonic() - started, dict(response.headers)
            )


class _Transport(httpx.AsyncBaseTransport):
    """Carries httpx's requests over the dialer's streams, one stream a request."""

    def __init__(self, dial: Dial) -> None:
        self._pool = httpcore.AsyncConnectionPool(network_backend=Backend(dial), max_keepalive_connections=0)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = httpcore.URL(
            scheme=request.url.raw_scheme, host=request.url.raw_host, port=request.url.port, target=request.url.raw_path
        )
        answer = await self._pool.handle_async_request(
            httpcore.Request(
                request.method, url, headers=request.headers.raw, content=request.stream, extensions=request.extensions
            )
        )
        return httpx.Response(
            answer.status, headers=answer.headers, stream=_Body(answer), extensions=dict(answer.extensions)
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    """An answer's body as it comes."""

    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._answer.aiter_stream():
            yield part

    async def aclose(self) -> None:
        await self._answer.aclose()


def _place(url: httpx.URL) -> str:
    """A URL without what may be secret: no user, no query."""
    port = f":{url.port}" if url.port else ""
    return f"{url.scheme}://{url.host}{port}{url.path}"
