"""How far back failures are looked at: as far as the job's words are apart; and whose fault a silent server is."""

from __future__ import annotations

import itertools

import pytest

from tests.job.builders import Scene, steady_run
from tests.job.test_advice import judged

MINUTE = 60
APART_S = 14 * MINUTE
"""Seconds between the words of a job that speaks seldom."""

STORM = ("intervene", "error_storm")


def told_seldom(scene: Scene, begin: int, words: int, *, every: int, failed: int = 60, ended: int = 60) -> list[bool]:
    """The server works on; each ``every`` seconds the job tells of new failures. Minute by minute: is it a storm?"""
    done, errors, found = 1_000, 0, []
    for word in range(words):
        for second in range(begin + word * every, begin + (word + 1) * every, MINUTE):
            for step in range(0, MINUTE, 10):
                scene.decode(second + step)
            found.append(judged(scene, second + MINUTE - 5) == STORM)
        done, errors = done + ended, errors + failed
        scene.progress(begin + (word + 1) * every, done, 1_500, errors=errors)
    return found


def changes(found: list[bool]) -> int:
    return sum(old != new for old, new in itertools.pairwise(found))


@pytest.mark.parametrize("apart_s", [8 * MINUTE, APART_S])
def test_a_storm_that_is_told_of_seldom_holds_between_the_words(apart_s: int) -> None:
    found = told_seldom(steady_run(30), 1_860, 7, every=apart_s)
    assert any(found)
    assert changes(found) == 1
    assert found[-1]


def test_and_ends_when_words_without_new_failures_come() -> None:
    scene = steady_run(30)
    assert told_seldom(scene, 1_860, 4, every=APART_S)[-1]
    end = 1_860 + 4 * APART_S
    found = []
    for word in range(1, 5):
        for second in range(end + (word - 1) * APART_S, end + word * APART_S, MINUTE):
            scene.decode(second)
            scene.decode(second + 30)
            found.append(judged(scene, second + 31) == STORM)
        scene.progress(end + word * APART_S, 1_240 + 120 * word, 1_500, errors=240)
    assert found[0]
    assert not found[-1]
    assert changes(found) == 1


def test_few_failures_that_are_told_of_each_fourteen_minutes_are_no_storm() -> None:
    assert not any(told_seldom(steady_run(30), 1_860, 6, every=APART_S, failed=4, ended=116))


def sent_in_vain(scene: Scene, begin: int, end: int, *, every: int, at_once: int) -> list[tuple[str, str]]:
    """The server says nothing more; each ``every`` seconds so many requests have failed. What is judged each time."""
    done, errors = scene.tracker.state.log.datasets[2].done_run, 0
    found = []
    for second in range(begin, end, 10):
        if (second - begin) % every == 0 and second > begin:
            errors += at_once
            scene.progress(second, done, 1_500, errors=errors)
        found.append(judged(scene, second + 1))
    return found


def test_requests_that_fail_at_once_are_a_storm_and_no_server_that_hangs() -> None:
    """They never reach it, so it has nothing to do: to restart it would mend nothing."""
    found = sent_in_vain(steady_run(30), 1_800, 2_300, every=20, at_once=30)
    assert ("intervene", "server_stalled") not in found
    assert found[-1] == STORM


def test_requests_that_time_out_together_are_a_server_that_hangs() -> None:
    """A hung server answers none of them: all 150 are given up at one age, long after it fell silent."""
    scene = steady_run(30)
    found = sent_in_vain(scene, 1_800, 2_410, every=600, at_once=150)
    assert found[59] == ("intervene", "server_stalled")  # before they are given up
    assert judged(scene, 3_100) == ("intervene", "server_stalled")  # and when that was long ago
    assert ("intervene", "error_storm") not in found
