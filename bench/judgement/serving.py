"""The simulated server as a whole: its schedulers in time, its health checks, its death and its return."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bench.judgement.laws import dice_of
from bench.judgement.rank import Rank

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.judgement.pace import Pace
    from bench.judgement.rank import Request
    from bench.judgement.schedule import Schedule
    from bench.judgement.server_lines import ServerWriter
    from bench.judgement.spec import RunSpec

_STATS_S = 10.0


class Serving:
    """The server.

    Each rank's next piece of work bears a version: what was due of a work that has been cut short is passed over.

    Args:
        spec: The run.
        schedule: Simulated time.
        writer: Its log.
        paces: How fast each rank is.
        answered: Called with each finished request and the time.
    """

    def __init__(
        self,
        spec: RunSpec,
        schedule: Schedule,
        writer: ServerWriter,
        paces: Sequence[Pace],
        answered: Callable[[Request, float], None],
    ) -> None:
        self._spec, self._schedule, self._writer, self._answered = spec, schedule, writer, answered
        self._dice = dice_of("serving", spec.seed)
        self.ranks = [Rank(number, spec.server, pace, writer) for number, pace in enumerate(paces)]
        self.alive = True
        self.lost_tokens = 0
        """Tokens made by requests that were thrown away."""
        self._versions = [0] * len(paces)
        self._ends = [math.inf] * len(paces)
        self._idle = [True] * len(paces)
        self._turn = 0
        self._where: dict[Request, Rank] = {}

    def begin(self) -> None:
        """It starts, some minutes before the job."""
        server, begin = self._spec.server, self._spec.begin
        if server.startup_s:
            self._writer.start(begin - server.startup_s, server.startup_s * 0.9)
        for rank in self.ranks:
            rank.begin(begin - server.startup_s * 0.1 - 1.0)
        if server.access_s:
            self._schedule.at(begin, self._health)
        if server.engine == "vllm":
            self._schedule.at((begin // _STATS_S + 1) * _STATS_S, self._stats)

    def _health(self, now: float) -> None:
        if self.alive:
            failing = self._dice.random() < self._spec.server.health_noise
            self._writer.access(now, 503 if failing else 200)
            if failing:
                self._writer.health_failed(now)
        self._schedule.at(now + self._spec.server.access_s, self._health)

    def _stats(self, now: float) -> None:
        if self.alive and self.ranks[0].halt_at > now:
            for rank in self.ranks:
                self._writer.stats(rank, now, _STATS_S)
        self._schedule.at(now + _STATS_S, self._stats)

    # ---- requests

    def submit(self, request: Request, now: float) -> None:
        """A request comes; the ranks take turns."""
        self._turn = (self._turn + 1) % len(self.ranks)
        rank = self.ranks[self._turn]
        self._where[request] = rank
        rank.queue.append(request)
        self._poke(rank, now)

    def abort(self, request: Request, now: float) -> None:
        """A request's connection is closed."""
        rank = self._where.pop(request, None)
        if rank is None or not rank.take_out(request):
            return
        self.lost_tokens += request.made
        if self._spec.server.engine == "sglang" and self.alive:
            self._writer.disconnected(now + self._dice.uniform(0.0, 0.5), request)
        if not rank.running and not rank.queue:
            self._versions[rank.number] += 1
            self._idle[rank.number] = True

    def _poke(self, rank: Rank, now: float) -> None:
        """Something has come to a rank."""
        number = rank.number
        if now >= rank.halt_at:
            return
        if self._idle[number]:
            self._idle[number] = False
            self._versions[number] += 1
            version = self._versions[number]
            self._schedule.at(now, lambda at: self._plan(rank, version, at))
        elif now < self._ends[number] and (end := rank.cut_short(now)) is not None:
            self._due(rank, end)

    def _plan(self, rank: Rank, version: int, now: float) -> None:
        if version != self._versions[rank.number]:
            return
        end = rank.plan(now)
        self._idle[rank.number] = math.isinf(end)
        if self._idle[rank.number]:
            self._ends[rank.number] = math.inf
        else:
            self._due(rank, end)

    def _due(self, rank: Rank, end: float) -> None:
        number = rank.number
        self._versions[number] += 1
        version = self._versions[number]
        self._ends[number] = end
        self._schedule.at(end, lambda at: self._commit(rank, version, at))

    def _commit(self, rank: Rank, version: int, now: float) -> None:
        if version != self._versions[rank.number]:
            return
        self._ends[rank.number] = -math.inf
        for request in rank.commit(now):
            self._where.pop(request, None)
            self._answered(request, now)
        if version == self._versions[rank.number]:
            self._plan(rank, version, now)

    # ---- its life

    def halt(self, now: float) -> None:
        """Its schedulers hang from now on."""
        for rank in self.ranks:
            rank.halt_at = now
            self._versions[rank.number] += 1

    def kill(self, now: float) -> None:
        """Its processes are gone, with all that they held."""
        self.halt(now)
        self.alive = False
        for request, rank in self._where.items():
            if rank.take_out(request):
                self.lost_tokens += request.made
        self._where.clear()

    def revive(self, now: float) -> None:
        """It is up again."""
        self.alive = True
        for rank in self.ranks:
            rank.halt_at = math.inf
            rank.begin(now)
            self._idle[rank.number] = True
