"""What each unfinished dataset still needs."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from statistics import fmean
from typing import TYPE_CHECKING

import pytest

from console.job.dataset_run import DatasetRun
from console.job.events import ServerCapacity, ServerLoad
from console.job.minutes import Minutes, MinutesDraft
from console.job.plan import PlannedDataset
from console.job.rank_report import RankReport
from console.job.server_state import ServerState
from console.job.snapshot import DatasetState
from console.job.stages import ahead_of
from tests.job.flight_runs import T0

if TYPE_CHECKING:
    from console.job.stage import Stage

NOW = T0 + timedelta(hours=3)


def at_work(kind: str, concurrency: int | None = 160) -> DatasetRun:
    return DatasetRun(
        "a", kind, DatasetState.RUNNING, started_at=T0, updated_at=NOW, done_run=2_000, tokens=1_000_000,
        tokens_before=0, total=5_000, max_tokens=8_192, concurrency=concurrency, requests=5_000,
    )  # fmt: skip


def waiting(kind: str) -> DatasetRun:
    return DatasetRun("b", kind, total=3_000, max_tokens=8_192)


def stages(runs: list[DatasetRun], server: ServerState, plan: dict[str, PlannedDataset] | None = None) -> list[Stage]:
    return list(ahead_of(runs, server, plan or {}, 50.0, NOW).stages)


@pytest.mark.parametrize(
    ("first", "second", "known", "expected"),
    [
        ("SHORT", "SHORT", 160, 160),
        ("SHORT", "LONG", 160, 56),
        ("LONG", "SHORT", 56, 160),
        ("", "LONG", 100, 59),
        ("SHORT", "LONG", None, None),
        ("SHORT", "LONG", 1, 1),
    ],
)
def test_a_class_not_seen_yet_is_sent_as_its_name_says(
    first: str, second: str, known: int | None, expected: int | None
) -> None:
    found = stages([at_work(first, known), waiting(second)], ServerState())
    assert found[1].concurrency == expected


def test_the_plan_knows_better_than_a_class() -> None:
    plan = {"b": PlannedDataset("b", 3_000, None, "LONG", concurrency=12)}
    assert stages([at_work("SHORT"), waiting("LONG")], ServerState(), plan)[1].concurrency == 12


CAPACITY = ServerCapacity(500_000, None, None)
RUNNING = 100


def served(mean: float, prompt: int, *, seconds: int) -> tuple[ServerState, float]:
    """A vLLM server on which answers of an exponential law have come and gone, and what those in flight have made."""
    dice, draft, former = random.Random(5), MinutesDraft(Minutes()), None
    left = [dice.expovariate(1 / mean) for _ in range(RUNNING)]
    ages = [0.0] * RUNNING
    report = None
    for tick in range(10, seconds, 10):
        at = NOW - timedelta(seconds=seconds - tick)
        came = 0
        for place in range(RUNNING):
            ages[place] += 100.0
            left[place] -= 100.0
            if left[place] <= 0:
                came, ages[place], left[place] = came + 1, 0.0, dice.expovariate(1 / mean)
        held = sum(ages) + RUNNING * prompt
        report = ServerLoad(
            "", RUNNING, 0, held / CAPACITY.max_total_tokens, None, 10.0 * RUNNING, prompt_tokens_s=came * prompt / 10
        )
        draft.load(report, at, former, 1, CAPACITY)
        former = RankReport(report, at)
    assert former is not None
    return ServerState(capacity=CAPACITY, minutes=draft.freeze(), ranks=(("", former),)), sum(ages)


def test_what_is_in_flight_on_a_server_without_admissions_is_not_owed_again() -> None:
    server, made = served(1_500.0, 400, seconds=9_000)
    run = at_work("SHORT")
    stage = stages([run], server)[0]
    assert sum(number for _, number in stage.ages) == RUNNING
    assert stage.made == pytest.approx(made, rel=0.25)
    law = stage.laws[len(stage.laws) // 2]
    # Answers in flight are longer than the mean: what they still make is told by their ages, not by the mean less those.
    assert stage.prompts is not None
    expected = fmean(law.mean_left(age) for age, _ in stage.ages) * RUNNING + (stage.prompts - RUNNING) * law.mean
    assert stage.by_prompts(law) == pytest.approx(expected, rel=0.02)


def test_no_more_are_in_flight_than_there_are_prompts_left() -> None:
    server, _ = served(1_500.0, 400, seconds=3_000)
    run = DatasetRun(
        "a", "SHORT", DatasetState.RUNNING, started_at=T0, updated_at=NOW, done_run=4_970, tokens=2_500_000,
        tokens_before=0, total=5_000, max_tokens=8_192, concurrency=RUNNING, requests=5_000,
    )  # fmt: skip
    stage = stages([run], server)[0]
    assert stage.prompts == sum(number for _, number in stage.ages) == 30


def test_a_dataset_whose_prompts_are_all_done_is_over_once_another_has_begun() -> None:
    """Not each job says that a dataset has ended; what the server shows since then is of the next one."""
    server, _ = served(1_500.0, 400, seconds=3_000)
    spent = replace(at_work("SHORT"), done_run=5_000, tokens=2_500_000, started_at=T0 - timedelta(hours=1))
    named = replace(at_work("SHORT"), name="b")
    assert [stage.name for stage in stages([spent, named], server)] == ["b"]
    assert [stage.name for stage in stages([spent, waiting("SHORT")], server)] == ["a", "b"]
    assert [stage.name for stage in stages([replace(spent, done_run=4_999), named], server)] == ["a", "b"]
