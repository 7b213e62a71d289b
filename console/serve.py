"""``longwait serve``: the console in a browser, for this machine only and read-only unless it is asked otherwise."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from console.serve_gate import LOOPBACK, Gate, is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

USAGE = 2

DRIVER_NAMED = "TEXTUAL_DRIVER"
"""The variable by which a console learns that its screen is a page: there is no terminal then."""

SERVER_NAMED = "LONGWAIT_SERVER"
"""The variable by which it learns whose page that is: the server's process."""

NOT_INSTALLED = (
    "The console in a browser needs textual-serve (the extra `web`): `pipx inject longwait textual-serve`, or "
    "`pip install textual-serve` into longwait's own environment."
)

LOOK_S = 1.0
"""Seconds between two looks at whether the server is still there."""

ENDS_IN_S = 10.0
"""Seconds that a console without a server has for ending in order."""

KEY_BYTES = 24
"""Random bytes of the address's key: nobody guesses 192 bits."""


@dataclass(frozen=True, slots=True)
class Served:
    """What is served, and to whom.

    Attributes:
        config: The config file; None for the demo.
        demo: Words of the demo's options; None for a config's run.
        host: The address to listen on.
        port: The port; 0 takes a free one.
        control: The job may be started, stopped and restarted from the page.
    """

    config: Path | None
    demo: tuple[str, ...] | None = None
    host: str = LOOPBACK
    port: int = 0
    control: bool = False

    @property
    def argv(self) -> tuple[str, ...]:
        """The command of one console; there is no secret in it, for anybody can list processes."""
        # -P: a file console.py in the folder where this was started is not ours.
        mine = [sys.executable, "-P", "-m", "console"]
        if self.config is not None:
            mine += ["--config", str(self.config.absolute())]
        if not self.control:
            mine.append("--read-only")
        return (*mine, *(() if self.demo is None else ("demo", *self.demo)))

    def told(self, address: str) -> str:
        """What is printed once it is served: where, what may be done there, and what is to be known of it."""
        words = [f"The console is at  {address}", "Ctrl+C ends it, and every console that is open in a page."]
        if self.control:
            words.append(
                "--control: who has this address can start, stop and restart the job, with what your config allows."
            )
        else:
            words.append("Read-only: nothing on the host can be changed from the page (--control allows it).")
        if not is_loopback(self.host):
            words.append(
                "Warning: other machines can reach it, and nothing is encrypted on the way: whoever reads the line has "
                "the key. Safer: serve on this machine only, and come with `ssh -L PORT:127.0.0.1:PORT`."
            )
        return "\n".join(words)


def in_browser() -> bool:
    """Whether this console's screen is a page in a browser."""
    return os.environ.get(DRIVER_NAMED, "").endswith(":WebDriver")


def end_with_server(end: Callable[[], object]) -> None:
    """See that a console in a browser does not outlive its server, however that ends.

    Textual's driver for pages takes the end of its input for silence. A thread looks, since a write to a page that is
    gone may keep the program's loop from ever looking. One that ended before this was called is gone, too.

    Args:
        end: Ends the console in order; called in another thread.
    """
    server = int(os.environ.get(SERVER_NAMED) or os.getppid())

    def look() -> None:
        while os.getppid() == server:
            time.sleep(LOOK_S)
        with suppress(RuntimeError):  # its loop has ended already
            end()
        time.sleep(ENDS_IN_S)
        os._exit(1)

    threading.Thread(target=look, name="end-with-server", daemon=True).start()


def address(host: str, port: int, key: str) -> str:
    """Give the address to open.

    Args:
        host: The address that is listened on; one that stands for all of the machine's is written as loopback.
        port: Where.
        key: The secret.
    """
    bare = host.strip("[]")
    named = {"0.0.0.0": LOOPBACK, "::": "::1", "": LOOPBACK}.get(bare, bare)  # noqa: S104 - read, not bound
    return f"http://{f'[{named}]' if ':' in named else named}:{port}/?key={key}"


def run_serve(served: Served, title: str) -> int:
    """Serve until interrupted; the exit code.

    Args:
        served: What, and to whom.
        title: What the page is called.
    """
    try:
        from console.serve_web import Site, serve  # noqa: PLC0415 - the extra may not be installed
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"aiohttp", "aiohttp_jinja2", "jinja2", "textual_serve"}:
            raise
        click.echo(NOT_INSTALLED, err=True)
        return USAGE
    key = secrets.token_urlsafe(KEY_BYTES)
    site = Site(served.argv, title=title, gate=Gate(key, served.host))

    def told(port: int) -> None:
        click.echo(served.told(address(served.host, port, key)))

    try:
        asyncio.run(serve(site, host=served.host.strip("[]"), port=served.port, told=told))
    except OSError as error:
        click.echo(f"Nothing is served: {served.host}:{served.port}: {error.strerror or error}.", err=True)
        return 1
    return 0
