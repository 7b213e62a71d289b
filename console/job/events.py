"""What one line of a log, or one answer of the host, can say.

Parsers give these; ``console.job.state.apply`` folds them. Figures are absolute (totals, not differences), so
that a line read twice changes nothing. Times of events travel beside them, in ``Stamped``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


class Source(StrEnum):
    """Where a line came from."""

    SERVER = "server"
    JOB = "job"
    PROGRESS = "progress"


# ---------------------------------------------------------------- the job


@dataclass(frozen=True, slots=True)
class JobZone:
    """The job said in which zone it stamps its lines.

    Attributes:
        name: IANA name or abbreviation as printed; may be empty.
        utc_offset_s: Seconds east of UTC.
    """

    name: str
    utc_offset_s: int


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A new process of the job began.

    Attributes:
        pid: Its process id, when it says so.
        datasets: Names in the order in which they will be done; empty when unknown.
    """

    pid: int | None = None
    datasets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The job ended by itself.

    Attributes:
        reason: ``done``, ``stopped`` or ``failed``.
        exit_code: Its exit code, when known.
    """

    reason: str
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class DatasetAnnounced:
    """``Processing: NAME (KIND)``: the job turned to a dataset.

    Attributes:
        name: The dataset's name.
        kind: ``SHORT``, ``LONG`` or whatever stands in the brackets; empty when nothing does.
    """

    name: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class DatasetTokenized:
    """All prompts of a dataset are loaded: ``total`` counts them, done ones included."""

    name: str
    total: int


@dataclass(frozen=True, slots=True)
class DatasetResumed:
    """What former processes of the job had done.

    Attributes:
        name: The dataset's name; empty means the one announced last.
        done: Prompts done before this process.
        tokens: Completion tokens made before this process.
    """

    name: str
    done: int
    tokens: int


@dataclass(frozen=True, slots=True)
class DatasetStarted:
    """Requests of a dataset are being sent.

    Attributes:
        name: The dataset's name; empty means the one announced last.
        requests: Prompts that this process means to do.
        concurrency: Requests in flight at most; None when not said.
        max_tokens: New tokens a request may make at most; None when not said.
        budget: The dataset's token budget; None when it has none.
    """

    name: str
    requests: int
    concurrency: int | None = None
    max_tokens: int | None = None
    budget: int | None = None


@dataclass(frozen=True, slots=True)
class BudgetLeft:
    """``Existing tokens: n, remaining budget: m``."""

    name: str
    existing: int
    remaining: int


@dataclass(frozen=True, slots=True)
class Progress:
    """A progress line. Counts are of this process's run of the dataset.

    Attributes:
        name: The dataset's name; empty means the one announced last.
        done: Requests completed.
        total: Requests that this process means to do.
        errors: Requests that failed for good.
        requests_per_s: As printed; None when not.
        mean_completion_tokens: Mean length of the completions, tokens; None when not printed.
        tokens: Completion tokens of the dataset in all (coarse: printed in units of 0.1 M); None when not printed.
        eta_s: Time left by the job's own reckoning, seconds; None when not printed.
    """

    name: str
    done: int
    total: int
    errors: int = 0
    requests_per_s: float | None = None
    mean_completion_tokens: float | None = None
    tokens: int | None = None
    eta_s: float | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """One request ended well (``progress.jsonl``)."""

    name: str
    prompt_id: str
    prompt_tokens: int
    completion_tokens: int
    finish_reason: str
    seconds: float
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """One attempt of a request failed (``progress.jsonl``).

    Attributes:
        kind: ``timeout``, ``connect``, ``http_500``, ``abort``, ``bad_answer``, ...
        final: True when it will not be tried again.
    """

    name: str
    prompt_id: str
    kind: str
    attempt: int
    final: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The job's own counts now (``progress.jsonl``); counts are of this process, tokens of the dataset in all."""

    name: str
    done: int
    errors: int
    in_flight: int
    tokens: int


