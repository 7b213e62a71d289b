"""The batch job: one process of its script."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bench.judgement.job_lines import Counts, span

if TYPE_CHECKING:
    from bench.judgement.rank import Request
    from bench.judgement.spec import DatasetSpec
    from bench.judgement.work import Work
    from bench.judgement.world import World

_HEARTBEAT_S = 15.0
_SAY_AGAIN_S = 60.0


class Process:
    """One process of the job.

    Args:
        world: Where it lives.
        works: The datasets, which outlast it.
        pid: Its id.
        forgets: It does not know what former processes did.
    """

    def __init__(self, world: World, works: list[Work], pid: int, *, forgets: bool = False) -> None:
        self._world, self._works, self._pid, self._forgets = world, works, pid, forgets
        self._job, self._out = world.spec.job, world.job
        self._number = -1
        self._made = 0
        self.counts: Counts | None = None
        self.in_flight: dict[Request, float] = {}
        self.alive = True
        self._line_at = 0.0
        self._stopping = False
        self._waiting = False

    # ---- from dataset to dataset

    def start(self, now: float) -> None:
        """It begins."""
        self._out.run_started(now, self._pid, [work.spec.name for work in self._works])
        self._next(now)

    def _next(self, now: float) -> None:
        self._number += 1
        if self._number == len(self._works):
            self._done(now)
            return
        work = self._works[self._number]
        self._out.announced(now, work.spec)
        if self._skips(work, now):
            self._next(now)
            return
        self._out.line(now, f"Loading and tokenizing prompts for {work.spec.name}...")
        self._world.at(now + self._world.load_s(self._number), self._begin)

    def _skips(self, work: Work, now: float) -> bool:
        spec = work.spec
        met = self._budget(spec) is not None and work.tokens >= (spec.budget or 0)
        if self._forgets or not (met or work.done + work.failed >= spec.prompts):
            return False
        self._out.skipped(now, spec, work.done, work.tokens, budget=met)
        return True

    def _budget(self, spec: DatasetSpec) -> int | None:
        """The budget that this script holds to."""
        return spec.budget if self._job.prints_budget else None

    def _begin(self, now: float) -> None:
        if not self.alive or self._stopping:
            return
        work = self.work
        self._world.began(self._number, now)
        if self._forgets:
            self.work.place, self.work.done, self.work.tokens = 0, 0, 0
            self.work.again.clear()
        counts = self.counts = Counts(work.spec, work.left, (work.done, work.tokens), now)
        said = {
            "concurrency": self._world.concurrency(self._number),
            "max_tokens": work.spec.max_tokens,
            "budget": self._budget(work.spec),
        }
        self._out.started(now, counts, said, resumed=not self._forgets)
        work.truth.begin = now
        work.truth.resumed = work.truth.resumed or bool(work.done)
        self._line_at = now
        self._tick(now)
        self._fill(now)

    @property
    def work(self) -> Work:
        """The dataset at work."""
        return self._works[self._number]

    def _done(self, now: float) -> None:
        tokens = sum(work.tokens for work in self._works)
        if self._job.script == "current":
            hours = (now - self._world.truth.start) / 3600
            self._out.line(now, f"All datasets done: {len(self._works)} datasets, {tokens:,} tokens in {hours:.2f}h")
        self._out.event(now, "run_finished", reason="done", exit_code=0)
        self.alive = False
        self._world.finished(now)

    # ---- requests

    def _fill(self, now: float) -> None:
        counts, work, world = self.counts, self.work, self._world
        if counts is None or self._stopping or self._waiting:
            return
        limit = world.concurrency(self._number)
        while len(self.in_flight) < limit and work.left and self._may_start(counts):
            request = work.take(self._number, runaway=world.runaway(now))
            self.in_flight[request] = now
            if world.refuses(request):
                world.at(now + 0.3, partial(self._refused, request))
            else:
                world.submit(request, now)
        self._look_for_end(now)

    def _may_start(self, counts: Counts) -> bool:
        budget = self._budget(counts.spec)
        if budget is None:
            return True
        ahead = len(self.in_flight) * counts.expected() if self._job.budget_rule == "expected" else 0.0
        return counts.tokens + ahead < budget

    def _look_for_end(self, now: float) -> None:
        counts, work = self.counts, self.work
        if counts is None:
            return
        budget = self._budget(work.spec)
        met = budget is not None and counts.tokens >= budget
        if met and self._job.budget_rule == "cut":
            self._abort(now)
        if not self.in_flight and (met or not work.left):
            reason = "budget" if met and work.left else "errors" if counts.errors else "all_done"
            self._end(now, reason)

    def _end(self, now: float, reason: str) -> None:
        counts, truth = self.counts, self.work.truth
        if counts is None:
            return
        self._out.finished(now, counts, reason)
        self.counts = None
        if reason != "stopped":
            truth.end, truth.reason = now, reason
            self._next(now)

    def answered(self, request: Request, now: float) -> None:
        """The server has finished a request."""
        counts = self.counts
        sent = self.in_flight.pop(request, None)
        if sent is None or counts is None:
            return
        work = self.work
        counts.done += 1
        counts.new_tokens += request.target
        work.done += 1
        work.tokens += request.target
        work.truth.completed.append((now, request.target))
        self._out.completion(now, work.spec.name, request, now - sent)
        if counts.done % self._job.progress_every == 0:
            self._progress(now)
        self._fill(now)

    def _refused(self, request: Request, now: float) -> None:
        """The server has refused a prompt for good."""
        self.failed(request, now, ("http_400", "prompt is longer than the context"))

    def failed(self, request: Request, now: float, why: tuple[str, str], attempts: int = 1) -> None:
        """A request has failed for good; ``why`` is a kind and a message."""
        counts, (kind, message) = self.counts, why
        if self.in_flight.pop(request, None) is None or counts is None:
            return
        counts.errors += 1
        self.work.failed += 1
        name = self.work.spec.name
        said = {"dataset": name, "id": f"{name}-{request.place:06}", "kind": kind, "message": message}
        for attempt in range(1, attempts + 1):
            self._out.event(now, "error", **said, attempt=attempt, final=attempt == attempts)
        if self._job.script == "current":
            tries = f"after {attempts} attempts: " if attempts > 1 else ""
            self._world.error_line(now, f"  ERROR: {name}: prompt {said['id']} given up {tries}{kind}: {message}")
        elif (counts.done + counts.errors) % self._job.progress_every == 0:
            self._progress(now)
        self._fill(now)

    # ---- saying where it is

    def _progress(self, now: float) -> None:
        counts = self.counts
        if counts is None:
            return
        self._line_at = now
        self._beat(now)
        self._out.line(now, counts.line(now, self._job.eta_rule, self._budget(counts.spec)))
        self._world.on_progress(now)

    def _beat(self, now: float) -> None:
        counts = self.counts
        if counts is None:
            return
        counts.sample(now)
        figures = {"done": counts.done, "errors": counts.errors, "in_flight": len(self.in_flight)}
        self._out.event(now, "heartbeat", dataset=counts.spec.name, **figures, tokens=counts.tokens)

    def _tick(self, now: float) -> None:
        """Every quarter of a minute, as long as this dataset is at work."""
        counts = self.counts
        if counts is None or not self.alive:
            return
        if self._job.progress_s and now - self._line_at >= self._job.progress_s:
            self._progress(now)
        else:
            self._beat(now)
        self._world.at(now + _HEARTBEAT_S, lambda at: self._tick(at) if self.counts is counts else None)

    # ---- its end

    def _abort(self, now: float) -> None:
        """Give up what is in flight: the server throws it away, the next process sends it anew."""
        for request in list(self.in_flight):
            self._world.serving.abort(request, now)
            self.work.again.append(request)
        self.in_flight.clear()

    def server_gone(self, now: float) -> None:
        """Nobody answers any more: our own script waits, a plain one tries each prompt and gives it up."""
        lost = list(self.in_flight)
        if self._job.script != "current":
            for request in lost:
                self._world.lose(request, now)
            return
        self._waiting = True
        self.in_flight.clear()
        self.work.again.extend(lost)
        self._out.line(now, "  WARNING: Server gone: [Errno 111] Connection refused")
        name = self.work.spec.name
        self._out.event(now, "server_gone", dataset=name, state="gone", message="[Errno 111] Connection refused")
        self._world.at(now + _SAY_AGAIN_S, lambda at: self._still_waits(at, now))

    def _still_waits(self, now: float, since: float) -> None:
        if self._waiting and self.alive:
            words = f"[Errno 111] Connection refused; for {span(now - since)} now"
            self._out.line(now, f"  Still waiting for the server: {words}")
            self._world.at(now + _SAY_AGAIN_S, lambda at: self._still_waits(at, since))

    def server_back(self, now: float) -> None:
        """It answers again."""
        if self._waiting:
            self._waiting = False
            self._out.line(now, "  Server is back: it answers again")
            self._out.event(now, "server_back", dataset=self.work.spec.name, state="up", message="it answers again")
            self._fill(now)

    def die(self, now: float) -> None:
        """It is gone at once; the server finds its connections closed."""
        if self.counts is not None:
            self._abort(now)
        self.alive = False
        self.counts = None

    def stop(self, now: float, drain_s: float = 30.0) -> None:
        """The operator has sent a TERM: what is in flight has half a minute."""
        self._stopping = True
        self._out.line(
            now,
            f"Stopping by SIGTERM: {len(self.in_flight)} requests in flight have {drain_s:g} s to finish; "
            "a second signal ends at once",
        )
        self._world.at(now + drain_s, self._stopped)

    def _stopped(self, now: float) -> None:
        aborted = len(self.in_flight)
        counts = self.counts
        if not self.alive:
            return
        if counts is None:
            self._out.line(now, f"Stopped by SIGTERM: {self.work.spec.name} was not begun")
        else:
            self._abort(now)
            self._end(now, "stopped")
            where = f"{counts.spec.name} has {counts.before[0] + counts.done} of {counts.spec.prompts} done"
            self._out.line(
                now,
                f"Stopped by SIGTERM: {where}, {counts.tokens:,} tokens; "
                f"{aborted} requests in flight were aborted, the next run does them",
            )
        self._out.event(now, "run_finished", reason="stopped", exit_code=6)
        self.alive = False
        self.counts = None
