"""Byte streams as httpcore's network back end: what HTTP runs over when the connection is somebody else's.

httpcore is the transport under httpx; its network back end is a public interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import anyio
import httpcore
from anyio.abc import ByteStream
from anyio.streams.tls import TLSStream

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Iterable


class Reader(Protocol):
    """What is read from; asyncio's and asyncssh's streams both are."""

    async def read(self, n: int = -1, /) -> bytes:
        """At most ``n`` bytes; none at the end."""
        ...


class Writer(Protocol):
    """What is written to; asyncio's and asyncssh's streams both are."""

    def write(self, data: bytes, /) -> None:
        """Queue bytes."""
        ...

    async def drain(self) -> None:
        """Wait until there is room for more."""
        ...

    def close(self) -> None:
        """End the stream."""
        ...


class Dial(Protocol):
    """Opens a stream to a name and port as seen from the host; raises ``RemoteError`` when it can't."""

    def __call__(self, name: str, port: int, /) -> Awaitable[tuple[Reader, Writer]]:
        """The stream's two halves."""
        ...


class _Pipe(ByteStream):
    """A reader and a writer as the stream that anyio's TLS runs over."""

    def __init__(self, reader: Reader, writer: Writer) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        data = await self._reader.read(max_bytes)
        if not data:
            raise anyio.EndOfStream
        return data

    async def send(self, item: bytes) -> None:
        self._writer.write(item)
        await self._writer.drain()

    async def send_eof(self) -> None:
        """HTTP/1.1 says where a request ends; nothing to do."""

    async def aclose(self) -> None:
        self._writer.close()


class _Stream(httpcore.AsyncNetworkStream):
    """A byte stream as httpcore wants it; the time limit is the caller's, over the whole request."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109  (httpcore's)
        del timeout
        try:
            return await self._stream.receive(max_bytes)
        except anyio.EndOfStream:
            return b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109  (httpcore's)
        del timeout
        if buffer:
            await self._stream.send(buffer)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's)
    ) -> httpcore.AsyncNetworkStream:
        del timeout
        tls = await TLSStream.wrap(
            self._stream, ssl_context=ssl_context, hostname=server_hostname, standard_compatible=False
        )
        return _Stream(tls)


class Backend(httpcore.AsyncNetworkBackend):
    """Opens httpcore's streams through the dialer."""

    def __init__(self, dial: Dial) -> None:
        self._dial = dial

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's)
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Dial; what is about local sockets does not apply."""
        del timeout, local_address, socket_options
        return _Stream(_Pipe(*await self._dial(host, port)))
