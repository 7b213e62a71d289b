"""One DP rank of several that stands still: told although the server as a whole works on, and not of one that ran out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.job.builders import Scene, after
from tests.job.test_advice import judged

if TYPE_CHECKING:
    from collections.abc import Mapping

EVEN = {"DP0": 37, "DP1": 38, "DP2": 37, "DP3": 38}
"""150 requests in flight on four ranks; no progress line comes while nothing is said of one."""


def ranks_work(scene: Scene, begin: int, end: int, held: Mapping[str, int], *, admits: bool = True) -> None:
    """Some ranks report each four seconds; with ``admits`` one of them admits a request each 20 seconds."""
    for second in range(begin, end, 4):
        for name, running in held.items():
            if admits and second % 20 == 0 and name == min(held):
                prefill = (
                    "Prefill batch, #new-seq: 1, #new-token: 800, #cached-token: 0, token usage: 0.80, "
                    f"#running-req: {running - 1}, #queue-req: 0"
                )
                scene.server(second, prefill, rank=name)
            scene.decode(second, running, 0, 211.0, rank=name, usage=0.4)


def four_ranks(minutes: int = 30) -> Scene:
    """They share the work evenly for some time."""
    scene = Scene()
    scene.ready()
    scene.begin()
    ranks_work(scene, 8, minutes * 60, EVEN)
    scene.progress(minutes * 60, 600, 1_900)
    return scene


def without(name: str, held: Mapping[str, int] = EVEN) -> dict[str, int]:
    return {each: running for each, running in held.items() if each != name}


def test_a_rank_that_hangs_is_told_although_the_others_work_on() -> None:
    scene = four_ranks()
    ranks_work(scene, 1_800, 1_910, without("DP2"))
    assert judged(scene, 1_912)[0] != "intervene"
    ranks_work(scene, 1_912, 1_960, without("DP2"))
    assert judged(scene, 1_962) == ("intervene", "server_stalled")
    verdict = scene.tracker.snapshot(after(1_962)).verdict
    assert "rank DP2 of the server has been silent 3 min over 37 running requests" in verdict.headline
    assert "150 requests are in flight, of which the other ranks hold 113." in verdict.evidence


def test_a_rank_whose_requests_went_to_the_others_is_not_missed() -> None:
    scene = four_ranks()
    ranks_work(scene, 1_800, 2_400, {"DP0": 50, "DP1": 50, "DP3": 50})
    assert judged(scene, 2_402)[0] != "intervene"


def test_a_rank_that_reported_its_last_few_requests_has_ended_them() -> None:
    scene = four_ranks()
    scene.decode(1_800, 2, 0, 30.0, rank="DP2", usage=0.02)
    ranks_work(scene, 1_804, 2_400, without("DP2"))
    assert judged(scene, 2_402)[0] != "intervene"


@pytest.mark.parametrize("done", [9_800, 9_900])
def test_ranks_run_out_one_after_the_other_at_a_dataset_s_end(done: int) -> None:
    scene = four_ranks()
    scene.progress(1_801, done + 50, 900)
    ranks_work(scene, 1_804, 2_400, without("DP2"), admits=False)
    assert judged(scene, 2_402)[0] != "intervene"


def test_ranks_run_out_when_the_budget_is_nearly_met() -> None:
    scene = four_ranks()
    scene.progress(1_801, 5_000, 1_900)  # 9.5 of 10 M
    ranks_work(scene, 1_804, 2_400, without("DP2"), admits=False)
    assert judged(scene, 2_402)[0] != "intervene"


def test_a_rank_that_has_not_spoken_since_the_dataset_began_may_have_ended_what_it_had() -> None:
    scene = four_ranks()
    scene.job(1_801, "  B3_magicoder: done 9998 (0 err), 9,990,000 tokens in 0.50h, all done")
    ranks_work(scene, 1_804, 2_004, {"DP0": 1}, admits=False)
    scene.dataset(2_004, "B3b_more")
    ranks_work(scene, 2_008, 2_150, {"DP0": 37})
    assert judged(scene, 2_152)[0] != "intervene"


def test_a_rank_that_computes_prompts_may_say_nothing_of_its_batch_for_long() -> None:
    scene = four_ranks()
    prompts = "Prefill batch, #new-seq: 1, #new-token: 16000, #cached-token: 0, token usage: 0.80, #running-req: 37, #queue-req: 0"
    for begin in range(1_800, 2_300, 20):
        ranks_work(scene, begin, begin + 20, without("DP2"))
        scene.server(begin + 19, prompts, rank="DP2")
    assert judged(scene, 2_302)[0] != "intervene"
    ranks_work(scene, 2_304, 2_410, without("DP2"))
    assert judged(scene, 2_412) == ("intervene", "server_stalled")


def test_where_no_admissions_are_told_a_budget_that_is_far_proves_that_requests_are_sent() -> None:
    scene = four_ranks()
    ranks_work(scene, 1_800, 1_960, without("DP2"), admits=False)
    assert judged(scene, 1_962) == ("intervene", "server_stalled")
