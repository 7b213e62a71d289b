"""The token budget and the time left, reckoned on a simulated server: no process, no clock."""

from __future__ import annotations

import heapq
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

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
    assert figures.over < 80_000


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
    figures = made(todo=100, budget=None, concurrency=10, max_tokens=1000)
    for tokens in (100, 100, 100, 900):
        figures.completed(tokens, tokens / 10)
    assert figures.service() == pytest.approx((0.0, 10.0))
    assert figures.expected() == pytest.approx(300.0)
    assert figures.expected(50.0) == pytest.approx(300.0)
    assert figures.expected(200.0) == pytest.approx(900.0)
    assert figures.expected(950.0) == 1000.0


def test_no_text_of_any_length_makes_the_table_grow_without_bound() -> None:
    known = job.Lengths()
    for tokens in (0, 1, 15, 16, 31, 32, 10**30):
        known.add(tokens)
    assert [job.length_bin(n) for n in (0, 15, 16, 17, 18, 31, 32)] == [0, 15, 16, 16, 17, 23, 24]
    assert job.length_bin(10**30) == job.length_bin(job.MOST_TOKENS) < 400
    assert known.beyond(40) == pytest.approx(10**30)
    assert known.beyond(10**31) is None


def looks(figures: job.Figures, every_s: float) -> tuple[list[tuple[float, float | None]], Callable[[float], None]]:
    """Notes what the time left is said to be, every so many seconds."""
    said: list[tuple[float, float | None]] = []

    def look(now: float) -> None:
        figures.sample(now)
        if not said or now - said[-1][0] >= every_s:
            said.append((now, figures.eta_s(now)))

    return said, look


@pytest.mark.parametrize("slots", [150, 50])
@pytest.mark.parametrize("seed", range(3))
def test_the_time_left_is_true_to_a_fifth_once_lengths_are_known(seed: int, slots: int) -> None:
    figures = made(todo=6000, budget=None, concurrency=150, max_tokens=10_240)
    said, look = looks(figures, 300.0)
    end = play(figures, lengths(seed), slots, look=look)
    judged = [(now, left) for now, left in said if 0.15 * end < now < 0.85 * end]
    assert len(judged) >= 3
    for now, left in judged:
        assert left == pytest.approx(end - now, rel=0.2)


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
    # One is left, of which 500 tokens are made: it becomes one like the longest, at ten tokens a second.
    assert figures.eta_s(1050.0) == pytest.approx(150.0)
