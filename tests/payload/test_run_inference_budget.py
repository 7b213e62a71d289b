"""The token budget and the time left, reckoned on a simulated server: no process, no clock."""

from __future__ import annotations

import heapq
import math
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote.payload import run_inference as job

if TYPE_CHECKING:
    from collections.abc import Callable


def made(*, todo: int, budget: int | None, concurrency: int, max_tokens: int) -> job.Figures:
    """The figures of a dataset that begins at time 0."""
    dataset = job.Dataset("A", "short", Path("A"), concurrency, max_tokens, budget, None, {}, None)
    plan = job.Plan(dataset)
    plan.todo.extend(range(todo))
    return job.Figures(plan, 0.0)


def play(
    figures: job.Figures,
    length: Callable[[], int],
    slots: int,
    speed: float = 20.0,
    look: Callable[[float], None] = lambda _now: None,
) -> float:
    """Runs a dataset on a server with some slots that each make ``speed`` tokens a second; returns when it ends.

    Requests wait for a slot in the order in which they came, as on a server whose KV cache is full.
    """
    begun, now = 0, 0.0
    running: list[tuple[float, int, int]] = []
    queue: list[tuple[int, int]] = []
    sent: dict[int, float] = {}
    while True:
        while (
            figures.in_flight < figures.plan.dataset.concurrency
            and begun < len(figures.plan.todo)
            and figures.may_start(now)
        ):
            figures.sent(begun, now)
            sent[begun] = now
            queue.append((begun, min(length(), figures.plan.dataset.max_tokens)))
            begun += 1
        while queue and len(running) < slots:
            key, tokens = queue.pop(0)
            heapq.heappush(running, (now + tokens / speed, key, tokens))
        if not running:
            return now
        now, key, tokens = heapq.heappop(running)
        figures.returned(key)
        figures.completed(tokens, now - sent[key])
        look(now)


def lengths(seed: int, mean: float = 2000.0) -> Callable[[], int]:
    """Lengths of a reasoning model's answers: log-normal, the longest many times the mean."""
    chance = random.Random(seed)
    return lambda: 1 + int(chance.lognormvariate(0.0, 0.9) * mean / 1.5)


@pytest.mark.parametrize("slots", [150, 50])
@pytest.mark.parametrize("seed", range(6))
def test_the_budget_is_overshot_by_less_than_a_few_answers(seed: int, slots: int) -> None:
    figures = made(todo=20_000, budget=2_000_000, concurrency=150, max_tokens=10_240)
    play(figures, lengths(seed), slots)
    assert figures.budget_met
    # 150 requests of 2,000 tokens are in flight when the rule says stop; to expect only that of each, and forget that
    # those in flight are the long ones among their like, overshoots by 120,000 to 360,000 here.
    assert figures.over < 40_000


LAWS: dict[str, Callable[[random.Random], float]] = {
    "log-normal": lambda chance: chance.lognormvariate(0.0, 0.9) * 1330,
    "exponential": lambda chance: chance.expovariate(1 / 2000),
    "all alike": lambda chance: chance.gauss(2000, 200),
    "heavy tail": lambda chance: 667 * chance.paretovariate(1.5),
}
"""Laws of lengths, each 2,000 tokens on average."""


@pytest.mark.parametrize("slots", [150, 50])
@pytest.mark.parametrize("law", LAWS)
def test_a_budget_smaller_than_one_batch_is_not_filled_with_what_looks_short(law: str, slots: int) -> None:
    for seed in range(3):
        figures = made(todo=5000, budget=160_000, concurrency=150, max_tokens=10_240)
        chance = random.Random(seed)
        play(figures, lambda chance=chance: max(1, int(LAWS[law](chance))), slots)  # type: ignore[misc] # bound now
        # To expect the mean of the completions, which at first are the short ones, overshoots by up to 280,000 here.
        assert figures.over < 0.4 * 160_000


def test_a_tenth_of_long_answers_costs_what_they_make() -> None:
    figures = made(todo=5000, budget=2_000_000, concurrency=150, max_tokens=10_240)
    chance = random.Random(1)
    play(figures, lambda: 10_240 if chance.random() < 0.15 else 1 + int(chance.lognormvariate(0, 0.6) * 1000), 150)
    assert figures.over < 60_000


def test_before_anything_is_known_a_quarter_of_the_limit_is_expected() -> None:
    figures = made(todo=100, budget=50_000, concurrency=100, max_tokens=10_000)
    sent = 0
    while figures.may_start(0.0):
        figures.sent(sent, 0.0)
        sent += 1
    assert sent == 20
    # The worst that can come of it: each goes to its limit.
    for key in range(sent):
        figures.returned(key)
        figures.completed(10_000, 500.0)
    assert figures.over == 150_000
    assert not figures.may_start(500.0)


def test_requests_that_outlive_the_others_are_expected_to_be_long() -> None:
    known = job.Lengths()
    for tokens in (100, 100, 100, 900):
        known.add(tokens)
    ahead = known.outlook((), limit=1000)
    # Three more count as longer than all, so 3 of 7 end at 100, and 1 of 4 at 900; the others go to the limit.
    later = 900 / 4 + 1000 * 3 / 4
    assert ahead.fresh == pytest.approx(100 * 3 / 7 + later * 4 / 7)
    assert ahead.whole(50.0) == pytest.approx(ahead.fresh)
    assert ahead.whole(200.0) == pytest.approx(later)
    assert ahead.whole(950.0) == 1000.0


