"""What another concurrency would bring."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.job import events as ev
from console.job.state import State
from console.job.what_if import WhatIf, load, what_if
from tests.job.step_world import T0, StepWorld, burst, step_s, tail
from tests.job.test_speed_rules import context


def asked(world: StepWorld, wanted: int, **how: float) -> WhatIf:
    ctx = context(world, **how)  # type: ignore[arg-type]  # as it takes them
    return what_if(ctx.state, ctx.runs, ctx.now, wanted)


def true(running: float) -> float:
    return running / step_s(running, running * 2_300, running * 0.4)


def test_more_than_the_pool_holds_only_waits() -> None:
    world = StepWorld(noise=0.02).work(2.0, burst)
    found = asked(world, 150)
    for concurrency in (100, 200, 1_000):
        found = asked(world, concurrency)
        assert found.limit == "kv"
        assert found.running == pytest.approx(50, abs=2)
        assert found.gain == found.gain_low == found.gain_high == pytest.approx(1.0)
        assert found.time_share == pytest.approx(0.0)
    assert found.present == 150
    assert found.minutes_lost is not None
    assert found.minutes_lost > 0
    assert found.tokens_lost


def test_fewer_than_run_now_are_slower() -> None:
    world = StepWorld(noise=0.02).work(1.5, burst).work(0.5, tail, queue=0).work(1.0)
    found = asked(world, 20, started_h=2.0)
    assert (found.limit, found.running) == ("concurrency", 20)
    assert found.made == pytest.approx(true(20), rel=0.08)
    assert found.made_low is not None
    assert found.made_high is not None
    assert found.made is not None
    assert found.made_low < found.made < found.made_high
    assert found.time_share is not None
    assert found.time_share == pytest.approx(true(50) / true(20) - 1, abs=0.12)
    assert found.time_share_low is not None
    assert found.time_share_high is not None
    assert 0 < found.time_share_low < found.time_share < found.time_share_high


def test_more_on_an_empty_pool_are_faster() -> None:
    world = StepWorld(noise=0.02).work(1.5, burst).work(0.5, tail, queue=0).work(0.6, 8, queue=0)
    found = asked(world, 32, concurrency=8, started_h=2.0)
    assert found.running_now == pytest.approx(8)
    assert found.gain == pytest.approx(true(32) / true(8), rel=0.12)
    assert found.gain_low is not None
    assert found.gain_low > 1.3
    whole = asked(world, 500, concurrency=8, started_h=2.0)
    assert whole.limit == "kv"
    assert whole.running == pytest.approx(0.85 * 141_312 / 2_300, rel=0.1)


def test_the_servers_own_limit() -> None:
    ctx = context(StepWorld(noise=0.02).work(1.0, 8, queue=0), concurrency=8)
    server = replace(ctx.state.server, capacity=ev.ServerCapacity(141_312, max_running=12))
    found = what_if(replace(ctx.state, server=server), ctx.runs, ctx.now, 40)
    assert (found.limit, found.running) == ("server", 12)


def test_far_from_all_that_was_seen_the_range_is_wide() -> None:
    world = StepWorld(noise=0.02).work(0.5, 8, 300, queue=0)
    near, far = (asked(world, wanted, concurrency=8) for wanted in (12, 200))
    assert near.made_high is not None
    assert near.made_low is not None
    assert far.made_high is not None
    assert far.made_low is not None
    assert far.made_high / far.made_low > 1.5 * near.made_high / near.made_low


def test_nothing_is_answered_of_nothing() -> None:
    found = what_if(State(), (), T0, 100)
    assert found.unknown
    assert found.made is found.gain is found.gain_low is found.gain_high is None
    assert load(State().server, 0.0) is None
    with pytest.raises(ValueError, match="at least 1"):
        what_if(State(), (), T0, 0)
