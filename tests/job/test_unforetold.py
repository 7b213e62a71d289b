"""A run whose further datasets nothing foretells: its range is of what is seen, and to grow is not to slip."""

from __future__ import annotations

from datetime import timedelta

import pytest

from console.job.advice_rules.context import Context
from console.job.advice_rules.watch import eta_slipping
from console.job.job_merge import merged
from console.job.plan import Plan, PlannedDataset
from console.job.told import Told
from tests.job.builders import PLAN, Scene, after

SEEN_ONLY = "nothing says what the job does after them"
HOURS = 4.0


def at_work(plan: Plan, *, second_h: float) -> Scene:
    """A dataset from the beginning on, and another one from ``second_h`` on."""
    scene = Scene(plan)
    scene.ready()
    scene.dataset(1, "B3_magicoder")
    for second in range(8, 1_800, 8):
        scene.decode(second)
        if second % 120 == 0:
            scene.progress(second, second // 2, 1_500)
    at = second_h * 3_600
    scene.job(at, "  B3_magicoder: done 9998 (0 err), 9,902,311 tokens in 2.90h, all done")
    scene.dataset(at + 1, "B4_longdocs")
    return scene


def slipping(plan: Plan, *, second_h: float) -> Context:
    """The end was told each ten minutes for three hours, and moved 50 minutes later each hour."""
    scene = at_work(plan, second_h=second_h)
    now, state = after(HOURS * 3_600), scene.tracker.state
    told = []
    for minute in range(0, 180, 10):
        at = now - timedelta(minutes=178 - minute)
        middle = after(8 * 3_600) + timedelta(minutes=minute * 50 / 60)
        told.append(Told(at, middle - timedelta(minutes=10), middle, middle + timedelta(minutes=10)))
    runs = merged(state.log, state.progress, plan)
    return Context(now=now, state=state, runs=runs, plan=plan, told=tuple(told))


@pytest.mark.parametrize(("second_h", "waits"), [(2.0, True), (0.6, False)], ids=["within", "before"])
def test_an_end_that_moves_since_a_dataset_came_that_nothing_foretold_does_not_slip(
    second_h: float, *, waits: bool
) -> None:
    assert (eta_slipping(slipping(Plan(), second_h=second_h)) is None) == waits


def test_an_end_that_moves_though_the_plan_knew_the_dataset_slips() -> None:
    verdict = eta_slipping(slipping(PLAN, second_h=2.0))
    assert verdict is not None
    assert verdict.cause == "eta_slipping"


def basis(plan: Plan, *before: str) -> str:
    """What is said of the whole run's range, the job an hour at work."""
    scene = Scene(plan)
    scene.ready()
    scene.job(0, *before)
    scene.dataset(1, "B3_magicoder")
    for second in range(8, 3_600, 8):
        scene.decode(second)
        if second % 120 == 0:
            scene.progress(second, second // 2, 1_500)
    eta = scene.tracker.snapshot(after(3_601)).eta
    assert eta.at is not None
    return eta.basis


def test_a_replay_without_a_plan_says_what_its_range_is_of() -> None:
    assert SEEN_ONLY in basis(Plan())


def test_a_plan_tells_what_is_to_come() -> None:
    assert SEEN_ONLY not in basis(Plan(datasets=(PlannedDataset("B3_magicoder", 10_000, None, "SHORT"),)))