def test_what_is_in_flight_counts_as_answers_that_are_longer_than_they_are_by_now() -> None:
    known = job.Lengths()
    known.add(100)
    alone, beside = known.outlook((), limit=4000), known.outlook([500.0] * 6, limit=4000)
    # One of four ends at 100 when it is alone; beside six that are beyond it, one of ten.
    assert alone.fresh == pytest.approx(100 / 4 + (100 + 1000) * 3 / 4)
    assert beside.fresh == pytest.approx(100 / 10 + (100 + 3100) * 9 / 10)
    assert known.outlook([0.0] * 6, limit=4000).fresh == pytest.approx(alone.fresh)


@given(st.lists(st.integers(0, 2000), max_size=30), st.lists(st.floats(0, 2000), max_size=30), st.floats(0, 5000))
def test_no_outlook_exceeds_the_limit_or_undoes_what_is_made(
    ended: list[int], in_flight: list[float], made_by_one: float
) -> None:
    known = job.Lengths()
    for tokens in ended:
        known.add(tokens)
    ahead = known.outlook(in_flight, limit=2000)
    assert 0 <= ahead.fresh <= 2000
    assert min(made_by_one, 2000) <= ahead.whole(made_by_one) <= 2000
    assert 0 <= ahead.last(in_flight, 3) <= 2000
    assert ahead.last(in_flight) <= ahead.last(in_flight, 3)


def test_the_last_of_many_ends_later_than_the_mean() -> None:
    known = job.Lengths()
    chance = random.Random(3)
    lengths_made = [int(chance.expovariate(1 / 1000)) for _ in range(20_000)]
    for tokens in lengths_made:
        known.add(tokens)
    ahead = known.outlook((), limit=100_000)
    # Of n exponential lengths the longest has its median at mean x ln(n / ln 2).
    for number in (1, 10, 100):
        assert ahead.last((), number) == pytest.approx(1000 * math.log(number / math.log(2)), rel=0.12, abs=60)
        # What was made is of no account to those that are without memory.
        assert ahead.last([700.0] * number) == pytest.approx(ahead.last((), number), rel=0.12, abs=60)


def test_no_text_of_any_length_makes_the_table_grow_without_bound() -> None:
    known = job.Lengths()
    for tokens in (0, 1, 15, 16, 31, 32, 10**30):
        known.add(tokens)
    assert [job.length_bin(n) for n in (0, 15, 16, 17, 18, 31, 32)] == [0, 15, 16, 16, 17, 23, 24]
    assert job.length_bin(10**30) == job.length_bin(job.MOST_TOKENS) < 400
    assert known.outlook((), limit=10**32).whole(40) > 10**29
    assert len(known.outlook((), limit=10**32).expected) < 400


def looks(figures: job.Figures, every_s: float) -> tuple[list[tuple[float, float | None]], Callable[[float], None]]:
    """Notes what the time left is said to be, every so many seconds; the figures are noted at each heartbeat."""
    said: list[tuple[float, float | None]] = []
    sampled = [0.0]

    def look(now: float) -> None:
        if now - sampled[-1] < min(every_s, job.HEARTBEAT_S):
            return
        sampled.append(now)
        figures.sample(now)
        if not said or now - said[-1][0] >= every_s:
            said.append((now, figures.eta_s(now)))

    return said, look


@pytest.mark.parametrize("slots", [150, 50])
@pytest.mark.parametrize("seed", range(3))
def test_the_time_left_is_true_to_a_seventh_once_lengths_are_known(seed: int, slots: int) -> None:
    figures = made(todo=6000, budget=None, concurrency=150, max_tokens=10_240)
    said, look = looks(figures, 300.0)
    end = play(figures, lengths(seed), slots, look=look)
    judged = [(now, left) for now, left in said if 0.15 * end < now < 0.85 * end]
    assert len(judged) >= 3
    for now, left in judged:
        assert left == pytest.approx(end - now, rel=0.15)


def test_what_is_in_flight_counts_while_all_answers_take_equally_long() -> None:
    figures = made(todo=1000, budget=None, concurrency=150, max_tokens=10_240)
    chance = random.Random(5)
    said, look = looks(figures, 1.0)
    end = play(figures, lambda: 2000 + chance.randrange(40), slots=150, look=look)
    # Just before the second 150 answers come, only 150 are done, but nearly 300 are made.
    now, _ = max((each for each in said if each[0] < 150.0), key=lambda each: each[0])
    left = figures_at(figures, now=195.0)
    assert now < 110.0
    assert left == pytest.approx(end - 195.0, rel=0.25)


def figures_at(like: job.Figures, now: float) -> float | None:
    """The time left of the dataset above at one moment: 150 answers of 2,000 tokens done, as many on their way."""
    figures = made(todo=len(like.plan.todo), budget=None, concurrency=150, max_tokens=10_240)
    for key in range(150):
        figures.completed(2020, 101.0)
        figures.sent(key, 101.0)
    return figures.eta_s(now)


def test_no_end_is_sooner_than_the_longest_request_needs() -> None:
    figures = made(todo=10, budget=None, concurrency=10, max_tokens=4000)
    for tokens in (100, 100, 100, 100, 100, 100, 100, 100, 2000):
        figures.completed(tokens, tokens / 10)
    figures.sent(1, 1000.0)
    # One is left, of which 500 tokens are made: it becomes one like the longest or longer, at ten tokens a second.
    left = figures.eta_s(1050.0)
    assert left is not None
    assert 150.0 <= left <= 350.0
