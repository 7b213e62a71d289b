"""What a decode step takes, learned from a history, and the throughput to expect."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.job.minutes import Minutes
from console.job.minutes_bin import steps_of
from console.job.step_cells import EARLY, Reference
from console.job.step_fit import fit, inverse
from console.job.step_learn import effective, step_model
from tests.job.step_world import FIXED_S, T0, StepWorld, burst, step_s, tail

if TYPE_CHECKING:
    from console.job.step_model import StepModel


def model(world: StepWorld) -> StepModel:
    found = step_model(world.minutes())
    assert found is not None
    return found


def true(running: float, held: float = 2_300, prompts: float = 0.4) -> float:
    return running / step_s(running, running * held, running * prompts)


def test_nothing_is_expected_of_nothing() -> None:
    assert step_model(Minutes()) is None
    assert step_model(StepWorld().work(0.02).minutes()) is None


def test_after_minutes_the_like_is_expected_and_the_unlike_is_uncertain() -> None:
    found = model(StepWorld(noise=0.02).work(0.25))
    made, sd = found.throughput(50, 50 * 2_300)
    assert made == pytest.approx(true(50), rel=0.06)
    assert sd < 0.06
    made, sd = found.throughput(5, 5 * 2_300)
    assert sd > 0.12
    assert abs(log(made / true(5))) < 2 * sd


def test_the_law_is_found_once_a_batch_has_begun_and_run_out() -> None:
    found = model(StepWorld(noise=0.02).work(1.5, burst).work(0.5, tail, queue=0))
    for running in (2, 8, 25, 50, 100, 150):
        made, sd = found.throughput(running, running * 2_300)
        assert made == pytest.approx(true(running), rel=0.08)
        assert sd < 0.1
    assert found.fixed_s == pytest.approx(FIXED_S, rel=0.2)


def test_prefills_take_their_share() -> None:
    world = StepWorld(noise=0.02).work(1.0).work(0.5, prompts=6.0).work(0.5)
    found = model(world)
    assert found.expected(50, 115_000, 50 * 6.0) == pytest.approx(true(50, prompts=6.0), rel=0.06)
    assert found.throughput(50, 115_000, 6.0)[0] < 0.9 * found.throughput(50, 115_000, 0.4)[0]


def test_slow_hours_do_not_train_the_expectation_away() -> None:
    world = StepWorld(noise=0.03).work(1.0, burst)
    before = model(world).throughput(50, 115_000)[0]
    world.work(12.0, speed=0.6)
    assert model(world).throughput(50, 115_000)[0] == pytest.approx(before, rel=0.06)
    world.work(4.0, 80, speed=0.6)  # a load that is new, and slow from its first moment
    assert model(world).throughput(80, 80 * 2_300)[0] == pytest.approx(true(80), rel=0.15)


def test_new_loads_that_came_late_are_learned() -> None:
    world = StepWorld(noise=0.02).work(1.9).work(0.3, tail, queue=0).work(2.0, 30, 5_000, prompts=3.0)
    assert world.minutes().reference.bins > EARLY
    made, sd = model(world).throughput(30, 150_000, 3.0)
    assert made == pytest.approx(true(30, 5_000, 3.0), rel=0.1)
    assert sd < 0.15


def test_a_restart_begins_anew_with_what_was_known_before() -> None:
    world = StepWorld(noise=0.02).work(2.0, burst)
    world.draft.restarted(T0)
    known = step_model(world.minutes())
    assert known is not None
    made, sd = known.throughput(50, 115_000)
    assert made == pytest.approx(true(50), rel=0.08)
    assert sd > 0.03
    found = model(world.work(1.5, speed=1.4))  # another GPU
    assert found.throughput(50, 115_000)[0] == pytest.approx(1.4 * true(50), rel=0.08)


def test_the_curve_ends_where_the_pool_is_full() -> None:
    found = model(StepWorld(noise=0.02).work(1.5, burst).work(0.5, tail, queue=0))
    curve = found.curve([8, 32, 50, 150, 300], 2_300, 115_000)
    assert [sent for sent, *_ in curve] == [8, 32, 50, 150, 300]
    assert [running for _, running, *_ in curve] == pytest.approx([8, 32, 50, 50, 50])
    made = [each for _, _, each, _ in curve]
    assert made == sorted(made)
    assert made[2] == made[3] == made[4]
    free = found.curve([150, 300, 3_000], 2_300, None)
    assert [running for _, running, *_ in free] == [150, 300, 3_000]
    spreads = [sd for *_, sd in free]
    assert spreads == sorted(spreads)
    assert spreads[-1] > 0.25


def test_a_ratio_of_like_loads_is_surer_than_each() -> None:
    found = model(StepWorld(noise=0.02).work(0.3))
    assert found.gain_sd((52, 120_000), (50, 115_000)) < found.gain_sd((200, 460_000), (50, 115_000))


def test_noise_and_its_correlation_are_measured() -> None:
    found = model(StepWorld(noise=0.05, tau_s=300).work(2.0))
    assert 0.03 < found.noise < 0.09
    assert found.lag > 0.6
    assert effective(30, found.lag) < 10
    assert effective(30, 0.0) == 30


def test_a_bad_bin_moves_the_reference_little() -> None:
    world = StepWorld(noise=0.01).work(0.5)
    steps = steps_of(world.minutes().bins())
    clean, hit = (
        Reference().after(steps),
        Reference().after([*steps[:20], steps[20]._replace(seconds=9.0), *steps[21:]]),
    )
    cell = max(hit.cells, key=lambda each: each.bins)
    like = next(each for each in clean.cells if each.key == cell.key)
    assert cell.log_s / cell.bins == pytest.approx(like.log_s / like.bins, abs=0.02)


def test_robust_least_squares() -> None:
    rows = [((1.0, x), 100.0) for x in (0.1, 0.2, 0.3)] * 5
    found, spread = fit([((a / (0.5 + b), b / (0.5 + b)), w) for (a, b), w in rows], (0.4, 0.8), (1.0, 1.0), (0.0, 0.0))
    assert found == pytest.approx([0.5, 1.0], abs=0.05)
    assert spread[0][0] > 0
    falling = [((1 / y, x / y), 1e3) for x, y in ((1.0, 1.0), (2.0, 0.9))]
    assert fit(falling, (0.9, 0.0), (1.0, 1.0), (0.0, 0.0))[0] == pytest.approx([0.94, 0.0], abs=0.02)
    assert fit(falling, (0.9, 0.0), (1.0, 1.0), (0.0, -1.0))[0][1] == pytest.approx(-0.1, abs=0.02)
    outlier = [*[((2.0, 0.0), 1e4)] * 20, ((0.2, 0.0), 1e4)]
    assert fit(outlier, (0.5, 0.1), (9.0, 1.0), (0.0, 0.0))[0][0] == pytest.approx(0.5, rel=0.02)


@given(st.lists(st.floats(0.1, 3), min_size=9, max_size=9))
def test_an_inverse(parts: list[float]) -> None:
    rows = [parts[:3], parts[3:6], parts[6:]]
    matrix = [
        [sum(a * b for a, b in zip(one, other, strict=True)) + (i == j) for j, other in enumerate(rows)]
        for i, one in enumerate(rows)
    ]
    turned = inverse(matrix)
    product = [[sum(matrix[i][k] * turned[k][j] for k in range(3)) for j in range(3)] for i in range(3)]
    assert product == [pytest.approx([float(i == j) for j in range(3)], abs=1e-6) for i in range(3)]
