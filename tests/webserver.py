"""A small HTTP server on loopback whose answers are given byte for byte."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator


@dataclass
class WebServer:
    """What it was asked, and where it is; ``answer`` None never answers."""

    answer: bytes | None
    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one request."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head)
            length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            self.bodies.append(await reader.readexactly(int(length[0].split(b":")[1])) if length else b"")
            if self.answer is None:
                await reader.read()
            else:
                writer.write(self.answer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def http(body: bytes, status: str = "200 OK", extra: str = "") -> bytes:
    """A whole answer."""
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nX-Kind: test\r\n{extra}\r\n".encode() + body


@asynccontextmanager
async def web_server(answer: bytes | None, tls: ssl.SSLContext | None = None) -> AsyncIterator[WebServer]:
    """Run one until the context is left."""
    web = WebServer(answer)
    server = await asyncio.start_server(web.serve, "127.0.0.1", 0, ssl=tls)
    web.port = server.sockets[0].getsockname()[1]
    try:
        yield web
    finally:
        server.close()
        await server.wait_closed()
