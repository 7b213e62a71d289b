"""The simulated SGLang server as a process of its own.

``python -m remote.demo.simserver --port P --log FILE --speed N --scenario NAME --startup-s S``

It listens on 127.0.0.1 only, prints ``ready`` on its stdout once it serves, and ends on SIGTERM or SIGINT (draining
first) or when the process that started it is gone.

At ``--speed N`` it is N times as fast in wall time: throughputs are tokens per wall second, so a watcher finds all of
it consistent. Decode reports then come every ``40 x ceil(N / 2.5)`` steps, about one a second, rather than every 40;
``server_args`` shows it as ``decode_log_interval``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import os
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from remote.demo.batching import REPORT_EVERY
from remote.demo.http_server import HttpServer
from remote.demo.processes import MARK, sweep
from remote.demo.scenarios import SCENARIOS, TROUBLE_AFTER_S, Trouble
from remote.demo.server_log import ServerLog
from remote.demo.serving import Phase, Serving
from remote.demo.sglang_api import SglangApi
from remote.demo.startup import ServerArgs, load_model

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

STARTUP_S = 6.0
"""Wall seconds from the process's start to the ready server."""
_HTTP_SHARE = 0.1
_SPEED_PER_REPORT = 2.5
_PARENT_LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says.

    Attributes:
        sock: Bound to 127.0.0.1, not listening yet.
        log: The log file.
        speed: How much faster than a real server.
        trouble: The scenario.
        startup_s: Wall seconds until it is ready.
        parent: The process without which it ends; None for none.
    """

    sock: socket.socket
    log: Path
    speed: float
    trouble: Trouble
    startup_s: float
    parent: int | None


async def serve(settings: Settings) -> bool:
    """Start, serve and end the server; whether it ended because its parent is gone."""
    port: int = settings.sock.getsockname()[1]
    every = REPORT_EVERY * math.ceil(settings.speed / _SPEED_PER_REPORT)
    args = ServerArgs(port, settings.speed, settings.trouble.pool_tokens, every)
    log = ServerLog(settings.log, speed=settings.speed)
    with contextlib.closing(log), settings.sock:
        async with asyncio.TaskGroup() as tasks:
            main = tasks.create_task(_live(settings, args, log))
            watch = tasks.create_task(_watch_parent(settings.parent, main))
            main.add_done_callback(lambda _: watch.cancel())
    return main.cancelled()


async def _live(settings: Settings, args: ServerArgs, log: ServerLog) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if not await _unless(stop, load_model(log, args, settings.startup_s)):
        log.say("SIGTERM received. signum=15 frame=None. It came while the server was starting: exiting.")
        return
    serving = Serving(args, log, settings.trouble)
    http = HttpServer(SglangApi(serving, log.say), log.access)
    await http.start(settings.sock)
    ticking = asyncio.create_task(serving.run())
    try:
        await _come_up(serving, log, args, settings.startup_s * _HTTP_SHARE)
        await stop.wait()
        await serving.drain()
    finally:
        ticking.cancel()
        await http.close()
    for line in ("Shutting down", "Waiting for application shutdown.", "Application shutdown complete."):
        log.say(f"INFO:     {line}")
    log.say(f"INFO:     Finished server process [{os.getpid()}]")


async def _come_up(serving: Serving, log: ServerLog, args: ServerArgs, warmup_s: float) -> None:
    log.say(f"INFO:     Started server process [{os.getpid()}]")
    log.say("INFO:     Waiting for application startup.")
    log.say("INFO:     Application startup complete.")
    log.say(f"INFO:     Uvicorn running on http://127.0.0.1:{args.port} (Press CTRL+C to quit)")
    await asyncio.sleep(warmup_s)
    serving.phase = Phase.UP
    log.say("The server is fired up and ready to roll!")
    with contextlib.suppress(BrokenPipeError):  # whoever wanted to know is gone; the server is none the worse
        sys.stdout.write("ready\n")
        sys.stdout.flush()


async def _unless(stop: asyncio.Event, work: Coroutine[object, object, None]) -> bool:
    """Do the work unless told to stop; whether it was done."""
    working = asyncio.create_task(work)
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    done = working.done()
    stopping.cancel()
    working.cancel()
    await asyncio.gather(working, stopping, return_exceptions=True)
    if done:
        working.result()
    return done


async def _watch_parent(parent: int | None, main: asyncio.Task[None]) -> None:
    """End the server when the process that started it is gone: nobody is left to end it."""
    while True:
        await asyncio.sleep(_PARENT_LOOK_S)
        if parent is not None and os.getppid() != parent:
            main.cancel()


def read_arguments(argv: Sequence[str] | None = None) -> Settings:
    """Read the command line, and bind the port."""
    parser = argparse.ArgumentParser(prog="python -m remote.demo.simserver", description="A simulated SGLang server.")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 for a free one")
    parser.add_argument("--fd", type=int, help="a bound socket that was inherited, instead of --port")
    parser.add_argument("--log", type=Path, required=True, help="the log file, appended to")
    parser.add_argument("--speed", type=float, default=1.0, help="how much faster than a real server")
    parser.add_argument("--scenario", choices=SCENARIOS, default=SCENARIOS[0], help="what goes wrong")
    parser.add_argument("--trouble-after-s", type=float, default=TROUBLE_AFTER_S, help="wall seconds until it does")
    parser.add_argument("--startup-s", type=float, default=STARTUP_S, help="wall seconds until it is ready")
    parser.add_argument("--parent-pid", type=int, help="end when this process, which started it, is gone")
    given = parser.parse_args(argv)
    if not 0 < given.speed < math.inf:
        parser.error("--speed must be more than 0")
    sock = socket.socket() if given.fd is None else socket.socket(fileno=given.fd)
    if given.fd is None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", given.port))
        except OSError as error:
            sock.close()
            parser.error(f"port {given.port} on 127.0.0.1 can't be used ({error.strerror}); choose another, or 0")
    trouble = Trouble(given.scenario, given.trouble_after_s)
    return Settings(sock, given.log, given.speed, trouble, given.startup_s, given.parent_pid)


def main() -> None:
    """Run the server until it is told to end."""
    orphaned = asyncio.run(serve(read_arguments()))
    if orphaned and (folder := os.environ.get(MARK)):
        # The host is gone without having ended what it started: the job must not look for a server for ever.
        sweep(Path(folder))


if __name__ == "__main__":
    main()
