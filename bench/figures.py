"""The figures of the README: start, idle, busy, and after 55 hours, in a real terminal; beside peers.

    python -m bench.figures [--runs N] [--idle SECONDS] [--peers FOLDER] [--only WORD]

``FOLDER`` has an environment for each peer that is to be measured: ``FOLDER/vllmstat/bin/vllmstat`` (pip install
vllmstat), ``FOLDER/vigil/bin/vigil`` (vigil-gpu) and ``FOLDER/dolphie/bin/dolphie``. The peers run on made-up data of
their own, dolphie on none.

Machines are noisy: medians are printed, with the least and the most beside them, and how busy the machine was.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.make_log import progress_log, server_log
from bench.screens import (
    ESCAPE,
    LONGWAIT,
    PALETTE,
    PATIENCE_S,
    SETTLED_S,
    SIZE,
    Key,
    Pouring,
    Program,
    costs,
    decode_line,
    peers,
    pressed_ms,
    started,
)
from bench.terminal import terminal

FRAME = b"KV"
"""Stands in every frame, the first included."""

DATA = b"5,432"
"""Generated tokens a second of the log of a local run: the screen can have it from there alone."""

RATE = 50.0
"""Lines a second on each log of a busy run."""

KEY_ROUNDS = 34

REPLAY_S = 60.0
"""Seconds in which a replay at its highest speed is through with 55 hours, and some more."""

KEYS = (
    Key("4", b"Follow"),
    Key("/", b"filter"),
    Key(ESCAPE, b"", timed=False),
    Key("1", b"Restart"),
    Key("?", b"searches"),
    Key(ESCAPE, b"", timed=False),
)
"""To the log, into its filter, to the verdict, to the help: each draws what no line of a log does."""

CONFIG = """\
host: local
history: false
server: {{url: "http://127.0.0.1:9", log: {folder}/server.log}}
job: {{log: {folder}/job.log, progress: {folder}/progress.jsonl, dir: {folder}, command: ["true"]}}
"""


def command_s(argument: str) -> float:
    """Seconds that ``longwait ARGUMENT`` takes."""
    began = time.perf_counter()
    subprocess.run([*LONGWAIT, argument], check=True, capture_output=True)
    return time.perf_counter() - began


def a_run(folder: Path, server: bytes = b"", progress: bytes = b"") -> Program:
    """Give the console on a local run, whose files are written."""
    folder.mkdir()
    (folder / "longwait.yaml").write_text(CONFIG.format(folder=folder), encoding="utf-8")
    (folder / "server.log").write_bytes(server)
    (folder / "progress.jsonl").write_bytes(progress)
    (folder / "job.log").touch()
    return Program("longwait", (*LONGWAIT, "--config", str(folder / "longwait.yaml")), FRAME, DATA, KEYS)


def just_now() -> bytes:
    """Give the log of a server that has run for a minute up to now."""
    now = datetime.now(UTC)
    stamps = (f"{now - timedelta(seconds=back):%Y-%m-%d %H:%M:%S}" for back in range(60, -1, -4))
    return "".join(decode_line(stamp, 7 * number, 5432.0) for number, stamp in enumerate(stamps)).encode()


def row(name: str, values: list[float], unit: str) -> None:
    """Print one figure: median, least and most."""
    middle = statistics.median(values)
    print(f"{name:<52} {middle:9.2f} {unit:<5} ({min(values):.2f} to {max(values):.2f}, n={len(values)})", flush=True)


def start_rows(program: Program, runs: int) -> None:
    """Print when it is there; a first start, which writes bytecode that is missing, does not count."""
    started(program)
    times = [started(program) for _ in range(runs)]
    row(f"{program.name}: first frame", [start.frame_s for start in times], "s")
    row(f"{program.name}: first frame, CPU", [start.frame_cpu_s for start in times], "s")
    firsts = [start.data_s for start in times if start.data_s is not None]
    if firsts:
        row(f"{program.name}: first data", firsts, "s")


def idle_rows(program: Program, seconds: float, name: str = "idle") -> None:
    """Print what it costs once it has settled."""
    with terminal(program.argv, SIZE) as shown:
        shown.read_until(program.frame, PATIENCE_S)
        shown.read_for(SETTLED_S)
        spent = costs(shown, seconds)
        row(f"{program.name}, {name}: CPU of one core", [spent.cpu * 100], "%")
        row(f"{program.name}, {name}: resident memory", [spent.rss_mb], "MB")
        row(f"{program.name}, {name}: to the terminal", [spent.bytes_s / 1000], "kB/s")


def key_rows(program: Program, name: str, keys: tuple[Key, ...]) -> None:
    """Print how fast keys are answered."""
    with terminal(program.argv, SIZE) as shown:
        shown.read_until(program.data or program.frame, PATIENCE_S)
        shown.read_for(SETTLED_S)
        times = sorted(pressed_ms(shown, keys, KEY_ROUNDS))
    row(f"{program.name}, {name}: key to paint", times, "ms")
    row(f"{program.name}, {name}: key to paint, p99", [times[int(len(times) * 0.99)]], "ms")


def commands(folder: Path, runs: int, idle_s: float) -> None:
    """The commands without a screen."""
    del folder, idle_s
    for argument in ("--version", "--help"):
        command_s(argument)
        row(f"longwait {argument}", [command_s(argument) for _ in range(runs)], "s")


def local(folder: Path, runs: int, idle_s: float) -> None:
    """A local run with quiet logs."""
    run = a_run(folder / "local", just_now())
    start_rows(run, runs)
    idle_rows(run, idle_s)
    key_rows(run, "idle", PALETTE)


def busy(folder: Path, runs: int, idle_s: float) -> None:
    """A local run with lines on both logs."""
    del runs
    run = a_run(folder / "busy", just_now())
    with Pouring(folder / "busy", RATE).flowing():
        idle_rows(run, idle_s, f"{RATE:g} lines/s a log")
        key_rows(run, f"{RATE:g} lines/s a log", KEYS)
        key_rows(run, f"{RATE:g} lines/s a log, palette", PALETTE)


def demo(folder: Path, runs: int, idle_s: float) -> None:
    """The demo, over SSH."""
    del folder, runs
    idle_rows(Program("longwait demo", (*LONGWAIT, "demo"), FRAME), idle_s, "speed 1")


def long(folder: Path, runs: int, idle_s: float) -> None:
    """A run of 55 hours: caught up with, and replayed to its end."""
    del runs
    run = a_run(folder / "long", server_log(), progress_log())
    with terminal(run.argv, SIZE) as shown:
        shown.read_until(FRAME, PATIENCE_S)
        shown.read_for(REPLAY_S)
        row("longwait, 55 h caught up with: resident memory", [costs(shown, idle_s).rss_mb], "MB")
    files = {"--server-log": "server.log", "--progress": "progress.jsonl"}
    words = [word for option, name in files.items() for word in (option, str(folder / "long" / name))]
    with terminal((*LONGWAIT, "replay", *words, "--speed", "7200"), SIZE) as shown:
        shown.read_until(FRAME, PATIENCE_S)
        shown.read_for(REPLAY_S)
        row("longwait, 55 h replayed: resident memory", [shown.rss_mb()], "MB")


PARTS = {"commands": commands, "local": local, "busy": busy, "demo": demo, "long": long}


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=7)
    options.add_argument("--idle", type=float, default=30.0, metavar="SECONDS")
    options.add_argument("--peers", type=Path, metavar="FOLDER")
    options.add_argument("--only", choices=[*PARTS, "peers"], help="measure this alone")
    chosen = options.parse_args()
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    # pip writes the bytecode of what it installs; where this is set, that of the console would be made at each start.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # what the operator's own console remembers is not the bench's
        for name, part in PARTS.items():
            if chosen.only in {None, name}:
                part(Path(folder), chosen.runs, chosen.idle)
        for peer in peers(chosen.peers) if chosen.peers and chosen.only in {None, "peers"} else ():
            start_rows(peer, chosen.runs)
            idle_rows(peer, chosen.idle)
            if peer.keys:
                key_rows(peer, "idle", peer.keys)
    print(f"load after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
