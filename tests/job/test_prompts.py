"""How long the prompts of a dataset are, told by what the server computed."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta

import pytest

from console.job.dataset_run import DatasetRun
from console.job.events import ServerLoad, ServerPrefill
from console.job.minutes import Minutes, MinutesDraft
from console.job.prompts import expected_prompt, mean_prompt
from console.job.rank_report import RankReport
from console.job.snapshot import DatasetState
from tests.job.flight_runs import T0

HOUR_S = 3_600.0


def served(datasets: list[tuple[int, int]], *, admissions: bool) -> Minutes:
    """An hour a dataset of so many requests a minute with prompts of so many tokens; each answer has 500.

    Args:
        datasets: Requests a minute, prompt tokens of each.
        admissions: The server prints each admission (SGLang); else only prompt tokens a second (vLLM).
    """
    draft, dice, former = MinutesDraft(Minutes()), random.Random(3), None
    for number, (requests, prompt) in enumerate(datasets):
        for tick in range(360):
            at = T0 + timedelta(seconds=number * HOUR_S + 10 * tick)
            came = requests / 6
            if admissions:
                whole = int(came + dice.random())
                if whole:
                    draft.prefill(ServerPrefill("", whole, whole * prompt, 0, 50, 0, None), at)
            told = ServerLoad(
                "", 50, 0, None, 100_000, came * 50, prompt_tokens_s=0.0 if admissions else came * prompt / 10
            )
            draft.load(told, at, former, 1, None)
            former = RankReport(told, at)
    return draft.freeze()


def ran(name: str, kind: str, hour: int, requests: int, state: DatasetState = DatasetState.DONE) -> DatasetRun:
    begun = T0 + timedelta(hours=hour)
    return DatasetRun(
        name, kind, state, state_at=begun + timedelta(hours=1), started_at=begun, done_run=60 * requests,
        tokens=60 * requests * 500, tokens_before=0,
    )  # fmt: skip


@pytest.mark.parametrize("admissions", [True, False])
def test_each_dataset_has_its_own_mean(admissions: bool) -> None:
    minutes = served([(12, 300), (6, 4_000)], admissions=admissions)
    short, long = ran("a", "SHORT", 0, 12), ran("b", "LONG", 1, 6)
    assert mean_prompt(minutes, short) == pytest.approx(300, rel=0.06)
    assert mean_prompt(minutes, long) == pytest.approx(4_000, rel=0.06)
    assert expected_prompt(minutes, [short, long], "SHORT") == pytest.approx(300, rel=0.06)
    assert expected_prompt(minutes, [short, long], "LONG") == pytest.approx(4_000, rel=0.06)
    assert expected_prompt(minutes, [short, long], "other") == pytest.approx(2_150, rel=0.06)


def test_what_comes_after_a_dataset_is_not_its_own() -> None:
    minutes = served([(12, 300), (6, 4_000)], admissions=True)
    unended = replace(ran("a", "SHORT", 0, 12), state=DatasetState.RUNNING)
    both = mean_prompt(minutes, unended)  # of one that goes on, all would count
    assert both is not None
    assert both > 1.2 * 300


def test_unknown_is_unknown() -> None:
    minutes = served([(12, 300)], admissions=False)
    assert mean_prompt(minutes, replace(ran("a", "", 0, 12), done_run=5)) is None
    assert mean_prompt(minutes, replace(ran("a", "", 0, 12), started_at=None)) is None
    assert mean_prompt(Minutes(), ran("a", "", 0, 12)) is None
    assert mean_prompt(minutes, replace(ran("a", "", 0, 12), tokens=None)) is None
    assert expected_prompt(minutes, [], "SHORT") is None
    assert expected_prompt(Minutes(), [ran("a", "SHORT", 0, 12)], "SHORT") is None
