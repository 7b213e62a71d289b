"""What the host answers: health, metrics, the connection, the process table, the followed files."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from console.job.metrics_more import ServingExtras

if TYPE_CHECKING:
    from datetime import datetime


class Source(StrEnum):
    """Where a line came from."""

    SERVER = "server"
    JOB = "job"
    PROGRESS = "progress"


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
        engine: ``sglang``, ``vllm``, ``llamacpp``, ``trtllm``, ``tgi`` or empty.
        running: Requests running.
        queue: Requests waiting.
        token_usage: 0 to 1, the highest rank.
        gen_throughput: Tokens a second as the server states it (SGLang).
        generation_tokens: Counter of generated tokens since the server's start.
        retractions: Counter of retractions or preemptions since the server's start.
        extras: What only some servers tell.
    """

    engine: str
    running: int | None
    queue: int | None
    token_usage: float | None
    gen_throughput: float | None
    generation_tokens: float | None
    retractions: float | None
    extras: ServingExtras = field(default_factory=ServingExtras)


@dataclass(frozen=True, slots=True)
class MetricsMissing:
    """``/metrics`` gave no page.

    Attributes:
        reason: Why, as a sentence.
        answered: True when the server itself said that it has none.
    """

    reason: str
    answered: bool = False


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
class HostClock:
    """The host's clock, as it was measured over the connection.

    Attributes:
        zone_name: Its local zone, as it calls it.
        offset_s: Seconds that it is ahead of this machine's; negative when behind.
    """

    zone_name: str
    offset_s: float


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
