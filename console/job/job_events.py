"""What the job says, in its log and in ``progress.jsonl``; absolute figures, so a line read twice changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


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
        total: Requests that this process means to do; 0 when not printed.
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


class Completion(NamedTuple):
    """One request ended well (``progress.jsonl``); a tuple, for these come by the ten thousand."""

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
    """A line of the job's log that says that something went wrong.

    Attributes:
        message: The line, shortened.
        ends: True for what a process writes as it dies: a traceback's last line, ``Killed``, an exit code.
    """

    message: str
    ends: bool = False


@dataclass(frozen=True, slots=True)
class ServerWord:
    """What the job says of the server that it asks.

    Attributes:
        state: ``gone`` (nobody answers), ``fails`` (it answers, with errors), ``still`` (as before) or ``back``.
        message: The line, shortened.
    """

    state: str
    message: str = ""
