"""How fast logs are read: bytes to events, the whole tracker, and its memory; beside other programs on the same file.

    python -m bench.ingest [--runs 5] [--gigabytes 1] [--toolong PYTHON]

The logs are made from a seed (``bench.make_log``). Medians of CPU seconds, since machines are shared. ``lnav`` is
measured where it is installed, toolong where ``--toolong`` names a Python that has it. What these do is not the same:
they index lines and stamps, and know no figures.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bench.make_log import Mix, progress_log, server_log
from console.job.access import others
from console.job.chunk_reading import Reading
from console.job.events import Source
from console.job.lines import LineSplitter
from console.job.plan import Plan
from console.job.progress_log import parse_progress
from console.job.server_log import ServerLog
from console.job.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHUNK = 256 * 1024
"""Bytes of one piece, as they come over the link."""
SEEN_AT = datetime(2026, 3, 1, tzinfo=UTC)
ONE_REGEX = re.compile(
    r"\[([0-9-]+ [0-9:]+)[^\]]*\] (?:Decode|Prefill) batch.*?token usage: ([0-9.]+)"
    r"(?:.*?gen throughput \(token/s\): ([0-9.]+))?"
)
TOOLONG = """
import sys
from threading import Event
from toolong.log_file import LogFile
file = LogFile(sys.argv[1])
file.open(Event())
print(sum(len(found) for _, found in file.scan_line_breaks()), sum(map(len, file.scan_timestamps())))
"""


def chunks(data: bytes) -> Iterator[bytes]:
    """The bytes in pieces as they come."""
    return (data[start : start + CHUNK] for start in range(0, len(data), CHUNK))


def to_events(data: bytes) -> int:
    """A server's log to events; gives their number."""
    splitter, log, told = LineSplitter(), ServerLog(UTC), 0
    for chunk in chunks(data):
        reading = Reading(SEEN_AT)
        reading.lines(others(splitter.read(chunk)), log.parse, SEEN_AT)
        told += len(reading.told)
    return told


def through_tracker(data: bytes, source: Source = Source.SERVER) -> Tracker:
    """A log through the whole tracker: events, state, and lines for the pane."""
    tracker = Tracker(Plan())
    for chunk in chunks(data):
        tracker.feed(source, chunk, SEEN_AT)
    return tracker


def with_lines(data: bytes) -> int:
    """As above, and every line for the pane is looked at; gives their number."""
    tracker = Tracker(Plan())
    return sum(len(list(tracker.feed(Source.SERVER, chunk, SEEN_AT))) for chunk in chunks(data))


def plain_loop(path: Path) -> int:
    """What a script of ten lines does: one regular expression on every line, three figures kept."""
    with path.open(encoding="utf-8") as file:
        kept = [
            (datetime.fromisoformat(found[1]), float(found[2]), float(found[3] or 0))
            for line in file
            if (found := ONE_REGEX.search(line))
        ]
    return len(kept)


def command(argv: list[str]) -> int:
    """Run another program to its end."""
    return subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode


def cpu_s(work: Callable[[], object], runs: int) -> float:
    """Median of the CPU seconds that some work takes, here and in programs that it runs."""
    took = []
    for _ in range(runs):
        before = os.times()
        work()
        after = os.times()
        took.append(sum(after[:4]) - sum(before[:4]))
    return statistics.median(took)


def row(name: str, seconds: float, size: int, first: float) -> None:
    """Print one figure: seconds, MB/s, and how much longer or shorter than the first one."""
    print(f"{name:<58} {seconds:7.3f} s {size / seconds / 1e6:8.1f} MB/s {seconds / first:6.2f} x")


def compare(path: Path, runs: int, toolong: str) -> None:
    """The long server log, through us and others."""
    data = path.read_bytes()
    lines = data.count(b"\n")
    print(f"{len(data) / 1e6:.1f} MB, {lines:,} lines, pieces of {CHUNK // 1024} KiB, medians of {runs}, CPU")
    ours = cpu_s(lambda: to_events(data), runs)
    row("longwait, bytes to events", ours, len(data), ours)
    row("longwait, whole tracker", cpu_s(lambda: through_tracker(data), runs), len(data), ours)
    row("longwait, whole tracker, every line looked at", cpu_s(lambda: with_lines(data), runs), len(data), ours)
    row("plain Python loop, one regex", cpu_s(lambda: plain_loop(path), runs), len(data), ours)
    if lnav := shutil.which("lnav"):
        row("lnav -n -q (start included)", cpu_s(lambda: command([lnav, "-n", "-q", str(path)]), runs), len(data), ours)
    if toolong:
        argv = [toolong, "-c", TOOLONG, str(path)]
        row("toolong, line breaks and stamps (start included)", cpu_s(lambda: command(argv), runs), len(data), ours)


def others_of_ours(runs: int) -> None:
    """Other logs through the tracker, and a snapshot."""
    mixed, access = server_log(10.0, Mix(access=30_000)), server_log(10.0, Mix(0, 0, 30_000))
    job = progress_log()
    first = cpu_s(lambda: to_events(mixed), runs)
    row("mixed log, nine access lines in ten, bytes to events", first, len(mixed), first)
    row("mixed log, whole tracker", cpu_s(lambda: through_tracker(mixed), runs), len(mixed), first)
    row("access lines alone, bytes to events", cpu_s(lambda: to_events(access), runs), len(access), first)
    row("access lines alone, whole tracker", cpu_s(lambda: through_tracker(access), runs), len(access), first)
    row("progress.jsonl, 83,000 completions, parsed", cpu_s(lambda: parsed(job), runs), len(job), first)
    took = cpu_s(lambda: through_tracker(job, Source.PROGRESS), runs)
    row("progress.jsonl, 83,000 completions, whole tracker", took, len(job), first)
    tracker = through_tracker(server_log())
    tracker.feed(Source.PROGRESS, job, SEEN_AT)
    snapshot_s = cpu_s(lambda: [tracker.snapshot(SEEN_AT) for _ in range(100)], runs) / 100
    print(f"{'a snapshot after all that':<58} {snapshot_s * 1_000:7.3f} ms")


def parsed(data: bytes) -> int:
    """The job's ``progress.jsonl`` to events; gives their number."""
    splitter = LineSplitter()
    return sum(len(parse_progress(line, SEEN_AT)) for chunk in chunks(data) for line in splitter.feed(chunk))


def memory(path: Path, size: float) -> None:
    """Read a file again and again through one tracker until ``size`` GB went through; print the resident peak.

    A console holds nothing else of a log, so the file is read piece by piece.
    """
    tracker, fed, began = Tracker(Plan()), 0, time.process_time()
    while fed < size * 1e9:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                list(tracker.feed(Source.SERVER, chunk, SEEN_AT))
                fed += len(chunk)
    # Not ``ru_maxrss``: a child that was just started inherits its parent's.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = int(re.findall(r"VmHWM:\s+([0-9]+)", status)[0]) / 1024
    took = time.process_time() - began
    print(
        f"{f'resident peak after {fed / 1e9:.2f} GB':<58} {peak:7.1f} MiB ({took:.1f} s of CPU, every line looked at)"
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--toolong", default="", help="a Python in which toolong is installed")
    parser.add_argument("--memory-of", type=Path, help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.memory_of:
        memory(said.memory_of, said.gigabytes)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server.log"
        path.write_bytes(server_log())
        compare(path, said.runs, said.toolong)
        others_of_ours(said.runs)
        argv = [sys.executable, "-m", "bench.ingest", "--gigabytes", str(said.gigabytes), "--memory-of", str(path)]
        subprocess.run(argv, check=True)


if __name__ == "__main__":
    main()
