"""Programs run to their end, with what they took; and the mock server that they ask."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "remote" / "payload" / "run_inference.py"
"""The program that is measured."""


@dataclass(frozen=True, slots=True)
class Took:
    """What a program took, its children included.

    Attributes:
        status: Its exit status.
        wall_s: Seconds from its start to its end.
        cpu_s: Seconds of CPU.
        peak_mb: Its resident peak, MB (10^6 bytes).
    """

    status: int
    wall_s: float
    cpu_s: float
    peak_mb: float


def run(argv: Sequence[str], cwd: Path, env: dict[str, str] | None = None) -> Took:
    """Runs a program to its end; its output goes to ``output`` in ``cwd``."""
    with (cwd / "output").open("wb") as output:
        began = time.monotonic()
        # By the side of this process, not from it: a child that is forked begins with its parent's peak of memory.
        process = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        _, status, used = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    return Took(process.returncode, wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6)


@contextlib.contextmanager
def mock(seconds: float, slots: int) -> Iterator[tuple[str, Callable[[], dict[str, float]]]]:
    """A mock server: its URL, and what gives its counts (and ends it)."""
    argv = [sys.executable, "-m", "bench.runner.mock", "--seconds", str(seconds), "--slots", str(slots)]
    process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None  # noqa: S101 - it is a pipe

    def counts() -> dict[str, float]:
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=30)
        return dict(json.loads(out))

    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}", counts
    finally:
        if process.returncode is None:
            process.kill()
            process.communicate()


def write_prompts(path: Path, count: int, words: int = 40) -> None:
    """Prompts of some words each, with ids."""
    text = "word " * words
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f'{{"id": "p{n}", "prompt": "number {n} {text}"}}\n' for n in range(count))


def job(folder: Path, url: str, prompts: Path, **dataset: object) -> list[str]:
    """A job's command line without the Python: one dataset, 150 in flight unless told otherwise."""
    one = {"name": "A", "prompts": str(prompts), "concurrency": 150, "max_tokens": 1024, **dataset}
    (folder / "job.json").write_text(json.dumps({"server": url, "out": "out", "datasets": [one]}), "utf-8")
    return [str(SCRIPT), "--config", str(folder / "job.json")]
