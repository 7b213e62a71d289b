"""The simulated host: a server, a job's process, and what befalls them."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from bench.judgement.job_lines import JobWriter
from bench.judgement.laws import dice_of
from bench.judgement.pace import Pace, Slowdown
from bench.judgement.process import Process
from bench.judgement.schedule import Schedule
from bench.judgement.server_lines import ServerWriter
from bench.judgement.serving import Serving
from bench.judgement.stamps import LocalTime
from bench.judgement.truth import DatasetTruth, Truth, Written
from bench.judgement.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from bench.judgement.rank import Request
    from bench.judgement.spec import FaultSpec, RunSpec

_ERROR_LINES_S = 5.0
_SLOW = ("throughput", "slow_ramp")
_WELL_AT_WORK_S = 600.0
_BUSY = 8


class World:
    """Everything that lives in one run.

    Args:
        spec: The run.
    """

    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec
        self.schedule = Schedule(spec.begin)
        self.at = self.schedule.at
        self.server_log, self.job_log, self.events = Written(), Written(), Written()
        self.truth = Truth(start=spec.begin)
        clock = LocalTime(spec.job.zone, spec.begin)
        self.writer = ServerWriter(spec.server, self.server_log, clock, self.shown, spec.seed)
        self.job = JobWriter(spec.job, self.job_log, self.events, clock, self.shown)
        slow = tuple(_slowdown(spec, event) for event in spec.events if event.kind.startswith(_SLOW))
        paces = [Pace(spec.server, dice_of("pace", spec.seed, number), slow) for number in range(spec.server.ranks)]
        self.serving = Serving(spec, self.schedule, self.writer, paces, self._answered)
        self.works = [self._work(number) for number in range(len(spec.datasets))]
        self.truth.datasets = [work.truth for work in self.works]
        self._dice = dice_of("world", spec.seed)
        self._processes = 0
        self.process = Process(self, self.works, 8123)
        self.jump_s = 0.0
        """By how much the host's clock was set."""
        self.error_share = 0.0
        """Share of requests that fail."""
        self.concurrency_of: dict[int, int] = {}
        """Requests in flight of a dataset, where it is not as it should be."""
        self.runaway_from = math.inf
        """When answers begin to know no end."""
        self.ran_away = 0
        """Answers cut at their cap since then."""
        self.on_progress: Callable[[float], object] = lambda _: None
        """Called at each progress line."""
        self._on_begin: dict[int, list[Callable[[float], object]]] = {}
        self._error_line_at = -math.inf

    def _work(self, number: int) -> Work:
        dataset = self.spec.datasets[number]
        work = Work(dataset, DatasetTruth(dataset.name), dice_of("dataset", self.spec.seed, number))
        work.done = work.place = dataset.done_before
        work.tokens = dataset.tokens_before
        return work

    def shown(self, at: float) -> float:
        """The time that the host's clock shows."""
        return at + self.jump_s

    def run(self, until: float) -> None:
        """The server starts, then the job; all goes its way until nothing is left to happen, or until then."""
        self.serving.begin()
        self.at(self.spec.begin, self.process.start)
        self.schedule.run(until)
        ranks = self.serving.ranks
        self.truth.decode_tokens = sum(rank.decoded for rank in ranks)
        self.truth.first_tokens = sum(rank.first for rank in ranks)
        self.truth.lost_tokens = self.serving.lost_tokens

    def redraw(self, dice: Random, length: Callable[[Request, int], int]) -> None:
        """Let all that has not happened yet be another; ``length`` as for ``Rank.redraw``."""
        self._dice = dice
        for work in self.works:
            work.dice = dice
        for rank in self.serving.ranks:
            rank.redraw(dice, length)

    # ---- between the job and the server

    def submit(self, request: Request, now: float) -> None:
        """The job sends a request."""
        if self.error_share and self._dice.random() < self.error_share:
            self.at(now + self._dice.uniform(2.0, 25.0), partial(self._fails, request))
        elif self.serving.alive:
            self.serving.submit(request, now)
        else:
            self.lose(request, now)

    def lose(self, request: Request, now: float) -> None:
        """A request in flight has broken off with its server, and is tried again in vain."""
        self.at(now + self._dice.uniform(4.0, 6.0), partial(self._finds_nobody, request))

    def _finds_nobody(self, request: Request, now: float) -> None:
        self.process.failed(request, now, ("connect", "[Errno 111] Connection refused"), attempts=3)

    def _fails(self, request: Request, now: float) -> None:
        self.seen(now)
        self.process.failed(request, now, ("http_500", "Internal Server Error: KeyError"), attempts=5)

    def _answered(self, request: Request, now: float) -> None:
        if now >= self.runaway_from and request.capped:
            self.ran_away += 1
        self.process.answered(request, now)

    def refuses(self, request: Request) -> bool:
        """Whether the server will not take this prompt."""
        bad = self.spec.datasets[request.dataset].bad
        return bool(bad) and dice_of("bad", self.spec.seed, request.dataset, request.place).random() < bad

    # ---- what the job asks of the world

    def load_s(self, number: int) -> float:
        """Seconds that loading and tokenizing a dataset takes."""
        return self.spec.datasets[number].load_s * self._dice.uniform(0.7, 1.4)

    def concurrency(self, number: int) -> int:
        """Requests in flight at most."""
        return self.concurrency_of.get(number, self.spec.datasets[number].concurrency)

    def runaway(self, now: float) -> bool:
        """Whether answers know no end now."""
        return now >= self.runaway_from

    def began(self, number: int, now: float) -> None:
        """A dataset is about to be sent."""
        for act in self._on_begin.pop(number, []):
            act(now)

    def error_line(self, now: float, text: str) -> None:
        """A line about a prompt given up, one in five seconds at most."""
        if now - self._error_line_at >= _ERROR_LINES_S:
            self._error_line_at = now
            self.job.line(now, text)

    def finished(self, now: float) -> None:
        """All is done."""
        self.truth.end = now
        self.schedule.stop(now)

    # ---- what faults do

    def fault(self, event: FaultSpec, now: float, *, visible: float | None) -> None:
        """A fault has begun; a second time of the same changes nothing."""
        if not self.truth.fault:
            self.truth.fault, self.truth.onset = event.kind, now
            # A clock that was set back shows nothing until it has come again to where it was.
            self.truth.visible = None if visible is None else max(visible, self.shown(visible))

    def seen(self, now: float) -> None:
        """From now on the logs show it."""
        if self.truth.fault and self.truth.visible is None:
            self.truth.visible = now

    def on_begin(self, number: int, act: Callable[[float], object]) -> None:
        """Let something happen when a dataset begins."""
        self._on_begin.setdefault(number, []).append(act)

    def when_busy(self, at_s: float, act: Callable[[float], object]) -> None:
        """Let something happen so many seconds after the start, or as soon after as a dataset is well at work."""

        def look(now: float) -> None:
            counts = self.process.counts
            if counts is not None and now - counts.began > _WELL_AT_WORK_S and len(self.process.in_flight) > _BUSY:
                act(now)
            else:
                self.at(now + 60.0, look)

        self.at(self.spec.begin + at_s, look)

    def new_process(self, now: float, *, forgets: bool = False) -> None:
        """The job is started anew."""
        self._processes += 1
        self.process = Process(self, self.works, 8123 + 97 * self._processes, forgets=forgets)
        self.process.start(now)


def _slowdown(spec: RunSpec, event: FaultSpec) -> Slowdown:
    return Slowdown(spec.begin + event.at_s, math.inf, event.size, event.span_s)
