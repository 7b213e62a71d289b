"""Means are printed to one token: over thousands of completions that rounding must not look like a runaway model."""

from __future__ import annotations

import pytest

from tests.job.builders import Scene, after, announcement
from tests.job.test_advice import judged
from tests.job.test_advice_causes import NO_PLAN

LIMIT, TOTAL = 512, 40_000


def begun(name: str = "B3_magicoder", *, limit: int = LIMIT) -> Scene:
    """A dataset with a small limit and many prompts, and no budget, is sent."""
    scene = Scene(NO_PLAN)
    scene.ready()
    sent(scene, 0, name, limit=limit)
    return scene


def sent(scene: Scene, second: int, name: str, *, limit: int = LIMIT) -> None:
    line = f"  Running {TOTAL} requests (concurrency=150, max_tokens={limit}, token_budget=100,000,000)..."
    scene.job(second, *announcement(name), f"  {name}: {TOTAL} prompts tokenized", line)


def counts(scene: Scene, begin: int, marks: list[tuple[int, int]]) -> set[tuple[str, str]]:
    """The job prints these counts and means, a minute apart while the server works; what is judged after each."""
    found = set()
    for place, (done, mean) in enumerate(marks):
        second = begin + 60 * place
        for step in range(4, 60, 8):
            scene.decode(second + step)
        scene.progress(second + 60, done, mean, total=TOTAL)
        found.add(judged(scene, second + 61))
    return found


@pytest.mark.parametrize("true_mean", [180.45, 180.47, 180.49])
def test_a_mean_that_is_rounded_up_by_one_token_says_nothing_of_the_newest_fifty(true_mean: float) -> None:
    """The true mean creeps over the half by a hundredth: fifty completions would seem to reach the limit each."""
    marks = [(20_000 + 50 * place, round(true_mean + 0.01 * place)) for place in range(10)]
    assert {mean for _, mean in marks} == {180, 181}
    assert LIMIT < (181 * 20_050 - 180 * 20_000) / 50
    assert not any(cause == "runaway_completions" for _, cause in counts(begun(), 60, marks))


def test_nor_does_one_that_is_two_tokens_higher() -> None:
    marks = [(12_000, 180), (12_050, 180), (12_100, 182), (12_150, 182), (12_200, 182)]
    assert LIMIT < (182 * 12_100 - 180 * 12_050) / 50
    assert not any(cause == "runaway_completions" for _, cause in counts(begun(), 60, marks))


def test_a_true_runaway_after_thousands_of_completions_is_still_told() -> None:
    """Five thousand of 180 tokens, then each one runs into the limit."""
    marks = [(5_000, 180)]
    marks += [(done, round((5_000 * 180 + (done - 5_000) * LIMIT) / done)) for done in range(5_050, 6_001, 50)]
    scene = begun()
    found = counts(scene, 60, marks)
    assert ("intervene", "runaway_completions") in found
    assert judged(scene, 60 + 60 * len(marks) + 1) == ("intervene", "runaway_completions")
    words = " ".join(scene.tracker.snapshot(after(60 + 60 * len(marks) + 1)).verdict.evidence)
    assert "% of it." in words


def other_first(mean: int) -> Scene:
    """A dataset with a large limit is done; then one with a small limit, of which each completion reaches it."""
    scene = begun("B1_glaive", limit=16_384)
    counts(scene, 60, [(50 * place, mean) for place in range(1, 7)])
    scene.job(430, f"  B1_glaive: done 300 (0 err), {300 * mean:,} tokens in 0.12h, all done")
    sent(scene, 440, "B3_magicoder")
    return scene


def test_a_limit_that_cuts_what_other_datasets_need_is_meant_to_cut() -> None:
    marks = [(200 * place, 500) for place in range(1, 7)]
    assert not any(cause == "runaway_completions" for _, cause in counts(other_first(2_000), 440, marks))


def test_other_datasets_that_end_far_below_this_limit_show_that_this_one_runs_away() -> None:
    marks = [(200 * place, 508) for place in range(1, 7)]
    assert ("intervene", "runaway_completions") in counts(other_first(150), 440, marks)
