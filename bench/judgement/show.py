"""One run to look at: its logs in a folder, its truth, and the reading at a moment."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bench.judgement.following import fresh, moment, recordings
from bench.judgement.scored import WAYS, spec_of
from bench.judgement.simulate import simulate
from console.job.reading import text
from console.replay_moments import moments_of
from console.replay_walk import Replay

if TYPE_CHECKING:
    from pathlib import Path

    from bench.judgement.truth import SimRun


def show(family: str, seed: int, moments: str, folder: Path, way: str) -> str:
    """Write a run's logs down, and give its truth and its readings.

    Args:
        family: See ``spec_of``.
        seed: Of the run.
        moments: As ``longwait replay --at`` takes them.
        folder: Where its logs go.
        way: A key of ``WAYS``.
    """
    run = simulate(spec_of(family, seed))
    folder.mkdir(parents=True, exist_ok=True)
    files = {"server.log": run.server_log, "job.log": run.job_log, "progress.jsonl": run.progress}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    # JSON is YAML.
    (folder / "longwait.yaml").write_text(json.dumps(run.config, indent=2) + "\n", encoding="utf-8")
    logs = recordings(run, WAYS[way])
    replay = Replay(logs, lambda: fresh(run))
    command = f"longwait replay --config {folder}/longwait.yaml --server-log {folder}/server.log"
    parts = [
        f"Written to {folder}: {', '.join(files)}, longwait.yaml.",
        f"The same by hand: {command} --job-log {folder}/job.log --at {moments}",
        truth_words(run),
    ]
    parts += [f"---- {at:%Y-%m-%d %H:%M:%S}Z\n{text(replay.at(at))}" for at in moments_of(moments, logs)]
    return "\n".join(parts)


def truth_words(run: SimRun) -> str:
    """What is true of a run."""
    truth = run.truth
    lines = [f"True: starts {_time(truth.start)}, ends {_time(truth.end)}, watched until {_time(truth.watch_until)}"]
    if truth.fault:
        lines.append(f"  {truth.fault} from {_time(truth.onset)}, to be seen from {_time(truth.visible)}")
    lines += [
        f"  {each.name}: {_time(each.begin)} to {_time(each.end)} ({each.reason or '--'}), {each.count} completions, "
        f"mean {each.mean or 0:.0f}"
        for each in truth.datasets
    ]
    return "\n".join(lines)


def _time(at: float | None) -> str:
    return "--" if at is None else f"{moment(at):%d %H:%M:%S}"
