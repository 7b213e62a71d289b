"""A real Chromium, headless, over the DevTools protocol: one page, what it asks for, what comes over its WebSocket.

The protocol is a WebSocket with JSON in it, and aiohttp is there already: no driver program, and nothing that could
want to download one.
"""

from __future__ import annotations

import asyncio
import base64
import re
import shutil
import subprocess
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import aiohttp

from console.quiet_cells import Cells
from tests.waits import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

FLAGS = (
    "--headless=new",
    "--no-sandbox",  # as root, as in CI, there is none
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-proxy-server",
    # Whatever it may want of the world: it does not find it.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--window-size=1200,760",
    "--remote-debugging-port=0",
)

BINARY = 2
"""The opcode of a WebSocket's frames that carry the screen."""


@dataclass
class Page:
    """One page.

    Attributes:
        asked: Addresses that the page asked for, in order.
        screen: What its terminal shows; None before its WebSocket is open.
        faults: What the page's console said of errors, and what was kept from loading.
    """

    socket: aiohttp.ClientWebSocketResponse
    asked: list[str] = field(default_factory=list)
    screen: Cells | None = None
    faults: list[str] = field(default_factory=list)
    _answers: dict[int, asyncio.Future[Any]] = field(default_factory=dict)
    _count: int = 0

    async def call(self, method: str, **given: object) -> dict[str, Any]:
        """Ask the browser for something, and wait for its answer."""
        self._count += 1
        answer = self._answers[self._count] = asyncio.get_running_loop().create_future()
        await self.socket.send_json({"id": self._count, "method": method, "params": given})
        async with asyncio.timeout(15):
            told: dict[str, Any] = await answer
        return told

    async def evaluate(self, script: str) -> object:
        """Give the value of an expression in the page; one that is promised is waited for."""
        told = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    async def press(self, key: str, code: str = "") -> None:
        """Press a key: a character, or one with a name."""
        typed = {"text": key} if len(key) == 1 else {}
        number = {"Escape": 27}.get(key, ord(key.upper()) if len(key) == 1 else 0)
        for kind in ("keyDown", "keyUp"):
            given = typed if kind == "keyDown" else {}
            await self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=code or key, windowsVirtualKeyCode=number, **given
            )

    async def click(self, x: int, y: int) -> None:
        """Click into the page."""
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def picture(self) -> bytes:
        """Take a picture of what is really drawn, PNG."""
        return base64.b64decode((await self.call("Page.captureScreenshot"))["data"])

    @property
    def text(self) -> str:
        """What stands on the terminal."""
        rows = self.screen.rows if self.screen is not None else []
        return "\n".join("".join(" " if cell is None else cell[0] for cell in row) for row in rows)

    async def see(self, pattern: str, seconds: float = 30.0) -> None:
        """Wait until something stands on the terminal."""
        try:
            await until(lambda: re.search(pattern, self.text), seconds)
        except TimeoutError:
            raise AssertionError(f"never came: {pattern}\n{self.text}\n{self.faults}") from None

    async def listen(self) -> None:
        """Take in what the browser tells, until it ends."""
        async for message in self.socket:
            told = message.json()
            if (number := told.get("id")) is not None:
                answer = self._answers.pop(number)
                if not answer.done():
                    answer.set_result(told.get("result", {}))
            else:
                self._hear(told["method"], told["params"])

    def _hear(self, method: str, told: dict[str, Any]) -> None:
        match method:
            case "Network.requestWillBeSent":
                self.asked.append(told["request"]["url"])
            case "Network.webSocketCreated":
                self.asked.append(told["url"])
                size = dict(re.findall(r"(width|height)=(\d+)", told["url"]))
                self.screen = Cells(int(size["width"]), int(size["height"]))
            case "Network.webSocketFrameReceived" if told["response"]["opcode"] == BINARY and self.screen:
                self.screen.feed(base64.b64decode(told["response"]["payloadData"]).decode())
            case "Network.loadingFailed" | "Runtime.exceptionThrown":
                self.faults.append(str(told))
            case "Log.entryAdded" if told["entry"]["level"] == "error":
                self.faults.append(str(told["entry"]))
            case _:
                return


@asynccontextmanager
async def page(folder: Path) -> AsyncIterator[Page]:
    """Start Chromium with an empty profile in ``folder``, and end it."""
    assert PROGRAM is not None
    program = subprocess.Popen(
        [PROGRAM, *FLAGS, f"--user-data-dir={folder}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        told = folder / "DevToolsActivePort"
        await until(lambda: told.exists() and told.read_text(encoding="utf-8").count("\n"), 30)
        port = int(told.read_text(encoding="utf-8").split()[0])
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                pages = [each for each in await answer.json() if each["type"] == "page"]
            async with session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                opened = Page(socket)
                listening = asyncio.create_task(opened.listen())
                for domain in ("Network", "Page", "Runtime", "Log"):
                    await opened.call(f"{domain}.enable")
                try:
                    yield opened
                finally:
                    listening.cancel()
                    await asyncio.gather(listening, return_exceptions=True)
    finally:
        program.terminate()
        program.wait(10)
