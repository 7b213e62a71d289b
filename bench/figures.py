"""The figures of the README: start, first frame, idle CPU and memory of the console, in a real terminal.

    python -m bench.figures [--runs N] [--idle SECONDS]

Machines are noisy: medians are printed, with the least and the most beside them.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.terminal import Terminal, terminal

LONGWAIT = [sys.executable, "-m", "console"]
SIZE = (120, 36)
FRAME = b"KV"
"""Stands in every frame, the first included."""

CONFIG = """\
host: local
server: {{url: "http://127.0.0.1:9", log: {folder}/server.log}}
job: {{log: {folder}/job.log}}
"""


def command_s(argument: str) -> float:
    """Seconds that ``longwait ARGUMENT`` takes."""
    began = time.perf_counter()
    subprocess.run([*LONGWAIT, argument], check=True, capture_output=True)
    return time.perf_counter() - began


def first_frame_s(config: Path) -> float:
    """Seconds from the command to the first frame."""
    with terminal([*LONGWAIT, "--config", str(config)], SIZE) as program:
        return program.read_until(FRAME, 20.0)


def idle(program: Terminal, seconds: float) -> tuple[float, float, float]:
    """CPU share of one core, resident MB and bytes per second to the terminal, once it has settled."""
    program.read_until(FRAME, 20.0)
    program.read_for(10.0)
    before, began = program.cpu_s(), time.perf_counter()
    printed = program.read_for(seconds)
    took = time.perf_counter() - began
    return (program.cpu_s() - before) / took, program.rss_mb(), printed / took


def row(name: str, values: list[float], unit: str) -> None:
    """Print one figure: median, least and most."""
    middle = statistics.median(values)
    print(f"{name:<44} {middle:8.2f} {unit:<5} ({min(values):.2f} to {max(values):.2f}, n={len(values)})")


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=7)
    options.add_argument("--idle", type=float, default=30.0, metavar="SECONDS")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "longwait.yaml"
        config.write_text(CONFIG.format(folder=folder), encoding="utf-8")
        for name in ("server.log", "job.log"):
            Path(folder, name).touch()
        for argument in ("--version", "--help"):
            row(f"longwait {argument}", [command_s(argument) for _ in range(chosen.runs)], "s")
        row("first frame", [first_frame_s(config) for _ in range(chosen.runs)], "s")
        with terminal([*LONGWAIT, "--config", str(config)], SIZE) as program:
            _print_idle("quiet logs, local", idle(program, chosen.idle))
    with terminal([*LONGWAIT, "demo"], SIZE) as program:
        _print_idle("demo at speed 1, over SSH", idle(program, chosen.idle))


def _print_idle(name: str, figures: tuple[float, float, float]) -> None:
    share, rss_mb, printed = figures
    row(f"{name}: CPU of one core", [share * 100], "%")
    row(f"{name}: resident memory", [rss_mb], "MB")
    row(f"{name}: to the terminal", [printed], "B/s")


if __name__ == "__main__":
    main()
