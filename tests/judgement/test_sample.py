"""A sample of the judgement's figures, small enough for every day; ``python -m bench.judgement`` measures them in full.

The thresholds are what a few seeds must keep to, wider than what is aimed at over hundreds of runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.judgement.families import healthy
from bench.judgement.families_faulty import faulty
from bench.judgement.following import LOGS, play
from bench.judgement.score_alarms import AlarmScorer
from bench.judgement.score_eta import EtaScorer
from bench.judgement.score_lengths import LengthScorer
from bench.judgement.simulate import simulate
from bench.judgement.tables import missing_as, quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

SEEDS = (2, 5, 7, 9)
HOURS = 2.0

WHOLE = {0.05: 0.25, 0.25: 0.20, 0.50: 0.20, 0.75: 0.15, 0.90: 0.15}
"""Stage of the whole run to the largest median error of its time left."""
DATASET = {0.10: 0.25, 0.25: 0.15, 0.50: 0.15, 0.75: 0.20}
"""The same for the dataset at work."""
LENGTHS = {50: 0.30, 100: 0.16, 200: 0.10}
"""Completions to the largest median error of the mean length."""
COVERAGE = (0.6, 1.0)
"""Share of the ranges, over all stages, that hold the truth."""
DELAYS = {
    "server_stalled": 240.0,
    "server_down": 120.0,
    "job_dead": 240.0,
    "error_storm": 900.0,
    "over_budget": 180.0,
    "disk_full": 120.0,
}
"""Fault to the longest time, seconds, from when the logs can show it to the right alarm."""


@pytest.fixture(scope="module")
def scored() -> list[tuple[EtaScorer, LengthScorer, AlarmScorer]]:
    found = []
    for seed in SEEDS:
        spec = healthy(seed, HOURS)
        run = simulate(spec)
        takers = EtaScorer(spec, run), LengthScorer(spec, run), AlarmScorer(spec, run)
        play(run, LOGS, *takers)
        found.append(takers)
    return found


def middle(errors: Sequence[float | None]) -> float:
    value = quantile(missing_as(errors, 1.0), 0.5)
    assert value is not None, "nothing was scored"
    return value


@pytest.mark.parametrize("stage", WHOLE)
def test_time_left_of_the_whole_run(scored: list[tuple[EtaScorer, LengthScorer, AlarmScorer]], stage: float) -> None:
    said = [each for eta, _, _ in scored for each in eta.score.whole if each.stage == stage]
    assert len(said) == len(SEEDS)
    assert all(each.said_s is not None and each.low_s is not None for each in said), "there is always a range"
    assert middle([each.error for each in said]) <= WHOLE[stage]


@pytest.mark.parametrize("stage", DATASET)
def test_time_left_of_the_dataset(scored: list[tuple[EtaScorer, LengthScorer, AlarmScorer]], stage: float) -> None:
    said = [each for eta, _, _ in scored for each in eta.score.datasets if each.stage == stage]
    assert middle([each.error for each in said]) <= DATASET[stage]


@pytest.mark.parametrize("after", LENGTHS)
def test_mean_length(scored: list[tuple[EtaScorer, LengthScorer, AlarmScorer]], after: int) -> None:
    found = [each for _, lengths, _ in scored for each in lengths.found if each.after == after]
    assert middle([each.error(each.expected) for each in found]) <= LENGTHS[after]


def test_ranges_hold_about_as_often_as_they_say(scored: list[tuple[EtaScorer, LengthScorer, AlarmScorer]]) -> None:
    holds = [each.holds for eta, _, _ in scored for each in eta.score.whole if each.holds is not None]
    low, high = COVERAGE
    assert low <= sum(holds) / len(holds) <= high


def test_no_healthy_run_is_to_be_touched(scored: list[tuple[EtaScorer, LengthScorer, AlarmScorer]]) -> None:
    assert sum(alarms.score.healthy_h for _, _, alarms in scored) > 0.8 * HOURS * len(SEEDS)
    assert [each for _, _, alarms in scored for each in alarms.score.false if each.verdict == "intervene"] == []


@pytest.mark.parametrize("kind", DELAYS)
def test_a_fault_is_found_in_time_and_named(kind: str) -> None:
    spec = faulty(kind, 3)
    run = simulate(spec)
    scorer = AlarmScorer(spec, run)
    play(run, LOGS, scorer)
    assert scorer.score.kind == kind, "the fault has to come about"
    assert scorer.score.delay_s is not None, scorer.score.said
    assert scorer.score.delay_s <= DELAYS[kind]
    assert scorer.score.named, scorer.score.first
    assert [each for each in scorer.score.false if each.verdict == "intervene"] == []
