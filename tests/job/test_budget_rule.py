"""What a job does when a budget is used up is seen from a dataset that ended so, and says what is still owed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from console.job.budget_rule import BudgetRule, rules_of
from console.job.dataset_run import DatasetRun
from console.job.minutes import Minutes
from console.job.snapshot import DatasetState
from console.job.stage import Stage
from tests.job.laws import exponential

BEGIN = datetime(2026, 2, 24, tzinfo=UTC)
LAW = exponential(1_000)
HALF = Stage("B1", begun=True, laws=(LAW,), prompts=5_000, budget=100_000.0, concurrency=150, running=50.0)
AGES = tuple((float(age), 5) for age in range(0, 2_000, 200))


def _ended(tokens: int, concurrency: int = 150) -> DatasetRun:
    return DatasetRun(
        "B1",
        state=DatasetState.BUDGET_REACHED,
        state_at=BEGIN + timedelta(hours=2),
        started_at=BEGIN,
        done_run=1_000,
        tokens=tokens,
        budget=1_000_000,
        concurrency=concurrency,
    )


def test_before_it_was_seen_all_ways_are_possible() -> None:
    assert set(rules_of((), Minutes())) == set(BudgetRule)


@pytest.mark.parametrize(
    ("beyond", "rule"),
    [
        (170_000, BudgetRule.FINISHES),  # a mean answer of each of 150, also of those that waited in the server
        (60_000, BudgetRule.AVERAGES),  # less than that, and far more than nothing
    ],
)
def test_the_tokens_beyond_a_budget_tell_the_way(beyond: int, rule: BudgetRule) -> None:
    assert rules_of([_ended(1_000_000 + beyond)], Minutes()) == (rule,)


def test_what_waits_in_the_server_is_finished_too() -> None:
    met = replace(HALF, budget=0.0, ages=AGES, queued=100)
    assert met.by_budget(LAW, 50, BudgetRule.FINISHES) == pytest.approx(met.in_flight(LAW) + 100 * LAW.mean)
    ahead = HALF.by_budget(LAW, 50, BudgetRule.FINISHES)
    # 100 that wait with their whole answer, and 50 that run with what is left of theirs, beyond the budget.
    assert ahead == pytest.approx(100_000 + 2 * 50 * LAW.residual_mean_equilibrium + 100 * LAW.mean)


def test_long_answers_taken_for_mean_ones_go_beyond() -> None:
    foresees = HALF.by_budget(LAW, 50, BudgetRule.FORESEES)
    averages = HALF.by_budget(LAW, 50, BudgetRule.AVERAGES)
    assert foresees == pytest.approx(100_000)
    # Of an exponential law those that run are twice as long as the mean.
    assert averages == pytest.approx(100_000 + 50 * 1_000, rel=0.02)


def test_what_was_sent_is_finished_though_the_budget_is_met() -> None:
    met = replace(HALF, budget=1_000.0, ages=AGES, queued=20)
    for rule in (BudgetRule.FORESEES, BudgetRule.AVERAGES):
        assert (met.by_budget(LAW, 50, rule) or 0.0) >= met.in_flight(LAW) + 20 * LAW.mean
