"""The whole demo in a real terminal, 80x24, driven by keys alone: what an operator over tmux would do, once through."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psutil
import pytest

from console.demo import FAREWELL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TMUX = shutil.which("tmux") or ""
PATIENCE_S = 90.0
"""Seconds for one event: it comes within ten on a calm machine."""

MARK = "LONGWAIT_TEST_MARK"
"""A variable by which all that the demo has started is found again."""

pytestmark = [
    pytest.mark.skipif(not TMUX and not os.environ.get("CI"), reason="no tmux is installed (Debian: tmux)"),
    pytest.mark.timeout(400),
]


@dataclass
class Pane:
    """The one pane of a tmux server of our own."""

    folder: Path
    name: str = field(default_factory=lambda: f"longwait-{uuid.uuid4().hex[:8]}")

    def tmux(self, *words: str) -> str:
        """Run a command of tmux; what it prints."""
        environment = {**os.environ, MARK: self.name, "TMPDIR": str(self.folder), "LC_ALL": "C.UTF-8"}
        environment.pop("TMUX", None)
        done = subprocess.run(
            [TMUX, "-L", self.name, "-f", "/dev/null", *words],
            env={**environment, "XDG_STATE_HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder)},
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
        )
        return done.stdout

    def open(self, *command: str) -> None:
        """Start a command in a terminal of 80x24, which stays when the command has ended."""
        self.tmux(
            "new-session", "-d", "-x", "80", "-y", "24", *command, ";", "set-option", "-g", "remain-on-exit", "on"
        )

    def keys(self, *keys: str) -> None:
        """Press keys, in tmux's names for them."""
        self.tmux("send-keys", *keys)

    def text(self) -> str:
        """What is on it now, and what has gone out of it at its top."""
        return self.tmux("capture-pane", "-p", "-S", "-")

    def until(self, holds: Callable[[str], object], what: str) -> str:
        """Wait for something on it; what is on it then."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds(text := self.text()):
            assert time.monotonic() < deadline, f"never came: {what}\n{text}"
            time.sleep(0.1)
        return text

    def shows(self, *words: str) -> str:
        """Wait until all of the words are on it."""
        return self.until(lambda text: all(word in text for word in words), " and ".join(words))

    def lacks(self, word: str) -> str:
        """Wait until a word is gone."""
        return self.until(lambda text: word not in text, f"no {word}")

    def started(self) -> list[str]:
        """Give the commands of all that was started here and still runs, the server of tmux itself not counted."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self.name and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(" ".join(process.cmdline()))
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return [command for command in found if not command.startswith(TMUX)]


@contextmanager
def pane_in(folder: Path) -> Iterator[Pane]:
    """Give a pane; its server, and with it what runs in the pane, is ended."""
    pane = Pane(folder)
    try:
        yield pane
    finally:
        subprocess.run([TMUX, "-L", pane.name, "kill-server"], capture_output=True, check=False, timeout=20)


def test_the_old_script_is_found_read_about_and_replaced_by_keys_alone(tmp_path: Path) -> None:
    with pane_in(tmp_path) as pane:
        pane.open(sys.executable, "-m", "console", "demo", "--scenario", "old-script", "--speed", "40")
        pane.shows("longwait-demo")
        pane.until(lambda text: any(cause in text for cause in ("over budget", "wrong script")), "the verdict")
        seen = pane.shows("Datasets ·", "Server ·", "server's log", "tok/s", "✓ link", "B1_glaive")
        assert any(word in seen for word in ("INTERVENE", "WATCH"))

        pane.keys("33")
        pane.until(lambda text: "Datasets ·" not in text and "Server ·" in text, "the server alone")
        pane.keys("5")
        pane.until(lambda text: "Timeline ·" in text and "Server ·" not in text, "the timeline alone")
        pane.keys("Escape")
        pane.shows("Datasets ·", "Server ·")

        pane.keys("2", "Enter")
        pane.shows("Figures", "Prompts", "Esc back")
        pane.keys("Escape")
        pane.shows("Server ·")

        pane.keys("4", "/")
        pane.shows("filter")
        pane.keys("Decode batch", "Enter")
        pane.until(lambda text: "'Decode batch'" in text or "/Decode batch" in text, "the filter")
        pane.keys("Escape")  # an Esc and the next key at once would be one key to the terminal
        pane.until(lambda text: "'Decode batch'" not in text and "/Decode batch" not in text, "all lines again")
        pane.keys("?")
        pane.shows("─ Help ─", "Esc closes")
        pane.keys("Escape")
        pane.lacks("─ Help ─")

        pane.keys("R")
        pane.shows("Restart the job on", "Enter or y")  # until then, an Enter is one typed for something else
        pane.keys("Enter")
        pane.shows("Proof that it worked")
        proven = pane.shows("Proven:")
        assert "✗" not in proven
        pane.keys("Escape")
        pane.shows("WAIT", "Datasets ·")

        assert pane.started()
        pane.keys("q")
        # Not "Pane is dead": tmux now and then misses that its child has ended.
        ended = pane.until(lambda text: " ".join(FAREWELL.split()) in " ".join(text.split()), "the farewell")
        assert "Traceback" not in ended
        pane.until(lambda _: not pane.started(), "nothing that runs")
        assert [path for path in tmp_path.iterdir() if "demo" in path.name] == []
