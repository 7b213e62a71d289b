"""What a rule of advice looks at, and the sentences that several of them need."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING

from console.job.dataset_run import FINAL, DatasetRun
from console.job.dataset_views import in_flight
from console.job.limits import Limits
from console.job.snapshot import DatasetState, HealthView, JobView, LinkView, ServerView
from console.job.units import age, count, duration, latency, plural, rate, share

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from console.job.state import State


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

    @cached_property
    def current(self) -> DatasetRun | None:
        """The dataset at work: the one that turned to work last."""
        working = [run for run in self.runs if run.state in {DatasetState.LOADING, DatasetState.RUNNING}]
        timed = [run for run in working if run.state_at is not None]
        return max(timed, key=lambda run: run.state_at, default=None)  # type: ignore[arg-type, return-value]  # all timed

    @cached_property
    def in_flight(self) -> int | None:
        """Requests of the dataset at work that were sent and not answered."""
        return in_flight(self.current) if self.current else None

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

        Then the log is that of a former server, whose successor writes elsewhere.
        """
        if end is None:
            return False
        clock = self.state.job_clock
        grown = [trail.tokens.grown_at() for trail in (self.state.log, self.state.progress)]
        lives = [clock.on_our_clock(at) for at in grown if at is not None]
        lives += [at for at in (self.state.host.health.ok_at, self.state.server.metrics.moved_at) if at is not None]
        return bool(lives) and (max(lives) - end).total_seconds() > margin_s

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

    def kept_and_lost(self) -> str:
        """What a restart of the job keeps and what it costs."""
        done = sum(run.done for run in self.runs)
        flight = f"the {plural(self.in_flight, 'request')} in flight are" if self.in_flight else "what was in flight is"
        return f"The job resumes: {plural(done, 'finished prompt')} are kept, {flight} made again."


def sentences(*words: str | None) -> tuple[str, ...]:
    """The sentences that could be said."""
    return tuple(word for word in words if word)
