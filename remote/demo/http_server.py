"""A small HTTP/1.1 server over h11: keep-alive, whole bodies, and it notices when a client goes away."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

import h11

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable

MAX_BODY = 16_777_216
"""A longer request body is refused, bytes."""
_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Call:
    """A request, read whole.

    Attributes:
        method: ``GET``, ``POST``, ...
        path: The path without its query.
        body: The body.
        peer: The client's address, ``127.0.0.1:50000``.
    """

    method: str
    path: str
    body: bytes
    peer: str


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer.

    Attributes:
        status: HTTP status code.
        body: The body.
        content_type: Of the body.
    """

    status: int
    body: bytes = b""
    content_type: str = "application/json"

    @property
    def phrase(self) -> str:
        """The words for the status, ``OK`` for 200."""
        return HTTPStatus(self.status).phrase


class HttpServer:
    """Answers calls on one listening socket.

    Args:
        handler: Makes the answer; it is cancelled when its client goes away.
        on_answer: Told of each answer sent, for the access log.
    """

    def __init__(self, handler: Callable[[Call], Awaitable[Reply]], on_answer: Callable[[Call, Reply], None]) -> None:
        self._handler = handler
        self._on_answer = on_answer
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self, sock: socket.socket) -> None:
        """Listen on a bound socket."""
        self._server = await asyncio.start_server(self._connected, sock=sock, backlog=1024)

    async def close(self) -> None:
        """Listen no more and end all connections."""
        if self._server is not None:
            self._server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
        try:
            # Cancelled only by close(): the streams module would report a cancelled handler as an error.
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await self._converse(reader, writer)
        finally:
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        conn = h11.Connection(h11.SERVER)
        host, port = writer.get_extra_info("peername")[:2]
        try:
            while (call := await _next_call(conn, reader, f"{host}:{port}")) is not None:
                reply = await self._answer(call, conn, reader)
                if reply is None:
                    return
                self._on_answer(call, reply)
                await _send(conn, writer, reply)
                if conn.our_state is not h11.DONE or conn.their_state is not h11.DONE:
                    return
                conn.start_next_cycle()
        except h11.RemoteProtocolError as error:
            if conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
                await _send(
                    conn, writer, Reply(error.error_status_hint, b"Invalid HTTP request received.", "text/plain")
                )

    async def _answer(self, call: Call, conn: h11.Connection, reader: asyncio.StreamReader) -> Reply | None:
        """Run the handler while watching the connection; None when the client left first."""
        work = asyncio.ensure_future(self._handler(call))
        watch = asyncio.ensure_future(reader.read(_CHUNK))
        try:
            while True:
                await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
                if work.done():
                    return work.result()
                if not (early := watch.result()):
                    return None
                conn.receive_data(early)
                watch = asyncio.ensure_future(reader.read(_CHUNK))
        finally:
            await _settle(work, watch, conn)


async def _settle(work: asyncio.Future[Reply], watch: asyncio.Future[bytes], conn: h11.Connection) -> None:
    """End both tasks; bytes that came together with the answer belong to the next request."""
    for task in (work, watch):
        task.cancel()
    await asyncio.gather(work, watch, return_exceptions=True)
    if not watch.cancelled() and watch.exception() is None and watch.result():
        conn.receive_data(watch.result())


async def _next_call(conn: h11.Connection, reader: asyncio.StreamReader, peer: str) -> Call | None:
    """Read one request to its end; None when the client has no more."""
    head: h11.Request | None = None
    body = bytearray()
    while True:
        event = conn.next_event()
        if event is h11.NEED_DATA:
            conn.receive_data(await reader.read(_CHUNK))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > MAX_BODY:
                raise h11.RemoteProtocolError("The body is too long.", error_status_hint=413)
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            path = head.target.decode("latin-1").partition("?")[0]
            return Call(head.method.decode("ascii"), path, bytes(body), peer)
        else:
            return None


async def _send(conn: h11.Connection, writer: asyncio.StreamWriter, reply: Reply) -> None:
    headers = [
        ("content-type", reply.content_type),
        ("content-length", str(len(reply.body))),
        ("server", "uvicorn"),
    ]
    head = conn.send(h11.Response(status_code=reply.status, headers=headers, reason=reply.phrase.encode()))
    body = conn.send(h11.Data(data=reply.body)) if reply.body else b""
    writer.write((head or b"") + (body or b"") + (conn.send(h11.EndOfMessage()) or b""))
    await writer.drain()
