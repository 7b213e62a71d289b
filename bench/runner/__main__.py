"""How the batch runner measures up.

    python -m bench.runner [speed] [memory] [start] [budget] [gone] [kills] [--guidellm PROGRAM] [--aiperf PROGRAM]

Without a word, speed, memory and start. ``kills`` and ``gone`` end with 1 when anything was lost or done twice. The
load generators are measured where their programs are installed, each best in an environment of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
from typing import TYPE_CHECKING

from bench.runner import big, budget, gone, kills, speed

if TYPE_CHECKING:
    from collections.abc import Sequence

USUAL = ("speed", "memory", "start")
PARTS = (*USUAL, "budget", "gone", "kills")


def read_args() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="what to measure")
    parser.add_argument("--guidellm", default="guidellm")
    parser.add_argument("--aiperf", default="aiperf")
    parser.add_argument("--tokenizer", default="builtin", help="what AIPerf counts tokens with; builtin is downloaded")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--slow-requests", type=int, default=3000, help="requests with answers after 1 s")
    parser.add_argument("--fast-requests", type=int, default=6000, help="requests with answers after 10 ms")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--gone-seconds", type=float, default=120.0)
    parser.add_argument("--seeds", type=int, default=8, help="simulations of each budget and law")
    return parser.parse_args()


def main() -> int:
    """Print the figures."""
    said = read_args()
    parts = said.parts or USUAL
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    if "speed" in parts:
        found = speed.contenders(said.guidellm, said.aiperf, said.tokenizer)
        speed.table(1.0, said.slow_requests, said.runs, found)
        speed.table(0.01, said.fast_requests, said.runs, found)
    if "memory" in parts:
        for form in ("text", "longest-first", "gzip"):
            big.memory(form)
    if "start" in parts:
        for tokens in (200, 2000):
            big.start(tokens)
    if "budget" in parts:
        budget.table(said.seeds)
    return min(1, faults(parts, said))


def faults(parts: Sequence[str], said: argparse.Namespace) -> int:
    """What the parts that can go wrong found."""
    bad = 0
    if "gone" in parts:
        bad += not asyncio.run(gone.away(said.gone_seconds))
    if "kills" in parts:
        bad += asyncio.run(kills.many(said.kills))
    return bad


if __name__ == "__main__":
    raise SystemExit(main())
