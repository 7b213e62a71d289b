"""How the batch runner measures up.

    python -m bench.runner [speed] [memory] [start] [kills] [--guidellm PROGRAM] [--aiperf PROGRAM]

Without a word, everything but ``kills``. ``kills`` ends with 1 when anything was lost or done twice. The load
generators are measured where their programs are installed, each best in an environment of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform

from bench.runner import big, kills, speed

PARTS = ("speed", "memory", "start", "kills")


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="what to measure")
    parser.add_argument("--guidellm", default="guidellm")
    parser.add_argument("--aiperf", default="aiperf")
    parser.add_argument("--tokenizer", default="builtin", help="what AIPerf counts tokens with; builtin is downloaded")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--slow-requests", type=int, default=3000, help="requests with answers after 1 s")
    parser.add_argument("--fast-requests", type=int, default=6000, help="requests with answers after 10 ms")
    parser.add_argument("--kills", type=int, default=200)
    said = parser.parse_args()
    parts = said.parts or [part for part in PARTS if part != "kills"]
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
    return min(1, asyncio.run(kills.many(said.kills))) if "kills" in parts else 0


if __name__ == "__main__":
    raise SystemExit(main())
