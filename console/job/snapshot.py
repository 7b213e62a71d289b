"""Everything the screen, ``status`` and ``watch`` may show at one moment, frozen.

Unknown is ``None`` and is drawn ``--``, never 0. All times are aware datetimes in UTC.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from console.job.machine_view import MachineView
from console.job.timeline_course import Course

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.curve import Curve
    from console.job.transfer import Transfer


class DatasetState(StrEnum):
    """Where a dataset stands."""

    WAITING = "waiting"
    LOADING = "loading"
    RUNNING = "running"
    SKIPPED = "skipped"
    BUDGET_REACHED = "budget reached"
    DONE = "done"
    STOPPED = "stopped"


class Judgement(StrEnum):
    """The one verdict: whether to touch the run."""

    WAIT = "wait"
    WATCH = "watch"
    INTERVENE = "intervene"
    BLIND = "blind"


class Trend(StrEnum):
    """How a figure moves over the recent past."""

    UNKNOWN = ""
    RISING = "rising"
    FLAT = "flat"
    FALLING = "falling"


@dataclass(frozen=True, slots=True)
class DatasetView:
    """One dataset.

    Attributes:
        name: Its name.
        kind: ``SHORT``, ``LONG`` or empty.
        state: Where it stands.
        done: Prompts done in all, former processes included.
        done_before: Of these, done by former processes of the job.
        total: Prompts in all; None until known.
        in_flight: Requests sent and not answered; None when not known.
        errors: Requests that failed for good.
        tokens: Completion tokens in all; None until known.
        budget: Token budget; None when it has none or it is not known.
        mean_completion_tokens: Mean length of this process's completions; None until known.
        requests_per_s: As the job last printed it.
        concurrency: Requests in flight at most.
        max_tokens: New tokens of one request at most.
        eta: When it will be done, the middle of the range; None while there is nothing to go by.
        eta_low: Early end of the range, 80 %.
        eta_high: Late end.
        expected_completion_tokens: Mean length of all its completions, as far as can be told: the finished ones alone
            are the short ones. None when nothing is known.
        updated_at: When the newest figure of it was logged.
        budget_share: Share of its prompts that will be done when the budget ends it, 0 to 1; None where the prompts end
            first, or that can't be told.
        mean_trend: How the mean length moves while it is at work.
    """

    name: str
    kind: str = ""
    state: DatasetState = DatasetState.WAITING
    done: int = 0
    done_before: int = 0
    total: int | None = None
    in_flight: int | None = None
    errors: int = 0
    tokens: int | None = None
    budget: int | None = None
    mean_completion_tokens: float | None = None
    requests_per_s: float | None = None
    concurrency: int | None = None
    max_tokens: int | None = None
    eta: datetime | None = None
    eta_low: datetime | None = None
    eta_high: datetime | None = None
    expected_completion_tokens: float | None = None
    updated_at: datetime | None = None
    budget_share: float | None = None
    mean_trend: Trend = Trend.UNKNOWN

    @property
    def share(self) -> float | None:
        """How far it is, 0 to 1: the further of prompts and budget, since the earlier end counts; None if unknown."""
        if self.state in {DatasetState.SKIPPED, DatasetState.BUDGET_REACHED, DatasetState.DONE}:
            return 1.0
        shares = [self.done / self.total] if self.total else []
        if self.budget and self.tokens is not None:
            shares.append(self.tokens / self.budget)
        return min(1.0, max(shares)) if shares else None


@dataclass(frozen=True, slots=True)
class RankView:
    """One DP rank of the server; what its newest report does not say is None.

    Attributes:
        name: ``DP0``, ``000``; empty for a server of one.
        running: Requests running.
        queue: Requests waiting.
        token_usage: 0 to 1.
        throughput: Generated tokens a second.
    """

    name: str
    running: int | None = None
    queue: int | None = None
    token_usage: float | None = None
    throughput: float | None = None


@dataclass(frozen=True, slots=True)
class ServerView:
    """The inference server, summed over its DP ranks.

    Attributes:
        engine: ``sglang``, ``vllm`` or empty.
        phase: ``ready``, a phase of its start, ``draining``, ``dead`` or empty when not known.
        running: Requests running.
        queue: Requests waiting in the server.
        token_usage: 0 to 1, the highest rank.
        gen_throughput: Generated tokens a second; suspect figures are left out.
        usual_throughput: Median over the recent past with a like number of running requests.
        peak_throughput: Highest seen in this run.
        retractions: Requests retracted (SGLang) or preempted (vLLM) since the server's start.
        ranks: DP ranks that report; None until one has.
        usage_by_rank: Rank to usage, in order.
        capacity_tokens: KV pool size over all ranks; None until known.
        throughput_history: Recent figures, oldest first, evenly spaced.
        updated_at: Time of the newest report.
        trouble: The first cause of a failure, as a sentence; empty when there is none.
        kv: What the usage of the KV cache means: ``fine`` when it is full and throughput holds, ``strained`` when
            retractions rise and throughput falls, else empty.
        retractions_last_hour: Retractions or preemptions in the last hour; None before a report.
        accept_length: Tokens per request and verify step of speculative decoding, mean of the ranks; None without it.
        cache_hit_rate: Share of the prompt tokens found in the prefix cache, 0 to 1; None where nothing tells.
        queues: Further kinds of waiting requests, as far as the metrics page tells, with their counts.
        rank_views: Each DP rank, in order; empty before a report.
        curve: Throughput over the run, for a chart; None where no chart is wanted.
    """

    engine: str = ""
    phase: str = ""
    running: int | None = None
    queue: int | None = None
    token_usage: float | None = None
    gen_throughput: float | None = None
    usual_throughput: float | None = None
    peak_throughput: float | None = None
    retractions: int | None = None
    ranks: int | None = None
    usage_by_rank: tuple[tuple[str, float], ...] = ()
    capacity_tokens: int | None = None
    throughput_history: tuple[float | None, ...] = ()
    updated_at: datetime | None = None
    trouble: str = ""
    kv: str = ""
    retractions_last_hour: int | None = None
    accept_length: float | None = None
    cache_hit_rate: float | None = None
    queues: tuple[tuple[str, int], ...] = ()
    rank_views: tuple[RankView, ...] = ()
    curve: Curve | None = field(default=None, compare=False, repr=False)

    @property
    def mean_usage(self) -> float | None:
        """Token usage, the mean of the ranks that tell it; None when none does."""
        usages = [usage for _, usage in self.usage_by_rank]
        return sum(usages) / len(usages) if usages else None


@dataclass(frozen=True, slots=True)
class HealthView:
    """The newest health check.

    Attributes:
        state: ``ok``, ``failing``, ``asking`` or ``unknown``.
        path: What was asked.
        status: HTTP status; None when no answer came.
        latency_s: Seconds until the answer.
        checked_at: When.
        error: Why there was no answer.
        failing_since: When the first of the present row of failures was; None while ok.
    """

    state: str = "unknown"
    path: str = "/health"
    status: int | None = None
    latency_s: float | None = None
    checked_at: datetime | None = None
    error: str = ""
    failing_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class LinkView:
    """The SSH connection; see ``events.LinkFact``."""

    state: str = "connecting"
    since: datetime | None = None
    reason: str = ""
    attempt: int = 0
    next_try_at: datetime | None = None
    latency_s: float | None = None
    host: str = ""


@dataclass(frozen=True, slots=True)
class JobView:
    """The batch process; see ``events.ProcessFact``. ``alive`` is None until the host was asked."""

    pid: int | None = None
    alive: bool | None = None
    started_at: datetime | None = None
    command: str = ""
    script_sha256: str | None = None
    adopted: bool = False
    checked_at: datetime | None = None
    finished: str = ""


@dataclass(frozen=True, slots=True)
class LogView:
    """How well one log is seen.

    Attributes:
        source: ``server`` or ``job``.
        state: ``following``, ``missing``, ``unreadable``, or empty before the first word of it.
        path: On the host.
        reason: Why it is not followed.
        lines: Lines read.
        understood: Share of the lines that a format understood, 0 to 1; None before the first line.
        lost_bytes: Bytes known to be gone.
        updated_at: When the newest line was written.
        shapes: The commonest lines that were not understood, numbers masked, with their counts; at most 20.
        reading: How far it is caught up, while that takes a while; None else.
        filling: How far its past, before what was read first, is filled in; None while it is not.
    """

    source: str
    state: str = ""
    path: str = ""
    reason: str = ""
    lines: int = 0
    understood: float | None = None
    lost_bytes: int = 0
    updated_at: datetime | None = None
    shapes: tuple[tuple[str, int], ...] = ()
    reading: Transfer | None = None
    filling: Transfer | None = None


@dataclass(frozen=True, slots=True)
class Eta:
    """When the whole run will be done.

    Attributes:
        at: The middle of the range; None while there is nothing to go by.
        low: Early end of the range.
        high: Late end.
        coverage: How often the range should hold, 0 to 1.
        basis: One sentence: what it was reckoned from, or why there is none.
        tokens_left: Tokens still to be made, the middle; None when unknown.
        score: How often the ranges that were told held so far, in words; empty while no end has come.
    """

    at: datetime | None = None
    low: datetime | None = None
    high: datetime | None = None
    coverage: float = 0.8
    basis: str = ""
    tokens_left: int | None = None
    score: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """Something that could be done, and what it would cost.

    Attributes:
        act: ``restart_job``, ``restart_server``, ``raise_concurrency`` or ``lower_concurrency``.
        words: What it is and what it costs, in a sentence or two.
        tokens_lost: Tokens made for requests in flight that would be made again; None when not known.
        minutes_lost: By how many minutes the end would move; None when not known.
    """

    act: str
    words: str
    tokens_lost: int | None = None
    minutes_lost: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether to touch the run, and why.

    Attributes:
        verdict: The one word.
        cause: A cause of the contract, ``kv_limited`` for instance.
        headline: One sentence.
        evidence: Figures with units and ages, a sentence each.
        action: What to do, and what it costs; None unless something is to be done.
        since: Since when this verdict and cause hold.
        next_look: When the next informative thing is due; None when not known.
        options: What could be done, each with its cost; empty where nothing is to be gained.
    """

    verdict: Judgement
    cause: str
    headline: str
    evidence: tuple[str, ...] = ()
    action: str | None = None
    since: datetime | None = None
    next_look: datetime | None = None
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that is known at one moment.

    Attributes:
        at: The moment.
        verdict: Whether to touch the run.
        eta: When it will be done.
        datasets: In the order of the run.
        server: The inference server.
        health: Its newest health check.
        link: The connection.
        job: The batch process.
        logs: How well each log is seen, server's first.
        restart: What a restart of the job would cost now; None before anything is known of the run.
        first_due: Early and late end of the range in which the first progress line of the dataset at work is due; None
            when it has come, or can't be told.
        restart_server: What a restart of the server would cost now, likewise.
        course: When datasets and processes began and ended.
        machine: The host itself: load, memory, disk, GPUs.
    """

    at: datetime
    verdict: Verdict
    eta: Eta = field(default_factory=Eta)
    datasets: tuple[DatasetView, ...] = ()
    server: ServerView = field(default_factory=ServerView)
    health: HealthView = field(default_factory=HealthView)
    link: LinkView = field(default_factory=LinkView)
    job: JobView = field(default_factory=JobView)
    logs: tuple[LogView, ...] = ()
    restart: Option | None = None
    first_due: tuple[datetime, datetime] | None = None
    restart_server: Option | None = None
    course: Course = field(default_factory=Course)
    machine: MachineView = field(default_factory=MachineView)
