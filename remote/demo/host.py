"""A GPU host in a box, as a process of its own.

``python -m remote.demo.host --dir FOLDER --speed N --scenario NAME``

It starts an SSH server on loopback with throwaway keys, says on stdout in one line of JSON how to reach it, then
writes the data sets, starts the simulated server and, when that is ready, the job, detached, as an operator would
have. It ends everything, also what was started through its SSH server, when its stdin is closed, when the process
that started it is gone, or on SIGTERM.

A console that ends in order says ``scratch.GOODBYE`` on stdin and removes the folder itself. One that was killed says
nothing: then, with ``--remove-when-left``, the host removes it, since private keys are in it.
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

from remote.demo import scratch
from remote.demo.box import Box
from remote.demo.host_settings import read_arguments

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from remote.demo.host_settings import Settings

_PARENT_LOOK_S = 0.5


class _Watch:
    """Knows when to stop, and whether the one who started us went away without a word.

    Args:
        parent: The process without which the host ends; None for none.
    """

    def __init__(self, parent: int | None) -> None:
        self.stop = asyncio.Event()
        self._parent = parent
        self._hung_up = False

    @property
    def left(self) -> bool:
        """Whether nobody is there any more to clean up."""
        return self._hung_up or self._orphaned

    @property
    def _orphaned(self) -> bool:
        return self._parent is not None and os.getppid() != self._parent

    async def parent(self) -> None:
        """Stop when the parent is gone."""
        while True:
            if self._orphaned:
                self.stop.set()
                return
            await asyncio.sleep(_PARENT_LOOK_S)

    async def stdin(self) -> None:
        """Stop when stdin ends; one that is a file or ``/dev/null`` says nothing about who started us."""
        mode = os.fstat(sys.stdin.fileno()).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or sys.stdin.isatty()):
            return
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        said = b""
        with contextlib.closing(transport):
            try:
                while data := await reader.read(1024):
                    said = (said + data)[-len(scratch.GOODBYE) :]
                self._hung_up = said != scratch.GOODBYE
            finally:
                self.stop.set()
                # A terminal is shared with the shell that started us; at its end, stdin is closed already.
                if not transport.is_closing():
                    os.set_blocking(sys.stdin.fileno(), True)


async def run(settings: Settings, parent: int | None) -> None:
    """Run a demo host until it is told to end.

    Args:
        settings: What was asked for.
        parent: The process without which it ends; None for none.
    """
    watch = _Watch(parent)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, watch.stop.set)
    host = Box(settings)
    tasks: list[asyncio.Task[None]] = []
    try:
        sys.stdout.write(json.dumps(await host.open()) + "\n")
        sys.stdout.flush()
        tasks = [asyncio.create_task(work) for work in (watch.stdin(), watch.parent(), _report_faults(host.play()))]
        await watch.stop.wait()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if left := await host.close():
            _complain(f"The demo could not end its processes {left}; end them by hand.")
        if settings.remove_when_left and watch.left and not await asyncio.to_thread(scratch.remove, settings.folder):
            _complain(f"The demo's folder {settings.folder} could not be removed; remove it by hand.")


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
