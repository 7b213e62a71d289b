"""The simulated server between its HTTP side and its scheduler: requests in flight, time, health, the drain."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import TYPE_CHECKING

from remote.demo.batching import Engine
from remote.demo.happenings import DecodeReport, Finished, Retracted
from remote.demo.metrics_page import Counters

if TYPE_CHECKING:
    from collections.abc import Callable

    from remote.demo.happenings import Request
    from remote.demo.scenarios import Trouble
    from remote.demo.server_log import ServerLog
    from remote.demo.startup import ServerArgs

TICK_S = 0.05
"""Wall seconds between two looks at the clock."""
HEALTH_WAIT_S = 1.0
"""A health check waits so long before it looks for output, as SGLang's does; divided by the speed."""
HEALTH_TIMEOUT_S = 20.0
"""A health check without output fails after so long (``SGLANG_HEALTH_CHECK_TIMEOUT``); divided by the speed ..."""
HEALTH_TIMEOUT_LEAST_S = 2.0
"""... but never shorter than this, so that a fast demo still has a check that hangs."""
DRAIN_NOTE_S = 5.0
"""Wall seconds between two notes on the drain."""


class Phase(Enum):
    """The server's life."""

    STARTING = auto()
    UP = auto()
    DRAINING = auto()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a request ended.

    Attributes:
        tokens: Tokens it made.
        reason: ``stop``, ``length`` or ``abort``.
        retractions: How often it was thrown out of the batch.
        seconds: Wall seconds from its coming to its end.
    """

    tokens: int
    reason: str
    retractions: int
    seconds: float


@dataclass(slots=True)
class _Pending:
    future: asyncio.Future[Outcome]
    since: float


class Serving:
    """The running server, minus HTTP.

    Args:
        args: What it says of itself.
        log: Its log.
        trouble: The scenario.
        clock: Wall time in seconds.
    """

    def __init__(
        self, args: ServerArgs, log: ServerLog, trouble: Trouble, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.args = args
        self.trouble = trouble
        self.engine = Engine(pool_tokens=args.pool_tokens, report_every=args.report_every)
        self.counters = Counters()
        self.phase = Phase.STARTING
        self._log = log
        self._clock = clock
        self._pending: dict[str, _Pending] = {}
        self._submitted = 0
        self._first_request: float | None = None
        self._last_tick = clock()
        self._last_output = datetime.now().astimezone()

    @property
    def elapsed_s(self) -> float:
        """Wall seconds since the first request; 0 before it."""
        return 0.0 if self._first_request is None else self._clock() - self._first_request

    @property
    def hung(self) -> bool:
        """Whether the scheduler stands still for ever."""
        return self.trouble.hung(self.elapsed_s)

    @property
    def in_flight(self) -> tuple[str, ...]:
        """Ids of the requests that have come and have no answer."""
        return tuple(self._pending)

    def accept(self) -> bool:
        """Count a request in; False when the scenario makes it fail."""
        if self._first_request is None:
            self._first_request = self._clock()
        self._submitted += 1
        return not self.trouble.fails(self.elapsed_s, self._submitted)

    async def complete(self, request: Request) -> Outcome:
        """Have a request done; when the caller is cancelled, the request is aborted."""
        pending = _Pending(asyncio.get_running_loop().create_future(), self._clock())
        self._pending[request.rid] = pending
        self.engine.submit(request)
        try:
            return await pending.future
        finally:
            if self._pending.pop(request.rid, None) is not None:
                self._log.say(
                    f"Request is disconnected from the client side (type 1). Abort request obj.rid='{request.rid}'"
                )
                self.engine.abort(request.rid)
                self.counters.aborted += 1

    def abort(self, rid: str) -> None:
        """End a request now; it is answered with what it has."""
        pending = self._pending.pop(rid, None)
        made = self.engine.abort(rid)
        if pending is not None and not pending.future.done():
            pending.future.set_result(Outcome(made or 0, "abort", 0, self._clock() - pending.since))
            self.counters.aborted += 1

    async def healthy(self) -> bool:
        """One health check, with the time that SGLang's takes."""
        if self.phase is Phase.DRAINING:
            self._log.say("Health check request received during shutdown. Returning 503.")
        if self.phase is not Phase.UP:
            return False
        began = datetime.now().astimezone()
        await asyncio.sleep(HEALTH_WAIT_S / self.args.speed)
        if not self.hung:
            return True
        patience = max(HEALTH_TIMEOUT_LEAST_S, HEALTH_TIMEOUT_S / self.args.speed)
        await asyncio.sleep(patience)
        self._log.say(
            f"Health check failed. Server couldn't get a response from detokenizer for last {patience:.0f} seconds. "
            f"tic start time: {began:%H:%M:%S}. last_heartbeat time: {self._last_output:%H:%M:%S}"
        )
        return False

    async def scheduler_answers(self) -> None:
        """Wait as every question to the scheduler does: for ever when it hangs."""
        if self.hung:
            await asyncio.Event().wait()

    async def run(self) -> None:
        """Let time pass until cancelled."""
        self._last_tick = self._clock()
        while True:
            await asyncio.sleep(TICK_S)
            self.tick()

    def tick(self) -> None:
        """Give the engine the wall time since the last tick, scaled, and pass on what happened."""
        now = self._clock()
        passed, self._last_tick = now - self._last_tick, now
        if self.hung:
            return
        self.engine.slowdown = self.trouble.slowdown(self.elapsed_s)
        happened = self.engine.advance(passed * self.args.speed)
        for happening in happened:
            self._note(happening)
        self._log.report(happened)

    def _note(self, happening: object) -> None:
        if isinstance(happening, Finished):
            self._finish(happening)
        elif isinstance(happening, DecodeReport):
            self.counters.last_report = happening
            self._last_output = datetime.now().astimezone()
        elif isinstance(happening, Retracted):
            self.counters.retracted += happening.requests

    def _finish(self, done: Finished) -> None:
        self._last_output = datetime.now().astimezone()
        pending = self._pending.pop(done.request.rid, None)
        if pending is None or pending.future.done():
            return
        outcome = Outcome(
            done.tokens, "length" if done.cut else "stop", done.retractions, self._clock() - pending.since
        )
        self.counters.requests += 1
        self.counters.prompt_tokens += done.request.prompt_tokens
        self.counters.generation_tokens += done.tokens
        self.counters.latency_s += outcome.seconds
        pending.future.set_result(outcome)

    async def drain(self) -> None:
        """After SIGTERM: take nothing new, and wait until nothing is in flight (not when it hangs)."""
        self.phase = Phase.DRAINING
        self._log.say("SIGTERM received. signum=15 frame=None. Draining requests and shutting down...")
        if self.hung:
            self._log.say("Signal SIGTERM received while health check failed. Force exiting.")
            return
        next_note = self._clock()
        while self._pending:
            if self._clock() >= next_note:
                self._log.say(
                    f"Gracefully exiting... Remaining number of requests {len(self._pending)}. "
                    f"Remaining requests remaining_rids={list(self._pending)}."
                )
                next_note += DRAIN_NOTE_S
            await asyncio.sleep(TICK_S)
