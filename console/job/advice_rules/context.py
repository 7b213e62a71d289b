"""What a rule of advice looks at, and the sentences that several of them need."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median, mode
from typing import TYPE_CHECKING

from console.job.dataset_run import AT_WORK, FINAL, DatasetRun
from console.job.dataset_views import in_flight, sent_together
from console.job.limits import Limits
from console.job.plan import Plan
from console.job.snapshot import DatasetState, HealthView, JobView, LinkView, Option, ServerView
from console.job.touching import Cost, cost, restart_job, restart_server
from console.job.units import age, count, duration, latency, plural, rate, share

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from console.job.job_state import JobTrail
    from console.job.pace import Pace
    from console.job.state import State
    from console.job.told import Told


@dataclass(frozen=True)
class Context:
    """Everything a rule may look at. Ages are on the console's clock.

    Attributes:
        now: The moment.
        state: What was told.
        runs: The datasets, in order.
        server: The server's figures.
        health: The newest health check.
        link: The connection.
        job: The batch process.
        ends: Dataset to the time of its end.
        host: The host's name.
        limits: The thresholds.
        plan: The run as planned.
        pace: The server's speed against what is expected at its load; None when not known.
        told: What was told of the end, oldest first.
        first_due: When a dataset's first progress line is due, as a range; None when that was not reckoned.
    """

    now: datetime
    state: State
    runs: tuple[DatasetRun, ...]
    server: ServerView = field(default_factory=ServerView)
    health: HealthView = field(default_factory=HealthView)
    link: LinkView = field(default_factory=LinkView)
    job: JobView = field(default_factory=JobView)
    ends: Mapping[str, datetime] = field(default_factory=dict)
    host: str = ""
    limits: Limits = field(default_factory=Limits)
    plan: Plan = field(default_factory=Plan)
    pace: Pace | None = None
    told: tuple[Told, ...] = ()
    first_due: tuple[datetime, datetime] | None = None

    @cached_property
    def current(self) -> DatasetRun | None:
        """The dataset at work: the one that turned to work last."""
        working = [run for run in self.runs if run.state in AT_WORK]
        timed = [run for run in working if run.state_at is not None]
        return max(timed, key=lambda run: run.state_at, default=None)  # type: ignore[arg-type, return-value]  # all timed

    @cached_property
    def in_flight(self) -> int | None:
        """Requests that were sent and not answered, of all datasets at work."""
        known = [(flying, run.concurrency) for run in self.runs if (flying := in_flight(run)) is not None]
        return sent_together(known) if known else None

    @cached_property
    def unfinished(self) -> tuple[DatasetRun, ...]:
        """Datasets that still need something."""
        return tuple(run for run in self.runs if run.state not in FINAL)

    @cached_property
    def begun(self) -> bool:
        """The job has been seen, alive or by its logs."""
        seen = self.state.host.process.seen_at is not None
        return seen or bool(self.state.log.updated_at or self.state.progress.updated_at)

    @cached_property
    def job_grown_s(self) -> float | None:
        """Seconds since the job's count of tokens last grew; None before it did."""
        clock = self.state.job_clock
        times = [trail.tokens.grown_at() for trail in (self.state.log, self.state.progress)]
        ages = [self.since(clock.on_our_clock(at)) for at in times if at is not None]
        return min(ages, default=None)

    @cached_property
    def trails(self) -> tuple[JobTrail, JobTrail]:
        """The job by its log and by ``progress.jsonl``."""
        return self.state.log, self.state.progress

    @cached_property
    def job_spoke_at(self) -> datetime | None:
        """The job's newest word, on the console's clock."""
        words = [trail.updated_at for trail in self.trails if trail.updated_at is not None]
        return self.job_time(max(words)) if words else None

    @cached_property
    def sent_s(self) -> float | None:
        """Seconds since the dataset at work began to send its requests; None when none does."""
        run = self.current
        if run is None or run.state is not DatasetState.RUNNING or run.started_at is None:
            return None
        return self.since(self.state.job_clock.on_our_clock(run.started_at))

    @cached_property
    def idle_s(self) -> float | None:
        """Seconds since the server last showed work, or since it was given some, if that is later."""
        ages = [seconds for seconds in (self.work_age_s, self.sent_s) if seconds is not None]
        return None if self.work_age_s is None and not self.state.server.ever_ready else min(ages, default=None)

    @cached_property
    def drained(self) -> bool:
        """The server's newest report shows next to nothing in it: its last requests ran out."""
        server = self.server
        return server.running is not None and server.running <= 2 * (server.ranks or 1) and not server.queue

    @cached_property
    def cost(self) -> Cost:
        """What a restart would cost now."""
        made = self.server.usual_throughput or self.server.gen_throughput
        return cost(self.state.server, self.current, self.in_flight, made, self.limits)

    def restart_job(self) -> Option:
        """What a restart of the job would cost."""
        return restart_job(self.cost, sum([run.done for run in self.runs]))

    def restart_server(self) -> Option:
        """What a restart of the server would cost."""
        return restart_server(self.cost)

    @cached_property
    def work_age_s(self) -> float | None:
        """Seconds since the server last showed work, by the times at which it did; None before it did."""
        state = self.state.server
        ages = [self.since(state.metrics.moved_at)] if state.metrics.moved_at else []
        if state.progressed_at:
            ages.append(self.since(self.state.server_clock.on_our_clock(state.progressed_at)))
        return min(ages, default=None)

    @cached_property
    def work_unseen_s(self) -> float | None:
        """Seconds since the console last saw it show work: never more than the true age of what it saw."""
        state = self.state.server
        times = [at for at in (state.metrics.moved_at, state.progressed_seen_at) if at is not None]
        return min((self.since(at) for at in times), default=None)

    @cached_property
    def stall_limit_s(self) -> float:
        """Seconds without work from which on the server is stalled: some of its usual intervals, and two minutes."""
        intervals = self.state.server.intervals_s
        usual = median(intervals) if intervals else 0.0
        return max(self.limits.stall_s, self.limits.stall_intervals * usual)

    def lived_after(self, end: datetime | None, margin_s: float) -> bool:
        """Whether the server answered, counted or served more than ``margin_s`` seconds after its log told of its end.

        Then the log is that of a former server, whose successor writes elsewhere. The job tells of what was made only
        with its next line of progress, so that its word needs a longer margin.
        """
        if end is None:
            return False
        lives = [at for at in (self.state.host.health.ok_at, self.state.server.metrics.moved_at) if at is not None]
        if lives and (max(lives) - end).total_seconds() > margin_s:
            return True
        grown = [self.job_time(trail.tokens.grown_at()) for trail in self.trails]
        late_s = max(margin_s, self.limits.job_lag_s, 2 * (self.job_beat_s or 0.0))
        return any(at is not None and (at - end).total_seconds() > late_s for at in grown)

    @cached_property
    def job_beat_s(self) -> float | None:
        """The longest time between the job's newest words, seconds; None of fewer than six."""
        return min((beat for trail in self.trails if (beat := _beat_s(trail)) is not None), default=None)

    @cached_property
    def sends_on(self) -> bool:
        """Whether the dataset at work surely has more to send than is in flight, by its prompts and by its budget."""
        run = self.current
        if run is None or run.state is not DatasetState.RUNNING or not run.concurrency or run.requests is None:
            return False
        if run.requests - run.done_run - run.errors <= run.concurrency:
            return False
        flying = _DOUBTED * run.concurrency * (run.mean or run.max_tokens or 0)
        return run.budget is None or (run.tokens or 0) + flying < run.budget

    @cached_property
    def job_times_guessed(self) -> bool:
        """Whether the job's times are guesses: a recorded log without stamps says only how long things took."""
        return self.state.host.link.fact is None and self.current is not None and self.current.guessed

    @cached_property
    def job_keeps_time(self) -> bool:
        """Whether the job speaks by the clock; one that speaks by counts is silent while its server is."""
        return any(_keeps_time(trail) for trail in self.trails)

    def job_time(self, at: datetime | None) -> datetime | None:
        """A time of the job's log on the console's clock."""
        return None if at is None else self.state.job_clock.on_our_clock(at)

    def server_time(self, at: datetime | None) -> datetime | None:
        """A time of the server's log on the console's clock."""
        return None if at is None else self.state.server_clock.on_our_clock(at)

    def since(self, at: datetime) -> float:
        """Seconds since then, never negative."""
        return max(0.0, (self.now - at).total_seconds())

    # Sentences of evidence ------------------------------------------------------------------------------------------

    def load_sentence(self) -> str:
        """What runs, waits and is held."""
        server = self.server
        flight = f"{plural(self.in_flight, 'request')} in flight; " if self.in_flight is not None else ""
        ranks = f" on {server.ranks} ranks" if server.ranks and server.ranks > 1 else ""
        runs = f"{count(server.running)} run{ranks}, {count(server.queue)} wait"
        return f"{flight}{runs}, token usage {share(server.token_usage)}."

    def speed_sentence(self) -> str | None:
        """What is made, against what is usual, and how old the figure is."""
        made, usual = self.server.gen_throughput, self.server.usual_throughput
        if made is None:
            return None
        old = self.work_age_s is not None and self.work_age_s > self.limits.old_s
        when = f" {duration(self.work_age_s)} ago" if old else ""
        if usual is None:
            return f"{rate(made)} generated{when}."
        if abs(made - usual) <= 0.1 * usual:
            return f"{rate(made)} generated{when}, usual for this batch."
        return f"{rate(made)} generated{when}; usual for this batch is {rate(usual)}."

    def trust_sentence(self) -> str:
        """Errors and health."""
        errors = f"{plural(self.current.errors, 'error')} in {self.current.name}; " if self.current else ""
        return f"{errors}{self.health_words()}."

    def health_words(self) -> str:
        """The newest health check, without a full stop."""
        health = self.health
        if health.state == "ok":
            return f"health answered {age(health.checked_at, self.now)} in {latency(health.latency_s)}"
        if health.state == "failing":
            why = health.error.rstrip(".") or f"HTTP {health.status}"
            return f"health has failed since {age(health.failing_since, self.now)}: {why}"
        return "health has not been asked"


