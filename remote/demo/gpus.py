"""The demo host's ``nvidia-smi``: a simulated GPU that is busy while the simulated server writes reports.

``python gpus.py LOG --query-gpu=FIELDS --format=csv,noheader,nounits`` prints one line for the one GPU of the demo,
whose name says that it is simulated. It looks at the end of the server's log: how old it is, and what the newest report
says of the KV cache. Run as a file, so that nothing of longwait must be found by the host's Python.
"""

from __future__ import annotations

import re
import shlex
import sys
import time
from pathlib import Path

NAME = "simulated GPU (longwait demo)"
TOTAL_MIB = 81_559
"""As a card of 80 GB has it."""
WEIGHTS_MIB = 36_900
"""What the simulated server says its weights take, and the CUDA context."""
POOL_MIB = 34_300
"""Its KV pool: taken at the start, however full it is."""
LIMIT_W = 700.0
IDLE_W = 72.0
IDLE_C = 34.0
QUIET_S = 8.0
"""Seconds without a report after which the GPU rests."""
_TAIL = 16_384
_USAGE = re.compile(rb"token usage: ([0-9.]+)")


def busy(log: Path, now: float) -> tuple[float, bool]:
    """How busy the GPU is, 0 to 1, and whether its memory is taken.

    Args:
        log: The server's log.
        now: Seconds since the epoch.
    """
    try:
        age_s = now - log.stat().st_mtime
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL))
            tail = file.read()
    except OSError:
        return 0.0, False
    told = _USAGE.findall(tail)
    taken = bool(told) or b"KV Cache is allocated" in tail
    if not told or age_s > QUIET_S:
        return 0.0, taken
    return min(0.99, 0.86 + 0.14 * float(told[-1])), taken


def row(fields: list[str], share: float, *, taken: bool) -> str:
    """The line of the one GPU.

    Args:
        fields: What is asked for, by nvidia-smi's names.
        share: How busy it is, 0 to 1.
        taken: Whether the server holds its memory.
    """
    known = {
        "index": "0",
        "name": NAME,
        "utilization.gpu": f"{100 * share:.0f}",
        "memory.used": str(WEIGHTS_MIB + POOL_MIB if taken else 4),
        "memory.total": str(TOTAL_MIB),
        "temperature.gpu": f"{IDLE_C + 36 * share:.0f}",
        "power.draw": f"{IDLE_W + (LIMIT_W - IDLE_W) * 0.9 * share:.2f}",
        "power.limit": f"{LIMIT_W:.2f}",
        "mig.mode.current": "Disabled",
    }
    return ", ".join(known.get(field, "[N/A]") for field in fields)


def write_tool(folder: Path, log: Path) -> Path:
    """Write a program named nvidia-smi that says all this.

    Args:
        folder: Where; it stands before all others on the host's path.
        log: The server's log.
    """
    tool = folder / "nvidia-smi"
    words = shlex.join([sys.executable, "-ISB", __file__, str(log)])
    tool.write_text(f'#!/bin/sh\n# Simulated, for the demo.\nexec {words} "$@"\n', encoding="utf-8")
    tool.chmod(0o700)
    return tool


def main(argv: list[str]) -> int:
    """Print the line; the exit status."""
    log, *options = argv
    asked = next((option.partition("=")[2] for option in options if option.startswith("--query-gpu=")), "")
    if not asked:
        sys.stderr.write(f"{NAME}: it knows --query-gpu=... --format=csv,noheader,nounits alone.\n")
        return 2
    share, taken = busy(Path(log), time.time())
    sys.stdout.write(row(asked.split(","), share, taken=taken) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
