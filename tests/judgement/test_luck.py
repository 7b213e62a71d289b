"""What luck alone leaves: forks of the simulated host."""

from __future__ import annotations

from statistics import median

import pytest

from bench.judgement.families import healthy
from bench.judgement.luck import luck_of
from bench.judgement.simulate import simulate


@pytest.fixture(scope="module", params=(3, 5))
def seed(request: pytest.FixtureRequest) -> int:
    """Of a run."""
    return int(request.param)


def test_forks_end_about_when_the_run_does_and_nearer_the_less_is_left(seed: int) -> None:
    spec = healthy(seed, hours=0.25)
    truth = simulate(spec).truth
    score = luck_of(spec)
    assert truth.end is not None
    assert [said.stage for said in score.whole] == [0.25, 0.5, 0.75, 0.9]
    for said in score.whole:
        assert said.left_s == pytest.approx((1 - said.stage) * (truth.end - truth.start))
        assert said.low_s is not None
        assert said.high_s is not None
        assert 0 < said.low_s < said.high_s, "the future is another each time"
        assert said.error is not None
        assert said.error < 0.5
    assert median(said.error or 0.0 for said in score.datasets) < 0.2


def test_the_same_again(seed: int) -> None:
    spec = healthy(seed, hours=0.25)
    assert luck_of(spec) == luck_of(spec)