_BEATS = 12
"""Words of the job whose distances are looked at."""


def _beat_s(trail: JobTrail) -> float | None:
    points = trail.errors.tail[-_BEATS:]  # a point comes with each of its words
    if len(points) < _BEATS // 2:
        return None
    return max([new.time_s - old.time_s for old, new in itertools.pairwise(points)])


IN_TRANSIT = 3
"""Requests that may always be on their way between the job and the server."""

_DOUBTED = 3.0
"""By how many means of finished answers those in flight may be longer, and the newest count be late."""

_COUNTED, _COUNT = 0.7, 5
"""Share of a job's steps that are multiples of one count when it speaks by counts, and the least such count."""

_REGULAR = 1.2
"""The longest pause of who speaks by the clock is at most so many times the shortest."""


def _keeps_time(trail: JobTrail) -> bool:
    points = list(itertools.pairwise(trail.errors.tail[-_BEATS:]))
    steps = [new.load - old.load for old, new in points if new.load > old.load]
    pauses = [new.time_s - old.time_s for old, new in points]
    if len(pauses) + 1 < _BEATS // 2:
        return False
    if not steps or max(pauses) <= _REGULAR * min(pauses):
        return True
    count = mode(steps)
    return count < _COUNT or sum(step % count == 0 for step in steps) < _COUNTED * len(steps)


def sentences(*words: str | None) -> tuple[str, ...]:
    """The sentences that could be said."""
    return tuple(word for word in words if word)
