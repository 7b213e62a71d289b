"""How fast a log is read over SSH on loopback: `follow` beside `ssh host cat FILE`, taking turns.

    python -m bench.link [--mib 300] [--rounds 9]

It starts an OpenSSH server of its own. Both sides are timed from before the connection is made until the last byte is
there; the figures are medians of all rounds, and the last one is the median of each round's own ratio: on a machine
that others use, neighbours in time are what can be compared.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import statistics
import subprocess
import tempfile
import time
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from remote.fill import read_range
from remote.tail import Chunk, follow
from tests.sshd.conftest import serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.sshd.conftest import Sshd

LINE = (
    b"[2026-01-01 00:00:%02d TP0] Decode batch, #running-req: 150, #token: 123456, token usage: 0.61, "
    b"gen throughput (token/s): 4321.0, #queue-req: 12\n"
)
MIB = 1_048_576


def write_log(path: Path, size: int) -> None:
    """A log of about that size."""
    block = b"".join(LINE % (n % 60) for n in range(8000))
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(block)


def cat(server: Sshd, log: Path) -> None:
    """What is measured against."""
    subprocess.run(
        ["ssh", "-F", str(server.config), "gpu01", f"cat {log}"],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )


async def _follow(server: Sshd, log: Path, left: int) -> None:
    host = server.host()
    await host.connect()
    async with aclosing(follow(host, str(log))) as events:
        async for event in events:
            left -= len(event.data) if isinstance(event, Chunk) else 0
            if left == 0:
                break
    await host.close()


async def _fill(server: Sshd, log: Path, found: os.stat_result) -> None:
    host = server.host()
    await host.connect()
    async with aclosing(read_range(host, str(log), found.st_ino, 0, found.st_size, bytes_per_s=None)) as chunks:
        async for _ in chunks:
            continue
    await host.close()


def timed(act: Callable[[], object]) -> tuple[float, float]:
    """Seconds that pass, and those of this process's CPU and of its children's."""
    before, began = _cpu(), time.perf_counter()
    act()
    return time.perf_counter() - began, _cpu() - before


def _cpu() -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--mib", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=9)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as server:
        log = Path(name) / "server.log"
        write_log(log, chosen.mib * MIB)
        ways: dict[str, Callable[[], object]] = {
            "ssh host cat": lambda: cat(server, log),
            "follow": lambda: asyncio.run(_follow(server, log, log.stat().st_size)),
            "read_range": lambda: asyncio.run(_fill(server, log, log.stat())),
        }
        taken: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for _ in range(chosen.rounds):
            for way, act in ways.items():
                taken[way].append(timed(act))
        size = log.stat().st_size / MIB
    base = statistics.median(seconds for seconds, _ in taken["ssh host cat"])
    print(f"{size:.0f} MiB, {chosen.rounds} rounds, {os.cpu_count()} cores")
    for way, figures in taken.items():
        wall, cpu = (statistics.median(figure) for figure in zip(*figures, strict=True))
        least = min(seconds for seconds, _ in figures)
        each = statistics.median(
            mine / cats for (mine, _), (cats, _) in zip(figures, taken["ssh host cat"], strict=True)
        )
        print(
            f"{way:14} {wall:6.2f} s (least {least:.2f}) {size / wall:6.0f} MiB/s {cpu:6.2f} s of CPU here "
            f"{wall / base:5.2f} x, by round {each:.2f} x"
        )


if __name__ == "__main__":
    main()
