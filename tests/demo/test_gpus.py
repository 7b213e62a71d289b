"""The demo host's nvidia-smi: it says that it is simulated, and is busy while the simulated server reports."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from console.job.gpu import NVIDIA, read_nvidia
from remote.demo import gpus

if TYPE_CHECKING:
    from pathlib import Path

REPORT = "[2026-02-24 03:19:40] Decode batch, #running-req: 50, #token: 114822, token usage: 0.82, #queue-req: 98\n"
WHOLE = [f"--query-gpu={NVIDIA[1].partition('=')[2]}", NVIDIA[2]]


def asked(log: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-ISB", gpus.__file__, str(log), *WHOLE]
    return subprocess.run(argv, capture_output=True, text=True, check=True)


def test_it_is_busy_while_the_server_reports_and_says_that_it_is_simulated(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(REPORT)
    (gpu,) = read_nvidia(asked(log).stdout).gpus
    assert "simulated" in gpu.name
    assert gpu.busy is not None
    assert gpu.busy > 0.9
    assert gpu.memory_used is not None
    assert gpu.memory_total is not None
    assert gpu.memory_used < gpu.memory_total
    assert gpu.power_w is not None


def test_it_rests_when_nothing_was_reported_for_a_while_and_before_the_server_begins(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(REPORT)
    os.utime(log, (1_000_000_000, 1_000_000_000))
    (gpu,) = read_nvidia(asked(log).stdout).gpus
    assert gpu.busy == 0.0
    assert gpu.memory_used is not None
    assert gpu.memory_used > 1e9
    (gpu,) = read_nvidia(asked(tmp_path / "missing.log").stdout).gpus
    assert (gpu.busy, gpu.memory_used) == (0.0, 4 * 1024**2)


def test_any_other_question_is_refused() -> None:
    assert gpus.main(["server.log", "-L"]) == 2


def test_it_is_a_program_of_its_own_in_a_folder_with_any_name(tmp_path: Path) -> None:
    folder, log = tmp_path / "demo's box", tmp_path / "the server.log"
    folder.mkdir()
    log.write_text(REPORT)
    tool = gpus.write_tool(folder, log)
    done = subprocess.run([tool, *WHOLE], capture_output=True, text=True, check=True)
    assert read_nvidia(done.stdout).gpus[0].busy
