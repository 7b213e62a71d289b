"""What is true of a simulated run, and the run itself as it lies in files."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class DatasetTruth:
    """What is true of one dataset; times are seconds since the epoch, as the logs' clock shows them.

    Attributes:
        name: Its name.
        begin: When the newest process sent its first request; None when it never did.
        end: When it was done; None when it never was.
        completed: Completion times, and tokens of each, of all processes in this record.
        reason: ``all_done``, ``budget``, ``errors``, or empty.
        resumed: An earlier process had done part of it.
    """

    name: str
    begin: float | None = None
    end: float | None = None
    completed: list[tuple[float, int]] = field(default_factory=list)
    reason: str = ""
    resumed: bool = False

    @property
    def count(self) -> int:
        """Completions in this record."""
        return len(self.completed)

    @property
    def tokens(self) -> int:
        """Completion tokens in this record."""
        return sum(made for _, made in self.completed)

    @property
    def mean(self) -> float | None:
        """Mean completion, tokens."""
        return self.tokens / self.count if self.completed else None


@dataclass(slots=True)
class Truth:
    """What is true of a run.

    Attributes:
        start: When the job began.
        end: When all was done; None when a fault ended it.
        datasets: In their order.
        fault: Its kind; empty for a healthy run.
        onset: When the fault began.
        visible: When the logs can first show it; None without a fault, or when it never came about.
        watch_until: How long the run is looked at.
        outages: Spans that are not healthy although the run is: the operator's own restart.
        decode_tokens: Tokens that decode steps made, each request's first one not among them.
        first_tokens: Tokens that prefills made: one for each admission.
        lost_tokens: Tokens made by requests that were aborted or failed.
    """

    start: float = 0.0
    end: float | None = None
    datasets: list[DatasetTruth] = field(default_factory=list)
    fault: str = ""
    onset: float | None = None
    visible: float | None = None
    watch_until: float = 0.0
    outages: list[tuple[float, float]] = field(default_factory=list)
    decode_tokens: int = 0
    first_tokens: int = 0
    lost_tokens: int = 0

    @property
    def healthy_h(self) -> float:
        """Hours in which nothing was wrong."""
        end = self.onset if self.onset is not None else self.end if self.end is not None else self.watch_until
        return max(0.0, end - self.start) / 3600


@dataclass(slots=True)
class Written:
    """A log as it was written: its lines, and when each came to be there (seconds since the epoch)."""

    lines: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def put(self, at: float, text: str) -> None:
        """Write one line."""
        self.times.append(at)
        self.lines.append(text)

    @property
    def data(self) -> bytes:
        """Its bytes."""
        return ("\n".join(self.lines) + "\n" if self.lines else "").encode()


@dataclass(slots=True)
class SimRun:
    """A simulated run.

    Attributes:
        server: The server's log.
        job: The job's.
        events: ``progress.jsonl``.
        config: What a ``longwait.yaml`` of it holds.
        truth: What is true of it.
    """

    server: Written
    job: Written
    events: Written
    config: dict[str, object]
    truth: Truth

    @property
    def server_log(self) -> bytes:
        """The server's log, bytes."""
        return self.server.data

    @property
    def job_log(self) -> bytes:
        """The job's log, bytes."""
        return self.job.data

    @property
    def progress(self) -> bytes:
        """``progress.jsonl``, bytes."""
        return self.events.data
