"""The server's speed against what is expected at its load: what is found, how soon, and what is no fall."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from console.job.limits import Limits
from console.job.minutes import Minutes
from console.job.pace import Pace, pace, pace_at
from console.job.pace_retractions import made_share, retractions
from console.job.server_state import ServerState
from console.job.source_clock import SourceClock
from tests.job.step_world import EVERY_S, StepWorld, burst, tail

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMITS = Limits()


def now(world: StepWorld) -> Pace:
    found = pace(world.minutes(), world.now_s)
    assert found is not None
    return found


def minute_by_minute(
    world: StepWorld, hours: float, step_min: float = 1.0, **how: object
) -> Iterator[tuple[float, Pace | None]]:
    """Minutes since this began, and the pace then."""
    began = world.now_s
    for _ in range(round(hours * 60 / step_min)):
        since = (world.now_s - began) / 3600
        shifted = {
            name: (lambda part, given=given, since=since: given(since + part)) if callable(given) else given
            for name, given in how.items()
        }
        world.work(step_min / 60, **shifted)  # type: ignore[arg-type]  # as work takes them
        yield (world.now_s - began) / 60, pace(world.minutes(), world.now_s)


def far_down(found: Pace | None) -> bool:
    """What the rule of a collapse asks of both windows."""
    low = LIMITS.throughput_collapsed
    return found is not None and max(found.ratio_fast, found.ratio_quarter or 1.0) <= low and found.change is not None


def test_before_anything_is_known() -> None:
    assert pace(Minutes(), 0.0) is None
    world = StepWorld().work(0.02)
    assert pace(world.minutes(), world.now_s) is None
    world.work(1.0)
    assert pace(world.minutes(), world.now_s + 1_200) is None  # nothing new is seen


def test_a_steady_server_makes_what_is_expected() -> None:
    found = now(StepWorld(noise=0.02).work(2.0))
    assert found.ratio_fast == pytest.approx(1.0, abs=0.08)
    assert found.ratio_slow == pytest.approx(1.0, abs=0.06)
    assert found.made == pytest.approx(found.expected * found.ratio_fast, rel=0.05)
    assert found.familiar
    assert found.change is None
    assert found.retractions is None
    assert found.ratio_net is None


@pytest.mark.parametrize("seed", range(4))
def test_a_fall_to_60_percent_is_found_within_a_quarter_of_an_hour(seed: int) -> None:
    world = StepWorld(seed, noise=0.05, tau_s=240).work(2.5, burst)
    began = world.now_s
    watched = deep = None
    for minute, found in minute_by_minute(world, 0.3, speed=0.6):
        watched = watched or (minute if found and found.change else None)
        deep = deep or (minute if far_down(found) else None)
    assert watched is not None
    assert deep is not None
    assert 3 < watched <= deep <= 15
    change = now(world).change
    assert change is not None
    assert change.kind == "step"
    assert abs(change.since_s - began) <= 240
    assert change.ratio == pytest.approx(0.6, abs=0.08)
    assert change.sure > 0.999


def test_a_bad_minute_never_and_a_bad_quarter_always() -> None:
    for bad_s, expected in ((60, False), (120, False), (900, True)):
        for seed in range(5):
            world = StepWorld(seed, noise=0.04).work(1.5)
            found = []
            for _ in range(2):
                world.work(bad_s / 3600, speed=0.5)
                found += [pace(world.minutes(), world.now_s)]
                found += [each for _, each in minute_by_minute(world, 0.5)]
            assert any(each is not None and each.change is not None for each in found) is expected, (bad_s, seed)


def test_a_slow_ramp_to_70_percent() -> None:
    for seed, span_h in ((1, 3.0), (2, 1.5), (3, 6.0)):
        world = StepWorld(seed, noise=0.04, tau_s=240).work(2.5, burst)
        began, first, kinds = world.now_s, None, set()
        ramp = lambda since, span_h=span_h: 1 - 0.3 * min(1.0, since / span_h)  # noqa: E731  one line says it
        for minute, found in minute_by_minute(world, span_h + 2, step_min=5, speed=ramp):
            if found is not None and found.change is not None:
                first = first or minute
                kinds.add(found.change.kind)
        assert first is not None
        assert first <= span_h * 60  # before it has come to its end
        assert "ramp" in kinds
        change = now(world).change
        assert change is not None
        assert change.ratio == pytest.approx(0.7, abs=0.06)
        assert abs(change.since_s - began) < span_h * 3600


def test_it_counts_as_low_until_it_is_clearly_better() -> None:
    world = StepWorld(noise=0.001).work(2.0)
    marks = []
    for speed in (0.78, 0.82, 1.0):
        world.work(0.4, speed=speed)
        marks.append(now(world).change is not None)
    assert marks == [True, True, False]


@pytest.mark.parametrize("seed", range(3))
def test_what_changes_the_load_is_no_fall(seed: int) -> None:
    world = StepWorld(seed, noise=0.05, tau_s=300).work(1.5, burst).work(0.6, tail, queue=0).rest(4)
    parts: tuple[dict[str, object], ...] = (
        {"hours": 1.5, "running": burst, "held": 2_300, "prompts": 0.4},
        {"hours": 1.0, "running": 30, "held": 4_500, "prompts": 4.0},  # longer prompts
        {"hours": 0.2, "running": 45, "held": 2_500, "prompts": 15.0},  # a burst of prefills
        {"hours": 1.0, "running": 12, "held": 2_300, "prompts": 0.4, "queue": 0},  # few at once
        {"hours": 0.6, "running": tail, "held": 2_300, "prompts": 0.1, "queue": 0},
        {"hours": 1.0, "running": 90, "held": 1_200, "prompts": 0.8},
    )
    for part in parts:
        hours = float(str(part["hours"]))
        how = {name: value for name, value in part.items() if name != "hours"}
        for minute, found in minute_by_minute(world, hours, step_min=2, **how):
            assert found is None or found.change is None, (part, minute, found)
        world.rest(2)


def test_no_fall_in_many_healthy_hours() -> None:
    """A quick sample; the bench does thousands of hours."""
    lowest = 1.0
    for seed in range(12):
        world = StepWorld(seed, noise=0.06, tau_s=(60, 300, 900)[seed % 3]).work(1.0, burst)
        for minute, found in minute_by_minute(world, 6.0, step_min=10):
            assert found is not None
            assert found.change is None, (seed, minute, found)
            lowest = min(lowest, found.ratio_quarter or 1.0)
    assert lowest > LIMITS.throughput_low


def test_retractions_are_counted_against_quiet_times() -> None:
    world = StepWorld().work(1.0, retracted_per_min=0.2)
    world.work(1.0, retracted_per_min=6.0, speed=0.6)
    found = retractions(world.minutes(), world.now_s)
    assert found is not None
    assert found.per_min == pytest.approx(6.0, abs=0.3)
    assert found.usual_per_min is not None
    assert found.usual_per_min < 0.5
    share = made_share(world.minutes(), world.now_s, world.now_s - 7_200)
    assert share is not None
    assert max(share) == pytest.approx(0.6, abs=0.08)
    assert made_share(world.minutes(), world.now_s, world.now_s - 1_000) is None
    assert retractions(StepWorld().work(1.0).minutes(), world.now_s) is None


def test_second_prefills_are_no_excuse_for_what_is_lost_by_them() -> None:
    world = StepWorld(noise=0.02).work(1.5)
    # Each retraction computes 2,300 tokens again; as many as make half of the time go by.
    world.work(0.5, prompts=1.2, retracted_per_min=20.0)
    found = now(world)
    assert found.ratio_net is not None
    assert found.ratio_quarter is not None
    assert found.ratio_net < found.ratio_quarter - 0.03


def test_times_of_a_page_are_the_consoles() -> None:
    world = StepWorld().work(1.0)
    server = ServerState(minutes=world.minutes())
    at = datetime.fromtimestamp(world.now_s, UTC)
    assert pace_at(server, SourceClock(offset=timedelta(hours=5)), at) == pace(world.minutes(), world.now_s)
    assert EVERY_S < 30
