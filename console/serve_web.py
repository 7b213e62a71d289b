"""The web server behind ``longwait serve``: our page, textual-serve's terminal in it, a console for each page.

textual-serve has the terminal for the browser (xterm.js) and speaks with a Textual program over its pipes. The page and
the server are ours: its page loads a font from elsewhere, knows only the address that it was told at the start, and its
server asks nobody who he is.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import shlex
import signal
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import textual_serve
from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.server import Server

from console.serve import SERVER_NAMED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from console.serve_gate import Gate

logger = logging.getLogger(__name__)

MOST_CONSOLES = 4
"""Consoles at once: each has an SSH connection of its own, and a host allows few of a user's."""

END_S = 10.0
"""Seconds that a console has for closing its connections and saving its history before it is killed."""

HEARTBEAT_S = 15.0
"""Seconds between two questions whether the browser is still there: a console nobody sees is ended."""

FONT_SIZE = 16
"""Pixels."""

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end it."""

PAGE = Template(files("console").joinpath("serve_page.html").read_text(encoding="utf-8"))

_SIZES = range(1, 1000)
"""Columns and rows that a page may ask for."""


class Site:
    """The page, and the consoles that are open in it.

    Args:
        argv: The command of a console.
        title: What the page is called.
        gate: Who may use it.
    """

    def __init__(self, argv: Sequence[str], *, title: str, gate: Gate) -> None:
        # The shell that textual-serve starts makes way for the console: signals reach it, and nothing lies between.
        self._command = f"{SERVER_NAMED}={os.getpid()} exec {shlex.join(argv)}"
        self._title = title
        self._gate = gate
        self._files = Server(self._command)
        self._open: set[asyncio.Task[Any]] = set()
        self._ending: set[asyncio.Task[None]] = set()
        # A browser keeps cookies by host and not by port: each of several servers needs a name of its own.
        self._cookie = f"longwait-{sha256(gate.key.encode()).hexdigest()[:8]}"

    def app(self) -> web.Application:
        """Make the web application."""
        app = web.Application(middlewares=[self._admit])
        app.router.add_get("/", self._index)
        app.router.add_get("/ws", self._console)
        app.router.add_get("/download/{key}", self._files.handle_download)
        app.router.add_static("/static", Path(textual_serve.__file__).parent / "static")
        app.on_shutdown.append(self._end_all)
        return app

    @web.middleware
    async def _admit(self, request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
        """Answer those who have the key, and tell the others where it is."""
        opens = request.path == "/ws"
        why = self._gate.stranger(request.host, request.headers.get("Origin"), needs_origin=opens)
        if why:
            return web.Response(status=403, text=f"{why}\n")
        given = request.query.get("key") if request.path == "/" else None
        if not self._gate.knows(given) and not self._gate.knows(request.cookies.get(self._cookie)):
            return web.Response(
                status=403, text="Open the whole address that `longwait serve` has printed: it carries the key.\n"
            )
        response: web.StreamResponse = await handler(request)
        return response

    async def _index(self, request: web.Request) -> web.Response:
        """Give the page; it may load and reach nothing but this server."""
        nonce = secrets.token_urlsafe(16)
        text = PAGE.substitute(title=escape(self._title), nonce=nonce, font_size=FONT_SIZE)
        response = web.Response(text=text, content_type="text/html")
        response.headers.update(
            {
                "Content-Security-Policy": (
                    f"default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; "
                    f"font-src 'self'; img-src 'self' data:; connect-src 'self' ws://{request.host} "
                    f"wss://{request.host}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
                ),
                "Referrer-Policy": "no-referrer",
                "X-Content-Type-Options": "nosniff",
                "Cache-Control": "no-store",
            }
        )
        response.set_cookie(self._cookie, self._gate.key, httponly=True, samesite="Strict", path="/")
        return response

    async def _console(self, request: web.Request) -> web.StreamResponse:
        """Start a console, and pass keys to it and its screen to the page until either is closed."""
        if len(self._open) + len(self._ending) >= MOST_CONSOLES:
            raise web.HTTPServiceUnavailable(text=f"{MOST_CONSOLES} consoles are open already.\n")
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a request is answered by a task")
        self._open.add(task)  # before anything is waited for: of many that come at once no more may be let in
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT_S)

        async def close() -> None:
            await socket.close()

        console = AppService(
            self._command,
            write_bytes=socket.send_bytes,
            write_str=socket.send_str,
            close=close,
            download_manager=self._files.download_manager,
        )
        try:
            await socket.prepare(request)
            await console.start(_size(request, "width", 80), _size(request, "height", 24))
            await _pass_on(socket, console)
        except ConnectionResetError:
            logger.info("A page went away while its console was written to.")
        finally:
            self._open.discard(task)
            # A task of its own, since this one may be cancelled when the page is gone, which is when it matters.
            ending = asyncio.create_task(_end(console))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
            await asyncio.shield(ending)
            if socket.prepared:
                await socket.close()
        return socket

    async def _end_all(self, _: web.Application) -> None:
        """End all consoles at once, each in order."""
        waits = list(self._open)
        for task in waits:
            task.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
        await asyncio.gather(*self._ending, return_exceptions=True)


async def _pass_on(socket: web.WebSocketResponse, console: AppService) -> None:
    """Pass on what the page sends; what is not as our page would send it is left out."""
    async for message in socket:
        if message.type is not WSMsgType.TEXT:
            continue
        try:
            said = json.loads(message.data)
        except (ValueError, RecursionError):
            continue
        match said:
            case ["ping", answer]:
                await socket.send_json(["pong", answer])
            case ["stdin", str(keys)]:
                await console.send_bytes(keys.encode("utf-8", "replace"))  # a paste may hold half a character
            case ["resize", {"width": int(width), "height": int(height)}] if width in _SIZES and height in _SIZES:
                await console.set_terminal_size(width, height)
            case ["focus" | "blur" as turned, *_]:
                await (console.focus() if turned == "focus" else console.blur())
            case _:
                continue


async def _end(console: AppService) -> None:
    """Ask a console to close, wait until it has ended, and kill it when it does not."""
    process = console._process  # noqa: SLF001 - there is no other way to it
    if process is None:
        return
    # A task of its own: textual-serve swallows a cancellation, and with it what a time-out is made of.
    asked = asyncio.create_task(console.stop())
    ended = asyncio.create_task(process.wait())
    _, late = await asyncio.wait((asked, ended), timeout=END_S)
    if ended in late:
        logger.warning("A console did not end within %.0f s and was killed.", END_S)
        process.kill()
    await asyncio.gather(asked, ended, return_exceptions=True)


def _size(request: web.Request, name: str, usual: int) -> int:
    """How many columns or rows the page has."""
    given = request.query.get(name, "")
    size = int(given) if given.isascii() and given.isdigit() else 0
    return size if size in _SIZES else usual


async def serve(site: Site, *, host: str, port: int, told: Callable[[int], None]) -> None:
    """Serve until INT, TERM or HUP.

    Args:
        site: What.
        host: The address to listen on.
        port: The port; 0 takes a free one.
        told: Given the port, once it is listened on.

    Raises:
        OSError: The address can't be listened on.
    """
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    runner = web.AppRunner(site.app(), access_log=None, shutdown_timeout=END_S)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        for number in ENDINGS:
            loop.add_signal_handler(number, ended.set)
        told(int(runner.addresses[0][1]))
        await ended.wait()
    finally:
        # The signals stay ours until all consoles have ended: a second Ctrl+C must not leave some behind.
        await runner.cleanup()
        for number in ENDINGS:
            loop.remove_signal_handler(number)