@dataclass(frozen=True, slots=True)
class DatasetFinished:
    """A dataset's end in this process.

    Attributes:
        name: The dataset's name.
        done: Requests completed by this process.
        errors: Requests that failed for good.
        tokens: Completion tokens of the dataset in all; None when not printed.
        seconds: How long it took; None when not printed.
        reason: ``all_done``, ``budget`` or ``stopped``.
    """

    name: str
    done: int
    errors: int
    tokens: int | None
    seconds: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class DatasetSkipped:
    """A dataset that needs nothing.

    Attributes:
        name: The dataset's name.
        reason: ``budget`` (already met) or ``all_done``.
        done: Prompts done, when printed.
        total: Prompts in all, when printed.
        tokens: Completion tokens it has, when printed.
        budget: Its budget, when printed.
    """

    name: str
    reason: str
    done: int | None = None
    total: int | None = None
    tokens: int | None = None
    budget: int | None = None


@dataclass(frozen=True, slots=True)
class JobTrouble:
    """A line of the job's log that says that something went wrong (traceback's last line, ``ERROR``)."""

    message: str


# ---------------------------------------------------------------- the server


@dataclass(frozen=True, slots=True)
class EngineSeen:
    """The log shows which engine writes it; a new start of it resets what is known of the server.

    Attributes:
        engine: ``sglang`` or ``vllm``.
        version: As printed; empty when not.
        started: True when the line is the first of a new process.
    """

    engine: str
    version: str = ""
    started: bool = False


@dataclass(frozen=True, slots=True)
class ServerPhase:
    """A step of the server's start: ``weights``, ``kv_cache``, ``graphs``, ``warmup``, ``http_up``, ``ready``, ``draining``.

    Attributes:
        share: 0 to 1 where the phase has a bar, else None.
    """

    phase: str
    share: float | None = None


@dataclass(frozen=True, slots=True)
class ServerCapacity:
    """What the server can hold, per DP rank.

    Attributes:
        max_total_tokens: KV pool size, tokens.
        max_running: Requests it will run at once; None when not said.
        context_length: Tokens of one request at most; None when not said.
    """

    max_total_tokens: int
    max_running: int | None = None
    context_length: int | None = None


@dataclass(frozen=True, slots=True)
class ServerLoad:
    """One report of one scheduler: SGLang's ``Decode batch`` or vLLM's stats line.

    Attributes:
        rank: The scheduler: ``DP0``, ``000``; empty for a single one.
        running: Requests in the running batch.
        queue: Requests waiting in the scheduler; None when the line does not say.
        token_usage: Share of the KV pool in use, 0 to 1 (hybrid pools: the highest); None when not said.
        tokens: Tokens held in the pool; None when not said.
        gen_throughput: Generated tokens a second since the scheduler's last report; None when not said.
        suspect_throughput: True when the figure spans idle or prefill time and is falsely low.
        preemptions: vLLM's ``Preemptions: n`` in the interval.
    """

    rank: str
    running: int
    queue: int | None
    token_usage: float | None
    tokens: int | None
    gen_throughput: float | None
    suspect_throughput: bool = False
    preemptions: int = 0


@dataclass(frozen=True, slots=True)
class ServerPrefill:
    """SGLang's ``Prefill batch``: one chunk of prompt work."""

    rank: str
    new_requests: int
    new_tokens: int
    cached_tokens: int
    running: int | None
    queue: int | None
    token_usage: float | None


@dataclass(frozen=True, slots=True)
class Retraction:
    """The server took requests out of the running batch for want of KV cache."""

    rank: str
    count: int


@dataclass(frozen=True, slots=True)
class ServerTrouble:
    """The server's log says that it failed.

    Attributes:
        kind: ``crash``, ``watchdog``, ``oom``, ``nccl``, ``sigquit``, ``engine_dead``, ``start_failed``, ``health``.
        message: The line, shortened.
        fatal: True when the server does not survive it.
    """

    kind: str
    message: str
    fatal: bool


@dataclass(frozen=True, slots=True)
class ServerStopping:
    """The server was told to end (SIGTERM) or ended in order."""

    message: str


# ---------------------------------------------------------------- answers and facts of the host


