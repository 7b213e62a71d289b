"""What a demo host is asked for, and where things are in its folder."""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from remote.demo import simserver
from remote.demo.scenarios import CUT_S, SCENARIOS, TROUBLE_AFTER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

SCRIPT = Path(__file__).parent.parent / "payload" / "run_inference.py"
"""The current job script."""
OLD_SCRIPT = Path(__file__).parent / "old_script.py"
"""The one that knows no token budgets."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says.

    Attributes:
        folder: The demo's folder; all it writes is in it.
        speed: How much faster than a real server.
        scenario: One of ``SCENARIOS``.
        startup_s: Wall seconds until the server is ready.
        trouble_after_s: Wall seconds until the scenario's trouble.
        cut_s: Wall seconds that ``link-cut`` lasts.
        script: The job script that an operator would deploy.
        remove_when_left: Remove the folder, if ``scratch`` made it, when the console went away without a word.
    """

    folder: Path
    speed: float
    scenario: str
    startup_s: float
    trouble_after_s: float
    cut_s: float
    script: Path
    remove_when_left: bool = False

    @property
    def running_script(self) -> Path:
        """The job script that runs at first."""
        return OLD_SCRIPT if self.scenario == "old-script" else self.script


@dataclass(frozen=True, slots=True)
class Places:
    """Where things are in the demo's folder."""

    folder: Path

    @property
    def run(self) -> Path:
        """The job's folder."""
        return self.folder / "run"

    @property
    def out(self) -> Path:
        """The job's results."""
        return self.run / "out"

    @property
    def prompts(self) -> Path:
        """The prompts."""
        return self.folder / "prompts"

    @property
    def script(self) -> Path:
        """The job's script."""
        return self.run / "run_inference.py"

    @property
    def config(self) -> Path:
        """The job's config."""
        return self.run / "job.json"

    @property
    def job_log(self) -> Path:
        """The job's log."""
        return self.run / "job.log"

    @property
    def server_log(self) -> Path:
        """The server's log."""
        return self.folder / "server.log"

    @property
    def tools(self) -> Path:
        """Programs that stand before all others on the host's path."""
        return self.folder / "bin"

    @property
    def keys(self) -> Path:
        """The throwaway keys and SSH files."""
        return self.folder / "ssh"

    @property
    def command(self) -> list[str]:
        """How the job is started."""
        return [sys.executable, str(self.script), "--config", str(self.config)]


def read_arguments(argv: Sequence[str] | None = None) -> tuple[Settings, int | None]:
    """Read the command line: the settings, and the process without which the host ends."""
    parser = argparse.ArgumentParser(prog="python -m remote.demo.host", description="A simulated GPU host on loopback.")
    parser.add_argument("--dir", type=Path, required=True, help="the demo's folder; all it writes is in it")
    parser.add_argument("--speed", type=float, default=1.0, help="how much faster than a real server")
    parser.add_argument("--scenario", choices=SCENARIOS, default=SCENARIOS[0], help="what goes wrong")
    parser.add_argument("--startup-s", type=float, default=simserver.STARTUP_S, help="wall seconds until it serves")
    parser.add_argument(
        "--trouble-after-s", type=float, default=TROUBLE_AFTER_S, help="wall seconds until it goes wrong"
    )
    parser.add_argument("--cut-s", type=float, default=CUT_S, help="wall seconds that link-cut lasts")
    parser.add_argument("--script", type=Path, default=SCRIPT, help="the job script that would be deployed")
    parser.add_argument("--parent-pid", type=int, help="end when this process, which started it, is gone")
    parser.add_argument(
        "--remove-when-left",
        action="store_true",
        help="remove the folder, if the console made it, when the console is gone without a word (it was killed)",
    )
    given = parser.parse_args(argv)
    if not 0 < given.speed < math.inf:
        parser.error("--speed must be more than 0")
    settings = Settings(
        given.dir.resolve(),
        given.speed,
        given.scenario,
        given.startup_s,
        given.trouble_after_s,
        given.cut_s,
        given.script.resolve(),
        given.remove_when_left,
    )
    return settings, given.parent_pid
