"""A GPU host in a box, as a process of its own.

``python -m remote.demo.host --dir FOLDER --speed N --scenario NAME``

It starts an SSH server on loopback with throwaway keys, says on stdout in one line of JSON how to reach it, then
writes the data sets, starts the simulated server and, when that is ready, the job, detached, as an operator would
have. It ends everything, also what was started through its SSH server, when its stdin is closed, when the process
that started it is gone, or on SIGTERM.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import stat
import sys
from typing import TYPE_CHECKING

from remote.demo.box import Box
from remote.demo.host_settings import read_arguments

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from remote.demo.host_settings import Settings

_PARENT_LOOK_S = 0.5


async def run(settings: Settings, parent: int | None) -> None:
    """Run a demo host until it is told to end.

    Args:
        settings: What was asked for.
        parent: The process without which it ends; None for none.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    host = Box(settings)
    tasks: list[asyncio.Task[None]] = []
    try:
        sys.stdout.write(json.dumps(await host.open()) + "\n")
        sys.stdout.flush()
        tasks = [
            asyncio.create_task(work)
            for work in (_stdin_closed(stop), _parent_gone(parent, stop), _report_faults(host.play()))
        ]
        await stop.wait()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if left := await host.close():
            _complain(f"The demo could not end its processes {left}; end them by hand.")


async def _stdin_closed(stop: asyncio.Event) -> None:
    """Set ``stop`` when stdin ends; a stdin that is a file or ``/dev/null`` says nothing about who started us."""
    mode = os.fstat(sys.stdin.fileno()).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or sys.stdin.isatty()):
        return
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    with contextlib.closing(transport):
        try:
            while await reader.read(1024):
                pass
        finally:
            stop.set()
            # A terminal is shared with the shell that started us; at its end, stdin is closed already.
            if not transport.is_closing():
                os.set_blocking(sys.stdin.fileno(), True)


async def _parent_gone(parent: int | None, stop: asyncio.Event) -> None:
    while True:
        await asyncio.sleep(_PARENT_LOOK_S)
        if parent is not None and os.getppid() != parent:
            stop.set()


async def _report_faults(work: Coroutine[object, object, None]) -> None:
    """Do the work; say what the system refused, and let the rest of the host live on."""
    try:
        await work
    except* OSError as faults:
        for fault in faults.exceptions:
            _complain(f"The demo host could not be brought up whole: {fault}")


def _complain(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def main() -> None:
    """Run the host until it is told to end."""
    settings, parent = read_arguments()
    try:
        asyncio.run(run(settings, parent))
    except OSError as error:
        sys.exit(f"The demo host could not be started in {settings.folder}: {error}. Choose another --dir.")


if __name__ == "__main__":
    main()
