"""No signal reaches a stranger, whatever takes the job's number, and when: a sample of ``bench.signals``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench import signals
from bench.signal_world import Model
from remote.payload import procctl

ROOT = Path(__file__).parents[2]


def test_no_signal_reaches_a_stranger_over_a_model_of_the_process_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert not signals.trials(0, 1500, Model()), capsys.readouterr().out
    assert "trials over a model" in capsys.readouterr().out


@pytest.mark.skipif(signals.namespace() is None, reason="no pid namespace is allowed here")
def test_no_signal_reaches_a_stranger_in_a_pid_namespace() -> None:
    argv = [sys.executable, "-m", "bench.signals", "--trials", "14", "--first", "700"]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "trials in a pid namespace" in done.stdout


def test_the_trials_would_notice(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(procctl, "same_now", lambda proc: proc)
    assert signals.trials(0, 100, Model())
    assert "a stranger" in capsys.readouterr().out
