"""When a job that falls silent is dead: its way of speaking, its server and its clock must all be fit to tell."""

from __future__ import annotations

from itertools import cycle

import pytest

from console.job.events import Source
from tests.job.builders import Scene, after, announcement, steady_run
from tests.job.test_advice import judged
from tests.job.test_advice_causes import NO_PLAN, RUNNING, at_work, words

DEAD = ("intervene", "job_dead")


def speaks(scene: Scene, begin: int, end: int, pauses: tuple[int, ...], steps: tuple[int, ...]) -> int:
    """The server works and the job tells of its progress; when it did so last."""
    done, last, pause, step = 1_000, begin, cycle(pauses), cycle(steps)
    due = begin + next(pause)
    for second in range(begin, end, 2):
        scene.decode(second)
        if second >= due:
            done, last, due = done + next(step), second, second + next(pause)
            scene.progress(second, done, 1_500)
    return last


def by_counts() -> tuple[Scene, int]:
    """A job that speaks whenever fifty more are done, twice a minute or so."""
    scene = steady_run(30)
    return scene, speaks(scene, 1_804, 2_604, (30, 50, 70, 40), (50,))


def by_the_clock(steps: tuple[int, ...] = (17, 23, 31)) -> tuple[Scene, int]:
    """A job that speaks each minute."""
    scene = steady_run(30)
    return scene, speaks(scene, 1_804, 2_604, (60,), steps)


def test_a_job_that_speaks_by_counts_is_silent_because_its_server_hangs() -> None:
    scene, _ = by_counts()
    said = {judged(scene, second) for second in range(2_610, 3_000, 10)}
    assert DEAD not in said
    assert judged(scene, 3_000) == ("intervene", "server_stalled")


@pytest.mark.parametrize("make", [by_counts, by_the_clock])
def test_while_the_server_loads_anew_every_job_waits(make: object) -> None:
    assert callable(make)
    scene, last = make()
    scene.server(
        last + 4, "server_args=ServerArgs(model_path='/models/m', tp_size=8)", "Load weight begin. avail mem=78.5 GB"
    )
    assert DEAD not in {judged(scene, second) for second in range(last + 10, last + 500, 10)}


@pytest.mark.parametrize("steps", [(17, 23, 31), (50,)], ids=["any number", "one count by chance"])
def test_a_job_that_speaks_by_the_clock_is_missed(steps: tuple[int, ...]) -> None:
    scene, last = by_the_clock(steps)
    assert judged(scene, last + 50) != DEAD
    assert judged(scene, last + 150) == DEAD


def test_a_job_that_speaks_by_counts_is_missed_when_its_server_ran_out_of_work() -> None:
    scene, last = by_counts()
    for place, second in enumerate(range(2_604, 2_654, 2)):
        scene.decode(second, running=max(0, 48 - 2 * place), queue=0, usage=0.1, tok_s=200)
    assert DEAD in {judged(scene, second) for second in range(last + 100, last + 240, 10)}


# Guessed times -------------------------------------------------------------------------------------------------------


def bare(scene: Scene, second: float, *lines: str) -> None:
    """Lines without a stamp: when they were written is a guess."""
    scene.tracker.feed(Source.JOB, "".join(f"{line}\n" for line in lines).encode(), after(second))


def unstamped() -> Scene:
    scene = Scene(NO_PLAN)
    scene.ready()
    bare(scene, 0, *announcement("B3_magicoder"), "  B3_magicoder: 10000 prompts tokenized", RUNNING)
    return scene


def count(done: int, mean: int) -> str:
    return f"  {done}/10000 (0 err) 0.4 req/s avg_comp={mean}tok tot={done * mean / 1e6:.1f}M ETA=1.9h"


def test_guessed_times_do_not_show_that_a_job_fell_silent() -> None:
    scene = unstamped()
    for second in range(4, 1_204, 4):
        scene.decode(second)
        if second % 60 == 0:
            bare(scene, second, count(second, 1_500))
    assert DEAD not in {judged(scene, second) for second in range(1_210, 1_500, 10)}


@pytest.mark.parametrize("stamped", [False, True])
def test_guessed_times_do_not_show_that_requests_were_sent_after_a_budget_was_met(*, stamped: bool) -> None:
    scene = at_work(RUNNING, plan=NO_PLAN) if stamped else unstamped()
    for second, done in ((200, 4_990), (300, 5_010), (400, 5_060)):
        if stamped:
            scene.progress(second, done, 2_000)
        else:
            bare(scene, second, count(done, 2_000))
    scene.decode(404, running=50, queue=100)
    assert (judged(scene, 405) == ("intervene", "over_budget")) == stamped


# A last word of trouble ----------------------------------------------------------------------------------------------

DYING = ("Traceback (most recent call last):", '  File "a.py", line 1, in f', "KeyError: 'output_ids'")


def dies(scene: Scene, *, seconds: int) -> bool:
    """The job's log ends with a traceback, and the server works off what it holds; is it told as dead?"""
    scene.job(1_806, *DYING)
    found = False
    for second in range(1_808, 1_806 + seconds, 4):
        held = max(60, 148 - (second - 1_808))
        scene.decode(second, running=50, queue=held - 50)
        found = found or judged(scene, second + 1) == DEAD
    return found


def test_a_job_that_died_is_told_within_a_minute_while_its_server_works_off_what_it_was_sent() -> None:
    scene = steady_run(30)
    assert dies(scene, seconds=60)
    said = words(scene, 1_866)
    assert "it has sent nothing since" in said
    assert "had nothing to do since" not in said


def test_a_server_that_stopped_with_the_job_has_had_nothing_to_do_since() -> None:
    scene = steady_run(30)
    scene.job(1_800, *DYING)
    assert judged(scene, 1_860) == DEAD
    assert "the server has had nothing to do since" in words(scene, 1_860)


@pytest.mark.parametrize(("done", "mean"), [(9_900, 900), (4_950, 1_990)], ids=["dataset's end", "budget"])
def test_near_an_end_a_server_that_dwindles_shows_nothing(done: int, mean: int) -> None:
    scene = steady_run(30)
    scene.progress(1_804, done, mean)
    assert not dies(scene, seconds=100)
