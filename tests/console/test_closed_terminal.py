"""The terminal goes away: the console ends in order, and does not wait for it."""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from bench.terminal import terminal
from console.app import LongwaitApp
from console.terminal import LastingDriver, Outlet
from tests.console.fakes_ui import FakeFeed, make_app
from tests.console.test_cli import local_config
from tests.waits import until

if TYPE_CHECKING:
    from pathlib import Path


DEAF = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""Runs Python so that it is not told when its terminal is closed, as after ``nohup``."""


LEFT = """
import asyncio, os, signal
from textual.app import App
from console.terminal import LastingDriver

class Short(App):
    def on_mount(self):
        self.exit()

async def run():
    await Short(driver_class=LastingDriver).run_async()
    os.kill(os.getpid(), signal.SIGCONT)
    await asyncio.sleep(0)

asyncio.run(run())
"""
"""A program that is told to go on when it has given its terminal back and puts its things away."""


class Closed(io.StringIO):
    """A terminal that takes some writes and is gone then."""

    def __init__(self, takes: int) -> None:
        super().__init__()
        self.left = takes

    def write(self, text: str) -> int:
        """Take it, or fail as a closed terminal does."""
        if not self.left:
            raise OSError(5, "Input/output error")
        self.left -= 1
        return super().write(text)


def test_what_is_written_after_the_end_is_dropped_and_the_end_is_told_once() -> None:
    ends: list[str] = []
    file = Closed(2)
    outlet = Outlet(file, lambda: ends.append("gone"))
    for text in "abcd":
        outlet.write(text)
    outlet.flush()
    assert (file.getvalue(), ends) == ("ab", ["gone"])
    shut = Outlet(file, lambda: ends.append("closed"))
    file.close()
    shut.flush()
    shut.write("e")
    assert ends == ["gone", "closed"]


def test_the_console_has_a_driver_that_lasts() -> None:
    app = make_app(FakeFeed())
    assert isinstance(app, LongwaitApp)
    assert issubclass(app.driver_class, LastingDriver)


async def test_a_console_without_a_terminal_ends(tmp_path: Path) -> None:
    config = local_config(tmp_path)
    argv = [sys.executable, "-c", DEAF, "-m", "console", "--config", str(config)]
    with terminal(argv, (80, 24), {"XDG_DATA_HOME": str(tmp_path / "data")}) as program:
        program.read_until(b"KV", 20.0)
        gone = os.open(os.devnull, os.O_RDWR)
        os.dup2(gone, program.master)  # closes our end of the terminal, and leaves a number to close later
        os.close(gone)

        def ended() -> bool:
            pid, status = os.waitpid(program.pid, os.WNOHANG)
            if pid:
                program.status = os.waitstatus_to_exitcode(status)
            return bool(pid)

        await until(ended, 20.0)
        assert program.status == 0


@pytest.mark.parametrize("stopped", [False, True], ids=["continued", "stopped-and-continued"])
def test_a_console_that_was_told_to_go_on_still_ends(tmp_path: Path, *, stopped: bool) -> None:
    config = local_config(tmp_path)
    argv = [sys.executable, "-m", "console", "--config", str(config)]
    with terminal(argv, (80, 24), {"XDG_DATA_HOME": str(tmp_path / "data")}) as program:
        program.read_until(b"KV", 20.0)
        if stopped:
            os.kill(program.pid, signal.SIGSTOP)
            os.waitpid(program.pid, os.WUNTRACED)
        os.kill(program.pid, signal.SIGCONT)
        program.read_until(b"?1049h", 20.0)  # the terminal is taken over anew
        program.type("q")
        assert program.wait_end(20.0)
        assert program.status == 0


def test_a_console_that_is_told_to_go_on_while_it_ends_does_not_begin_anew() -> None:
    with terminal([sys.executable, "-c", LEFT], (80, 24), {}) as program:
        assert program.wait_end(20.0)
        assert program.status == 0
