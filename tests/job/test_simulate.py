"""The rest of the run, played through."""

from __future__ import annotations

from dataclasses import replace
from math import exp

import pytest

from console.job.deck import DRAWS, fair, normals, quantile, shares
from console.job.outlook import Outlook
from console.job.simulate import play
from console.job.stage import Stage
from tests.job.laws import exponential, fixed, with_endless

OUTLOOK = Outlook(
    a=0.04, b=0.0004, c=0.0, d=0.0, each=0.0004, prompt=500, pool=None, running=50, level_sd=0.05, other_sd=0.3, made=833.0,
    source="server",
)  # fmt: skip


def _stage(**changes: object) -> Stage:
    known = Stage("B1", begun=True, laws=(exponential(1_000),), prompts=5_000, concurrency=50)
    return replace(known, **changes)  # type: ignore[arg-type]


def test_the_draws_are_evenly_spread() -> None:
    assert sorted(shares(3)) == [(place + 0.5) / DRAWS for place in range(DRAWS)]
    assert shares(3) != shares(4)
    assert sum(normals(5)) == pytest.approx(0.0, abs=1e-9)
    assert quantile([0.0, 1.0, 2.0], 0.5) == 1.0


def test_time_is_tokens_over_speed_and_a_drain() -> None:
    played = play([_stage()], OUTLOOK, 0.8)
    bulk_s = 5_000 * 1_000 * (0.04 + 50 * 0.0004) / 50
    assert played.ends[0].middle == pytest.approx(bulk_s, rel=0.05)
    assert played.ends[0].middle > bulk_s
    assert played.tokens == pytest.approx(5_000_000, rel=0.01)


def test_the_budget_ends_a_dataset_when_it_comes_first() -> None:
    whole, half = play([_stage()], OUTLOOK, 0.8), play([_stage(budget=2_500_000.0)], OUTLOOK, 0.8)
    assert half.tokens == pytest.approx(2_500_000, rel=0.01)
    assert half.ends[0].middle < 0.6 * whole.ends[0].middle


def test_what_is_not_known_widens_the_range() -> None:
    sure = play([_stage()], OUTLOOK, 0.8).ends[0]
    unsure = play([_stage(laws=tuple(exponential(mean) for mean in range(500, 1_600, 100)))], OUTLOOK, 0.8).ends[0]
    assert unsure.high - unsure.low > 2 * (sure.high - sure.low)


def test_a_smaller_batch_makes_less_a_second() -> None:
    full, small = play([_stage()], OUTLOOK, 0.8), play([_stage(concurrency=10)], OUTLOOK, 0.8)
    assert small.ends[0].middle > 3 * full.ends[0].middle


def test_a_pool_holds_fewer_of_longer_answers() -> None:
    tight = replace(OUTLOOK, pool=50_000.0)
    assert tight.batch(exponential(2_000), 150) == pytest.approx(20, rel=0.01)
    assert tight.batch(exponential(500), 150) == pytest.approx(50, rel=0.01)


def test_known_ages_say_when_the_last_ones_end() -> None:
    ages = ((100.0, 5), (900.0, 5))
    stage = _stage(laws=(fixed(1_000),), prompts=10, ages=ages, made=5_000.0)
    played = play([stage], replace(OUTLOOK, level_sd=0.0), 0.8)
    assert played.tokens == pytest.approx(5_000, rel=0.01)
    assert played.ends[0].middle == pytest.approx(900 * 0.043, rel=0.1)


def test_later_datasets_come_later() -> None:
    spans = play([_stage(), _stage(name="B2", begun=False, gap_s=60.0)], OUTLOOK, 0.8).ends
    assert spans[1].middle > spans[0].middle + 60
    assert spans[1].low > spans[0].low


def test_the_last_rank_ends_later_when_most_that_waits_is_on_it() -> None:
    law = exponential(1_000)
    even = replace(OUTLOOK, loads=((25.0, 50.0),) * 2)
    uneven = replace(OUTLOOK, loads=((25.0, 90.0), (25.0, 10.0)))
    assert even.behind(law, 150) == pytest.approx(0.0)
    assert uneven.behind(law, 150) == pytest.approx(0.5 * 80 * 1_000, rel=0.01)
    stage = _stage(concurrency=150)
    assert play([stage], uneven, 0.8).ends[0].middle > play([stage], even, 0.8).ends[0].middle


def test_a_batch_that_has_settled_shows_its_speed_itself() -> None:
    # By the law its requests would hold so much that a step took twice as long.
    slower = replace(OUTLOOK, c=0.0008 / 1_500)
    settled, by_law = (
        play([_stage(running=50.0)], replace(slower, reach=reach), 0.8).ends[0].middle for reach in (1e5, 0.0)
    )
    assert settled == pytest.approx(5_000 * 1_000 * (0.04 + 50 * 0.0004) / 50, rel=0.05)
    assert by_law > 1.3 * settled


def test_a_young_batch_that_fits_the_pool_now_will_not_when_its_answers_have_grown() -> None:
    """Fifty run, none waits: once each holds 2,500 tokens, there is room for twenty."""
    tight, law = replace(OUTLOOK, pool=50_000.0), exponential(2_000)
    young, old = (
        play([_stage(laws=(law,), running=50.0)], replace(tight, reach=reach), 0.8).ends[0].middle
        for reach in (100.0, 1e6)
    )
    assert young > 1.6 * old


def test_answers_that_never_end_make_a_batch_settle_later() -> None:
    """Those that run on to the limit hold most of the pool in the end, however few they are."""
    usual, endless = exponential(1_000, 10_240), with_endless(exponential(1_000, 10_240), 0.05)
    assert endless.mean < 1.5 * usual.mean
    reached = replace(OUTLOOK, reach=5_000.0)
    assert reached.young(usual) < 0.4 < reached.young(endless)


def test_a_dataset_of_other_prompts_is_another_batch() -> None:
    known = replace(OUTLOOK, pool=50_000.0, prompt=500.0)
    assert known.batch(exponential(2_000), 150) == pytest.approx(20, rel=0.01)
    assert known.batch(exponential(2_000), 150, prompt=3_000.0) == pytest.approx(10, rel=0.01)
    longer = replace(known, c=1e-6, d=1e-4)
    assert longer.step(exponential(2_000), prompt=3_000.0).b > longer.step(exponential(2_000)).b


def test_no_more_run_than_the_job_keeps_in_flight() -> None:
    """While none waits in the server, its job holds back, whatever concurrency it names."""
    idle = replace(OUTLOOK, most=12.0)
    assert idle.batch(exponential(2_000), 150, begun=True) == 12
    assert idle.batch(exponential(2_000), 150) == 150


def test_the_fair_middle_is_the_median_of_what_is_sure_and_earlier_where_it_is_not() -> None:
    assert fair([100.0] * DRAWS) == 100.0
    wide = sorted(100.0 * exp(0.5 * each) for each in normals(7))
    assert fair(wide) == pytest.approx(100.0 * exp(-(0.5**2) / 2), rel=0.05)
    assert fair([0.0, 0.0]) == 0.0
