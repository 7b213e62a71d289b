"""What the demo's tests share: an in-process simulated server, bounded waits."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx
import pytest

from remote.demo.http_server import HttpServer
from remote.demo.scenarios import Trouble
from remote.demo.server_log import ServerLog
from remote.demo.serving import Phase, Serving
from remote.demo.sglang_api import SglangApi
from remote.demo.startup import ServerArgs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

WAIT_S = 15.0
"""Seconds after which a condition that never comes true fails the test."""


async def until(condition: Callable[[], object], what: str) -> None:
    """Wait until a condition holds, looking often."""
    try:
        async with asyncio.timeout(WAIT_S):
            while not condition():  # noqa: ASYNC110 - what is waited for has no event
                await asyncio.sleep(0.02)
    except TimeoutError:
        pytest.fail(f"never came true: {what}")


@dataclass
class Running:
    """A simulated server in this process."""

    serving: Serving
    client: httpx.AsyncClient
    log: Path
    port: int

    def lines(self, word: str) -> list[str]:
        return [line for line in self.log.read_text(encoding="utf-8").splitlines() if word in line]


Serve = Callable[..., AbstractAsyncContextManager[Running]]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Starts a server at a speed at which a test needs no patience."""

    @contextlib.asynccontextmanager
    async def start(scenario: str = "kv-limited", speed: float = 400.0, after_s: float = 0.0) -> AsyncIterator[Running]:
        path = tmp_path / "server.log"
        with socket.socket() as sock, contextlib.closing(ServerLog(path, speed=speed)) as log:
            sock.bind(("127.0.0.1", 0))
            port = sock.getsockname()[1]
            serving = Serving(ServerArgs(port, speed, 140_000, 40), log, Trouble(scenario, after_s))
            http = HttpServer(SglangApi(serving, log.say), log.access)
            await http.start(sock)
            ticking = asyncio.create_task(serving.run())
            serving.phase = Phase.UP
            try:
                async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=WAIT_S) as client:
                    yield Running(serving, client, path, port)
            finally:
                ticking.cancel()
                await http.close()

    return start
