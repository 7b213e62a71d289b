"""What is advised by the server's speed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from console.job import events as ev
from console.job.advice_rules import speed_load, speed_retractions, speed_rules
from console.job.advice_rules.context import Context
from console.job.events import Source, Stamped
from console.job.job_merge import merged
from console.job.pace import pace_at
from console.job.plan import Plan
from console.job.server_state import ServerState
from console.job.snapshot import Judgement, ServerView, Verdict
from console.job.state import State, apply
from tests.job.step_world import T0, StepWorld, burst, tail

if TYPE_CHECKING:
    from collections.abc import Callable

ALL = (*speed_rules.INTERVENE_RULES, *speed_rules.WATCH_RULES, *speed_rules.WAIT_RULES)
POOL = 141_312


def context(
    world: StepWorld,
    *,
    concurrency: int = 150,
    started_h: float = 0.0,
    requests: int = 9_998,
    left_h: float = 10.0,
    server: ServerView | None = None,
) -> Context:
    """The moment, as the rules see it: one dataset at work since ``started_h``."""
    now = datetime.fromtimestamp(world.now_s, UTC)
    began = T0 + timedelta(hours=started_h)
    told = (
        (began - timedelta(seconds=20), ev.DatasetAnnounced("B3", "SHORT")),
        (began, ev.DatasetStarted("B3", requests, concurrency, 10_240, 10_000_000)),
    )
    state = State()
    for at, event in told:
        state = apply(state, Stamped(at, event), source=Source.JOB)
    minutes = world.minutes()
    assert world.newest is not None
    known = ServerState(
        ranks=(("", world.newest),),
        minutes=minutes,
        capacity=ev.ServerCapacity(POOL),
        prompts=100,
        prompt_tokens=80_000,
    )
    state = replace(state, server=known)
    newest = minutes.bins()[-1]
    view = server or ServerView(
        running=round(newest.mean(newest.running) or 0),
        queue=round(newest.mean(newest.queue) or 0),
        token_usage=newest.mean_usage(),
        gen_throughput=newest.throughput(),
        usual_throughput=newest.throughput(),
    )
    return Context(
        now=now,
        state=state,
        runs=merged(state.log, state.progress, Plan()),
        server=view,
        ends={"B3": now + timedelta(hours=left_h)},
        pace=pace_at(state.server, state.server_clock, now),
    )


def said(ctx: Context) -> Verdict | None:
    """The first rule that answers."""
    return next((verdict for rule in ALL if (verdict := rule(ctx)) is not None), None)


def sound(verdict: Verdict | None, judgement: Judgement, cause: str) -> Verdict:
    assert verdict is not None
    assert (verdict.verdict, verdict.cause) == (judgement, cause)
    assert (verdict.action is not None) == (judgement is Judgement.INTERVENE)
    words = " ".join((verdict.headline, *verdict.evidence, verdict.action or ""))
    assert "None" not in words
    assert "nan" not in words
    assert all(sentence.endswith(".") for sentence in (verdict.headline, *verdict.evidence))
    return verdict


def test_a_steady_saturated_run_needs_no_word() -> None:
    assert said(context(StepWorld().work(3.0, burst))) is None


def test_a_full_pool_and_a_long_queue_alone_are_no_reason() -> None:
    ctx = context(StepWorld().work(3.0, burst, queue=800))
    full = replace(ctx, server=replace(ctx.server, token_usage=1.0, queue=800))
    assert said(full) is None


@pytest.mark.parametrize("seed", range(3))
def test_throughput_that_fell_to_60_percent(seed: int) -> None:
    world = StepWorld(seed).work(2.5, burst).work(0.15, speed=0.6)
    sound(said(context(world)), Judgement.WATCH, "throughput_low")
    fell = T0 + timedelta(hours=2.5)
    verdict = sound(said(context(world.work(0.15, speed=0.6))), Judgement.INTERVENE, "throughput_collapsed")
    assert verdict.since is not None
    assert abs((verdict.since - fell).total_seconds()) < 240
    assert "nvidia-smi" in (verdict.action or "")
    assert any("owed to it" in words for words in verdict.evidence)
    assert verdict.options


def test_a_slow_ramp_is_watched_and_then_acted_on() -> None:
    world = StepWorld(4).work(2.5, burst)
    ramp: Callable[[float], float] = lambda since: 1 - 0.3 * min(1.0, since / 3)  # noqa: E731  one line says it
    world.work(2.5, speed=ramp)
    verdict = sound(said(context(world)), Judgement.WATCH, "throughput_low")
    assert any("slowly" in words for words in verdict.evidence)
    world.work(2.0, speed=0.7)
    sound(said(context(world)), Judgement.INTERVENE, "throughput_collapsed")


def test_a_fall_that_comes_with_a_load_never_seen_is_watched_first() -> None:
    world = StepWorld(2).work(2.5, burst).work(0.4, 20, 4_000, prompts=2.0, speed=0.62)
    ctx = context(world, started_h=2.5)
    assert ctx.pace is not None
    assert not ctx.pace.familiar
    verdict = said(ctx)
    assert verdict is None or verdict.verdict is Judgement.WATCH
    world.work(0.5, 20, 4_000, prompts=2.0, speed=0.3)
    sound(said(context(world, started_h=2.5)), Judgement.INTERVENE, "throughput_collapsed")


def test_retractions_alone_are_at_most_watched() -> None:
    world = StepWorld(noise=0.02).work(2.0)
    assert said(context(world.work(0.4, retracted_per_min=0.8))) is None
    assert said(context(world.work(0.4, retracted_per_min=2.0))) is None  # throughput holds
    verdict = sound(said(context(world.work(0.4, retracted_per_min=9.0))), Judgement.WATCH, "retractions")
    assert "retracts 9." in verdict.headline


def test_retractions_that_were_always_there_are_usual() -> None:
    assert said(context(StepWorld(noise=0.02).work(3.0, retracted_per_min=6.5))) is None


def test_retractions_with_a_fall_are_thrash() -> None:
    world = StepWorld(noise=0.03).work(2.0).work(0.4, retracted_per_min=8.0, speed=0.6)
    verdict = sound(said(context(world)), Judgement.INTERVENE, "retraction_thrash")
    assert "8.0 requests a minute" in verdict.headline
    world.work(0.4)
    assert speed_retractions.retraction_thrash(context(world)) is None


def test_retractions_of_a_batch_that_long_answers_shrink_are_only_watched() -> None:
    world = StepWorld(noise=0.03).work(2.0).work(0.4, 14, 8_500, retracted_per_min=6.5)
    sound(said(context(world)), Judgement.WATCH, "retractions")


def test_a_small_batch_of_which_each_request_is_thrown_out_again_and_again_is_thrash() -> None:
    world = StepWorld(noise=0.03).work(2.0).work(0.4, 14, 8_500, retracted_per_min=16.0)
    sound(said(context(world)), Judgement.INTERVENE, "retraction_thrash")


@pytest.mark.parametrize(
    ("hours", "per_min", "thrashes"),
    [
        (0.6, 11.0, True),
        (0.4, 11.0, False),  # a young batch may do so until the server knows how long its answers are
        (0.6, 6.5, False),  # each of them every other minute at most: long answers, which make less as well
    ],
)
def test_a_dataset_that_began_with_it_is_compared_with_what_was_made_before(
    hours: float, per_min: float, thrashes: bool
) -> None:
    world = StepWorld(noise=0.03).work(2.0).work(hours, 14, 8_500, retracted_per_min=per_min)
    found = speed_retractions.retraction_thrash(context(world, started_h=2.0))
    assert (found is not None) == thrashes


def test_being_thrown_out_for_half_an_hour_is_no_thrash_while_as_much_is_made() -> None:
    world = StepWorld(noise=0.03).work(3.0, 14, 8_500).work(0.6, 14, 8_500, retracted_per_min=11.0)
    assert speed_retractions.retraction_thrash(context(world, started_h=3.0)) is None


def test_prompts_computed_again_and_again_are_thrash_though_each_step_is_as_fast_as_its_load_allows() -> None:
    world = StepWorld(noise=0.03).work(2.0).work(0.4, 30, 4_000, prompts=24.0, retracted_per_min=160.0)
    verdict = sound(said(context(world)), Judgement.INTERVENE, "retraction_thrash")
    assert "fell to 4" in verdict.headline


def test_few_requests_that_run_although_many_were_sent() -> None:
    world = StepWorld().work(1.0, burst).work(0.5, 30, queue=0)
    sound(said(context(world)), Judgement.WATCH, "under_utilised")
    assert speed_load.under_utilised(context(world, requests=120)) is None  # the tail
    assert speed_load.under_utilised(context(world, concurrency=32)) is None


def test_a_server_that_stands_idle_between_requests() -> None:
    world = StepWorld().work(1.0, burst)
    for _ in range(6):
        world.work(1 / 60, queue=0).rest(2)
    world.work(1 / 60, queue=0)
    verdict = sound(speed_load.under_utilised(context(world, concurrency=50)), Judgement.WATCH, "under_utilised")
    assert "idle" in verdict.headline


def few(hours: float = 0.5, running: int = 4) -> StepWorld:
    """A run whose second dataset is sent a handful at a time."""
    return StepWorld(noise=0.02).work(1.5, burst).work(0.5, tail, queue=0).work(hours, running, queue=0)


def test_a_concurrency_that_is_certainly_too_low() -> None:
    verdict = sound(said(context(few(), concurrency=4, started_h=2.0)), Judgement.INTERVENE, "concurrency_too_low")
    assert "Restart the job with a concurrency of 32." in (verdict.action or "")
    assert any("times the present throughput" in words for words in verdict.evidence)
    assert verdict.options[0].act == "raise_concurrency"


@pytest.mark.parametrize(
    ("hours", "running", "left_h"), [(0.1, 4, 10.0), (0.5, 4, 0.7), (0.5, 40, 10.0)], ids=["soon", "ends", "enough"]
)
def test_and_one_that_is_not(hours: float, running: int, left_h: float) -> None:
    ctx = context(few(hours, running), concurrency=running, started_h=2.0, left_h=left_h)
    assert speed_load.concurrency_too_low(ctx) is None


def test_a_gain_that_is_not_certain_is_no_reason() -> None:
    ctx = context(StepWorld(noise=0.02).work(1.0, 16, queue=0), concurrency=16)
    assert speed_load.concurrency_too_low(ctx) is None


def test_a_busy_gpu_is_the_limit() -> None:
    world = (
        StepWorld(noise=0.01).work(1.0, burst, 700, queue=0).work(0.4, tail, 700, queue=0).work(0.5, 100, 700, queue=0)
    )
    verdict = sound(said(context(world, concurrency=100, started_h=1.4)), Judgement.WAIT, "compute_limited")
    assert "80 % range" in verdict.evidence[0]
    assert speed_load.compute_limited(context(few(), concurrency=4, started_h=2.0)) is None


def test_cautious_admission_is_a_word_for_the_next_run() -> None:
    ctx = context(StepWorld().work(1.0))
    assert "schedule-conservativeness" in (speed_load.admission_hint(ctx) or "")
    assert speed_load.admission_hint(replace(ctx, server=replace(ctx.server, token_usage=0.97))) is None
    assert speed_load.admission_hint(replace(ctx, server=replace(ctx.server, queue=0))) is None


def test_nothing_is_said_of_what_is_not_known() -> None:
    ctx = replace(context(StepWorld().work(1.0)), pace=None)
    assert said(ctx) is None
    empty = Context(now=T0, state=State(), runs=())
    assert all(rule(empty) is None for rule in ALL)
