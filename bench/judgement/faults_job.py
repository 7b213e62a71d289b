"""What can befall the job, or be wrong with it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.judgement.spec import FaultSpec
    from bench.judgement.world import World

_MINUTE_S = 60.0
_LOOP_S = 75.0
_IDLE_POOL_S = 600.0
_TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "/data/run/run_inference.py", line 2149, in _run',
    "    sys.exit(main())",
    '  File "/data/run/run_inference.py", line 1862, in _keep',
    "    head = answer.extra['output_ids']",
)


def _traceback(world: World, now: float, last: str) -> None:
    for line in (*_TRACEBACK, last):
        world.job.bare(now, line)


def job_dead(world: World, event: FaultSpec) -> float:
    """Its process ends; its last words differ."""

    def act(now: float) -> None:
        world.fault(event, now, visible=now)
        world.process.die(now)
        if event.variant == "traceback":
            _traceback(world, now, "KeyError: 'output_ids'")
        elif event.variant == "killed":
            world.job.bare(now, "Killed")
        elif event.variant == "error":
            text = "ERROR: The server http://127.0.0.1:30000 refuses us (http_401: bad key); start again."
            world.job.line(now, text)
            world.job.event(now, "run_finished", reason="failed", exit_code=4)

    world.when_busy(event.at_s, act)
    return event.at_s + 40 * _MINUTE_S


def disk_full(world: World, event: FaultSpec) -> float:
    """Its results can't be written any more."""

    def act(now: float) -> None:
        world.fault(event, now, visible=now)
        name = world.process.work.spec.name
        world.process.die(now)
        if event.variant == "traceback":
            _traceback(world, now, "OSError: [Errno 28] No space left on device")
        else:
            why = "the disk is full; make room, then start again: what is written is whole"
            world.job.line(now, f"ERROR: /data/run/out/{name}/results.jsonl can't be written: {why}.")

    world.when_busy(event.at_s, act)
    return event.at_s + 40 * _MINUTE_S


def resume_broken(world: World, event: FaultSpec) -> float:
    """It is started anew and does not know what was done."""

    def act(now: float) -> None:
        world.truth.outages.append((now, now + 200.0))
        world.process.stop(now)
        world.at(now + 150.0, again)

    def again(now: float) -> None:
        world.fault(event, now, visible=None)
        world.on_begin(0, world.seen)
        world.new_process(now, forgets=True)

    world.when_busy(event.at_s, act)
    return event.at_s + 2 * 3600.0


def operator_restart(world: World, event: FaultSpec) -> float:
    """The operator stops it and starts it again, as is done for a new script: no fault."""

    def act(now: float) -> None:
        world.truth.outages.append((now, now + event.span_s + 150.0))
        world.process.stop(now)
        world.at(now + 30.0 + event.span_s, world.new_process)

    world.when_busy(event.at_s, act)
    return math.inf


def job_restart_loop(world: World, event: FaultSpec) -> float:
    """It dies soon after each start, and a supervisor starts it again."""
    starts = 0

    def die(now: float) -> None:
        world.fault(event, now, visible=None)
        world.process.die(now)
        _traceback(world, now, "KeyError: 'output_ids'")
        world.at(now + 10.0, begin)

    def begin(now: float) -> None:
        nonlocal starts
        starts += 1
        if starts >= 3:  # noqa: PLR2004 - three starts in a row are a loop
            world.seen(now)
        world.new_process(now)
        world.at(now + _LOOP_S, die)

    world.when_busy(event.at_s, die)
    return event.at_s + 2400.0


def over_budget(world: World, event: FaultSpec) -> float:
    """An old script without budgets: visible when its progress line has gone past the config's."""
    world.on_begin(0, lambda now: world.fault(event, now, visible=None))

    def look(now: float) -> None:
        work = world.process.work
        if world.truth.visible is None and work.spec.budget is not None and work.tokens > work.spec.budget:
            world.seen(now)
            world.at(now + 3600.0, world.schedule.stop)

    world.on_progress = look
    return math.inf


def runaway_completions(world: World, event: FaultSpec) -> float:
    """Answers know no end any more: all run to max_tokens."""

    def act(now: float) -> None:
        world.fault(event, now, visible=None)
        world.runaway_from = now
        world.at(now + 4 * 3600.0, world.schedule.stop)

    if event.dataset >= 0:
        world.on_begin(event.dataset, act)
    else:
        world.when_busy(event.at_s, act)

    def look(now: float) -> None:
        if world.ran_away >= 50:  # noqa: PLR2004 - one progress line's worth
            world.seen(now)

    world.on_progress = look
    return math.inf


def concurrency_too_low(world: World, event: FaultSpec) -> float:
    """A dataset is sent a few requests at a time, while the pool is idle."""
    world.concurrency_of[event.dataset] = round(event.size)

    def act(now: float) -> None:
        world.fault(event, now, visible=None)
        world.at(now + _IDLE_POOL_S, world.seen)
        world.at(now + 7200.0, world.schedule.stop)

    world.on_begin(event.dataset, act)
    return math.inf


def wrong_script(world: World, event: FaultSpec) -> float:
    """What it prints of a dataset is not what the config says (the family changes one of them)."""

    def act(now: float) -> None:
        world.fault(event, now, visible=now)
        world.at(now + 3600.0, world.schedule.stop)

    world.on_begin(event.dataset, act)
    return math.inf


def clock_jump(world: World, event: FaultSpec) -> float:
    """The host's clock is set."""

    def act(now: float) -> None:
        world.jump_s = event.size
        world.fault(event, now, visible=now)

    world.when_busy(event.at_s, act)
    return event.at_s + 2 * 3600.0
