"""What can befall the server: it hangs, dies, slows down, thrashes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.judgement.spec import FaultSpec
    from bench.judgement.world import World

_MINUTE_S = 60.0
_WATCHDOG_S = 380.0
DEATHS: dict[str, tuple[tuple[float, str, bool], ...]] = {
    "crash": (
        (0.0, "Scheduler hit an exception: Traceback (most recent call last):", True),
        (0.0, '  File "/opt/sglang/srt/managers/scheduler.py", line 2814, in run_scheduler_process', False),
        (0.0, "    scheduler.event_loop_overlap()", False),
        (0.0, "RuntimeError: CUDA error: an illegal memory access was encountered", False),
        (0.4, "SIGQUIT received. signum=None, frame=None. It usually means one child failed.", True),
    ),
    "oom": (
        (0.0, "Scheduler hit an exception: Traceback (most recent call last):", True),
        (0.0, '  File "/opt/sglang/srt/managers/scheduler.py", line 2814, in run_scheduler_process', False),
        (
            0.0,
            (
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB. GPU 3 has a total capacity "
                "of 79.11 GiB of which 411.50 MiB is free."
            ),
            False,
        ),
        (0.4, "SIGQUIT received. signum=None, frame=None. It usually means one child failed.", True),
    ),
    "nccl": (
        (
            0.0,
            (
                "[rank5]:[E223 12:31:38.919469923 ProcessGroupNCCL.cpp:607] [Rank 5] Watchdog caught collective "
                "operation timeout: WorkNCCL(SeqNum=812, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600021 ms"
            ),
            False,
        ),
        (0.1, "terminate called after throwing an instance of 'c10::DistBackendError'", False),
        (0.5, "SIGQUIT received. signum=None, frame=None. It usually means one child failed.", True),
    ),
    "killed": ((0.0, "start.sh: line 4:  9142 Killed                  python3 -m sglang.launch_server", False),),
    "sigterm": (
        (0.0, "SIGTERM received. signum=None frame=None. Draining requests and shutting down...", True),
        (5.0, "Gracefully exiting... Remaining number of requests 41. Remaining requests remaining_rids=['a'].", True),
        (20.0, "INFO:     Shutting down", True),
    ),
    "vllm": (
        (0.0, "[core.py:710] EngineCore encountered a fatal error.", True),
        (0.2, "[async_llm.py:480] AsyncLLM output_handler failed.", True),
        (0.8, "[launcher.py:110] Shutting down FastAPI HTTP server.", True),
    ),
}
"""How servers die: seconds after it, the line, and whether it bears a stamp."""


def server_stalled(world: World, event: FaultSpec) -> float:
    """It hangs with requests in it; its HTTP half may go on answering, and its watchdog may end it."""

    def act(now: float) -> None:
        world.fault(event, now, visible=now)
        world.serving.halt(now)
        if event.variant == "watchdog":
            world.at(now + _WATCHDOG_S, watchdog)

    def watchdog(now: float) -> None:
        world.writer.stamped(now, "Watchdog timeout (self.watchdog_timeout=300)", " TP0")
        _die(world, now + 5.0, "crash")

    world.when_busy(event.at_s, act)
    return event.at_s + 45 * _MINUTE_S


def server_down(world: World, event: FaultSpec) -> float:
    """It dies."""

    def act(now: float) -> None:
        world.fault(event, now, visible=now)
        _die(world, now, event.variant or "crash")

    world.when_busy(event.at_s, act)
    return event.at_s + 40 * _MINUTE_S


def _die(world: World, now: float, how: str) -> None:
    lines = DEATHS[how]
    for after, text, stamped in lines:
        world.at(now + after, partial(_write, world, text, stamped=stamped))
    world.at(now + lines[-1][0], lambda at: _gone(world, at))


def _write(world: World, text: str, now: float, *, stamped: bool) -> None:
    (world.writer.stamped if stamped else world.writer.raw)(now, text)


def _gone(world: World, now: float) -> None:
    world.serving.kill(now)
    world.process.server_gone(now)


def throughput(world: World, event: FaultSpec) -> float:
    """It is slower at once, for good."""
    world.at(world.spec.begin + event.at_s, lambda now: world.fault(event, now, visible=now))
    return event.at_s + 3 * 3600.0


def slow_ramp(world: World, event: FaultSpec) -> float:
    """It grows slower over hours."""
    world.at(world.spec.begin + event.at_s, lambda now: world.fault(event, now, visible=now))
    return event.at_s + event.span_s + 3 * 3600.0


def retraction_thrash(world: World, event: FaultSpec) -> float:
    """Most of its pool is lost; to the rest it admits too much, throws it out and computes it anew."""

    def act(now: float) -> None:
        world.fault(event, now, visible=now)
        for rank in world.serving.ranks:
            rank.thrash(event.size)

    world.when_busy(event.at_s, act)
    return event.at_s + 2 * 3600.0


def error_storm(world: World, event: FaultSpec) -> float:
    """Requests fail, many of them."""

    def act(now: float) -> None:
        world.fault(event, now, visible=None)
        world.error_share = event.size

    world.when_busy(event.at_s, act)
    return event.at_s + 3600.0


def server_restart_loop(world: World, event: FaultSpec) -> float:
    """It dies and is started again, time after time."""
    starts = 0

    def die(now: float) -> None:
        world.fault(event, now, visible=None)
        _die(world, now, "crash")
        world.at(now + 10.0, begin)

    def begin(now: float) -> None:
        world.writer.start(now, 60.0)
        world.at(now + 62.0, up)

    def up(now: float) -> None:
        nonlocal starts
        starts += 1
        if starts >= 3:  # noqa: PLR2004 - three starts in a row are a loop
            world.seen(now)
        world.serving.revive(now)
        world.process.server_back(now)
        world.at(now + 150.0, die)

    world.when_busy(event.at_s, die)
    return event.at_s + 3600.0