@dataclass(frozen=True, slots=True)
class HealthProbe:
    """One health check, as it came back.

    Attributes:
        path: ``/health`` or what was asked.
        ok: True for HTTP 200.
        status: HTTP status; None when no answer came.
        latency_s: Seconds until the answer; None when none came.
        error: Why there was none, as a sentence; empty otherwise.
        by_hand: True when the operator asked.
    """

    path: str
    ok: bool
    status: int | None
    latency_s: float | None
    error: str = ""
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class ServerMetrics:
    """What a ``/metrics`` page said, summed over ranks; None where a series is missing.

    Attributes:
        engine: ``sglang``, ``vllm`` or empty.
        running: Requests running.
        queue: Requests waiting.
        token_usage: 0 to 1, the highest rank.
        gen_throughput: Tokens a second as the server states it (SGLang).
        generation_tokens: Counter of generated tokens since the server's start.
        retractions: Counter of retractions or preemptions since the server's start.
    """

    engine: str
    running: int | None
    queue: int | None
    token_usage: float | None
    gen_throughput: float | None
    generation_tokens: float | None
    retractions: float | None


@dataclass(frozen=True, slots=True)
class MetricsMissing:
    """``/metrics`` gave no page: a sentence why."""

    reason: str


@dataclass(frozen=True, slots=True)
class LinkFact:
    """The connection's state changed.

    Attributes:
        state: ``connecting``, ``up``, ``lost`` (will try again) or ``refused`` (will not, until the operator acts).
        reason: A sentence; empty for ``up``.
        attempt: How many tries since it was last up; 0 when up.
        next_try_at: When the next try begins; None when not waiting.
        latency_s: Round trip when measured.
    """

    state: str
    reason: str = ""
    attempt: int = 0
    next_try_at: datetime | None = None
    latency_s: float | None = None


@dataclass(frozen=True, slots=True)
class ProcessFact:
    """What the host's process table says of the job.

    Attributes:
        alive: False when no process of the job is there.
        pid: Its process id; None when not alive.
        started_at: When it began; None when not known.
        command: Its command line as one string.
        script_sha256: SHA-256 of the script on the host, hex; None when not known.
        adopted: True when it was found by pattern, not started by longwait.
        restarts: Starts by longwait since the console opened.
    """

    alive: bool
    pid: int | None = None
    started_at: datetime | None = None
    command: str = ""
    script_sha256: str | None = None
    adopted: bool = False
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class SourceFact:
    """A followed file's own state.

    Attributes:
        source: Which log.
        state: ``following``, ``missing``, ``unreadable``, ``rotated``, ``truncated``.
        path: The file's path on the host.
        reason: A sentence; empty when following.
        lost_bytes: Bytes known to be gone (a truncation or rotation in between); 0 otherwise.
    """

    source: Source
    state: str
    path: str
    reason: str = ""
    lost_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A line that no format understands; counted, shown, never guessed at."""

    text: str


Event = (
    JobZone
    | RunStarted
    | RunFinished
    | DatasetAnnounced
    | DatasetTokenized
    | DatasetResumed
    | DatasetStarted
    | BudgetLeft
    | Progress
    | Completion
    | RequestFailed
    | Heartbeat
    | DatasetFinished
    | DatasetSkipped
    | JobTrouble
    | EngineSeen
    | ServerPhase
    | ServerCapacity
    | ServerLoad
    | ServerPrefill
    | Retraction
    | ServerTrouble
    | ServerStopping
    | HealthProbe
    | ServerMetrics
    | MetricsMissing
    | LinkFact
    | ProcessFact
    | SourceFact
    | Unparsed
)


@dataclass(frozen=True, slots=True)
class Stamped:
    """An event and its time.

    Attributes:
        at: When it happened by the line's own stamp, UTC; the time it was first seen when the line has none.
        event: What it says.
        guessed: True when ``at`` is the time it was seen.
    """

    at: datetime
    event: Event
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class LogLine:
    """One cleaned line for a log pane: no escape sequences, no control characters, bounded length.

    Attributes:
        source: Which log.
        text: The line.
        at: Its own time, UTC, or the time it was seen.
        level: ``info``, ``warning``, ``error`` or ``quiet`` (access lines, separators).
    """

    source: Source
    text: str
    at: datetime
    level: str = "info"
