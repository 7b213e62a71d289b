"""The simulated runs themselves: they repeat, nothing is lost in them, and our parsers understand every line."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from bench.judgement.families import healthy
from bench.judgement.families_calm import calm
from bench.judgement.families_faulty import FAULTS, faulty
from bench.judgement.following import ALL, fresh, moment, recordings
from bench.judgement.laws import LengthLaw, dice_of
from bench.judgement.score_cut import changed_by_cutting
from bench.judgement.simulate import simulate
from console.config_file import load as load_config
from console.replay_files import Given
from console.replay_files import load as load_logs

if TYPE_CHECKING:
    from pathlib import Path

    from bench.judgement.spec import RunSpec
    from bench.judgement.truth import SimRun

HOUR_S = 3600.0
SHAPES = ("kv_full", "few_errors", "operator_restart", "health_noise", "late_lines", "vllm", "ranks", "no_stamps")
"""Healthy runs with lines of their own."""
SLOW = ("runaway_completions", "over_budget")
"""What the logs can't show within the hour."""
_DECODE = re.compile(r"^\[([0-9: -]{19}) .*gen throughput \(token/s\): ([0-9.]+)")


@pytest.fixture(scope="module")
def run() -> SimRun:
    return simulate(healthy(4, hours=2.0))


def test_the_same_seed_gives_the_same_bytes(run: SimRun) -> None:
    again, other = simulate(healthy(4, hours=2.0)), simulate(healthy(5, hours=2.0))
    assert (again.server_log, again.job_log, again.progress) == (run.server_log, run.job_log, run.progress)
    assert again.config == run.config
    assert other.server_log != run.server_log


@pytest.mark.parametrize("family", ["founding", "kv_full", "vllm", "ranks"])
def test_every_token_is_accounted_for(family: str) -> None:
    truth = simulate(calm(family, 2)).truth
    completed = sum(dataset.tokens for dataset in truth.datasets)
    assert truth.decode_tokens + truth.first_tokens == completed + truth.lost_tokens


def test_the_servers_log_adds_up_to_what_it_made() -> None:
    spec = calm("founding", 3)
    run = simulate(replace(spec, server=replace(spec.server, stalls_per_h=0.0)))
    reports = [
        (at, found)
        for at, line in zip(run.server.times, run.server.lines, strict=True)
        if (found := _DECODE.match(line))
    ]
    told = sum((after[0] - before[0]) * float(after[1][2]) for before, after in pairwise(reports))
    assert told == pytest.approx(run.truth.decode_tokens, rel=0.01)


def test_the_jobs_two_records_agree_with_the_truth(run: SimRun) -> None:
    made = [
        int(each.replace(",", "")) for each in re.findall(r": done .* err\), ([0-9,]+) tokens", run.job_log.decode())
    ]
    events = [json.loads(line) for line in run.events.lines]
    for dataset, told in zip([each for each in run.truth.datasets if each.begin is not None], made, strict=True):
        mine = [each for each in events if each["event"] == "completion" and each["dataset"] == dataset.name]
        assert sum(each["completion_tokens"] for each in mine) == dataset.tokens
        assert len(mine) == dataset.count
        started = next(
            each for each in events if each["event"] == "dataset_started" and each["dataset"] == dataset.name
        )
        assert started["tokens"] + dataset.tokens == told


def early(spec: RunSpec) -> RunSpec:
    """What happens comes as soon as it may: the rest of the run has no other lines."""
    events = tuple(replace(event, at_s=min(event.at_s, 0.3 * HOUR_S)) for event in spec.events)
    soon = all(event.dataset < 0 and event.kind not in SLOW for event in events)
    return replace(spec, events=events, limit_s=(1.3 if soon else 4.5) * HOUR_S)


@pytest.mark.parametrize("family", [*SHAPES, *FAULTS])
def test_our_parsers_understand_every_line(family: str) -> None:
    spec = early(faulty(family, 1)) if family in FAULTS else replace(early(calm(family, 1)), limit_s=HOUR_S)
    run = simulate(spec)
    tracker = fresh(run)
    for log in recordings(run, ALL):
        tracker.feed(log.source, log.between(0, log.times[-1])[1], log.times[-1])
    logs = tracker.snapshot(moment(run.truth.watch_until)).logs
    assert {log.source: log.understood for log in logs} == {log.source: 1.0 for log in logs}
    assert len(logs) == (3 if spec.job.progress_jsonl else 2)
    assert family not in FAULTS or run.truth.visible is not None


def test_logs_are_dated_as_a_replay_of_the_files_dates_them(run: SimRun, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("server.log", "job.log", "progress.jsonl", "longwait.yaml")]
    for path, data in zip(paths, (run.server_log, run.job_log, run.progress), strict=False):
        path.write_bytes(data)
    paths[3].write_text(json.dumps(run.config))
    given = Given(server_log=paths[0], job_log=paths[1], progress=paths[2], zone=None)
    read = load_logs(given, load_config(paths[3]))
    for ours, theirs in zip(recordings(run, ALL), read.logs, strict=True):
        assert (ours.source, list(ours.log.lines())) == (theirs.source, list(theirs.log.lines()))
        assert list(ours.ends) == list(theirs.ends)
        assert list(ours.times) == [at.astimezone(UTC).replace(microsecond=0) for at in theirs.times]


def test_the_pool_holds_no_more_than_it_can(run: SimRun) -> None:
    usages = [float(each) for each in re.findall(r"token usage: ([0-9.]+)", run.server_log.decode())]
    assert max(usages) <= 1.0
    assert max(usages) > 0.3


@pytest.mark.parametrize("shape", ["lognormal", "gamma", "weibull", "fixed", "mixture"])
def test_laws_have_the_mean_that_they_name(shape: str) -> None:
    law = LengthLaw(shape, 1000.0, 0.1 if shape == "fixed" else 0.8, second=3000.0, share=0.25)
    dice = dice_of("test", shape)
    drawn = [law.draw(dice) for _ in range(20_000)]
    assert sum(drawn) / len(drawn) == pytest.approx(1500.0 if shape == "mixture" else 1000.0, rel=0.03)


@pytest.mark.parametrize("family", ["healthy", "server_stalled"])
def test_a_reading_is_the_same_when_the_files_end_at_its_moment(family: str) -> None:
    run = simulate(healthy(6, hours=1.0) if family == "healthy" else faulty(family, 2))
    span = run.truth.watch_until - run.truth.start
    times = [float(int(run.truth.start + share * span)) for share in (0.07, 0.64)]
    assert changed_by_cutting(run, times, ALL) == []


def test_a_clock_that_jumps_shows_in_the_stamps() -> None:
    spec = faulty("clock_jump", 1)
    run = simulate(spec)
    stamps = [datetime.fromisoformat(found[1]) for line in run.server.lines if (found := _DECODE.match(line))]
    steps = [(after - before).total_seconds() for before, after in pairwise(stamps)]
    jump = spec.events[0].size
    assert any(abs(step - jump) < 300 for step in steps)
