"""The program in a real pseudo-terminal: how it ends."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from bench.terminal import terminal
from tests.console.test_cli import local_config

if TYPE_CHECKING:
    from pathlib import Path

ALTERNATE_SCREEN_LEFT = b"\x1b[?1049l"


def test_a_key_of_the_config_does_what_it_says(tmp_path: Path) -> None:
    config = local_config(tmp_path, "keys: {quit: x}\nhistory: false\n")
    with terminal([sys.executable, "-m", "console", "--config", str(config)], (80, 24)) as program:
        program.read_until(b"KV", 20.0)
        program.read_for(1.0)
        program.type("x")
        assert program.wait_end(10.0)
        assert program.status == 0


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP, "q"])
def test_however_it_ends_the_terminal_is_put_back(tmp_path: Path, how: signal.Signals | str) -> None:
    config = local_config(tmp_path)
    argv = [sys.executable, "-m", "console", "--config", str(config)]
    with terminal(argv, (80, 24), {"XDG_DATA_HOME": str(tmp_path / "data")}) as program:
        program.read_until(b"KV", 20.0)
        # What is to be kept at the end has begun: before, there is nothing to keep.
        deadline = time.monotonic() + 20.0
        while not list((tmp_path / "data").rglob("*.sqlite3")) and time.monotonic() < deadline:
            program.read_for(0.1)
        if isinstance(how, str):
            program.type(how)
        else:
            os.kill(program.pid, how)
        assert program.wait_end(10.0)
        assert program.status == 0
        assert ALTERNATE_SCREEN_LEFT in program.printed
        assert b"Traceback" not in program.printed
    assert list((tmp_path / "data").rglob("*.sqlite3"))
