"""What one line of a log, or one answer of the host, can say.

Parsers give these; ``console.job.state.apply`` folds them. Figures are absolute (totals, not differences), so
that a line read twice changes nothing. Times of events travel beside them, in ``Stamped``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from console.job.host_events import (
    HealthProbe,
    HostClock,
    LinkFact,
    MetricsMissing,
    ProcessFact,
    ServerMetrics,
    Source,
    SourceFact,
)
from console.job.job_events import (
    BudgetLeft,
    Completion,
    DatasetAnnounced,
    DatasetFinished,
    DatasetResumed,
    DatasetSkipped,
    DatasetStarted,
    DatasetTokenized,
    Heartbeat,
    JobTrouble,
    JobZone,
    Progress,
    RequestFailed,
    RunFinished,
    RunStarted,
    ServerWord,
)
from console.job.machine_facts import MachineMissing, MachineSeen
from console.job.server_events import (
    EngineSeen,
    Retraction,
    ServerCapacity,
    ServerLoad,
    ServerPhase,
    ServerPrefill,
    ServerStopping,
    ServerTrouble,
)

if TYPE_CHECKING:
    from datetime import datetime


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
    | ServerWord
    | EngineSeen
    | ServerPhase
    | ServerCapacity
    | ServerLoad
    | ServerPrefill
    | Retraction
    | ServerTrouble
    | ServerStopping
    | HealthProbe
    | HostClock
    | ServerMetrics
    | MetricsMissing
    | LinkFact
    | ProcessFact
    | SourceFact
    | MachineSeen
    | MachineMissing
    | Unparsed
)


class Stamped(NamedTuple):
    """An event and its time; a tuple, for one is made for every line, and a frozen dataclass takes three times as long.

    Attributes:
        at: When it happened by the line's own stamp, UTC; the time it was first seen when the line has none.
        event: What it says.
        guessed: True when ``at`` is the time it was seen.
    """

    at: datetime
    event: Event
    guessed: bool = False


class LogLine(NamedTuple):
    """One cleaned line for a log pane: no escape sequences, no control characters, bounded length.

    Attributes:
        source: Which log.
        text: The line.
        at: Its own time, UTC, or the time it was seen.
        level: ``info``, ``warning``, ``error``, ``quiet`` (access lines, separators), or ``gap``: no line of the log,
            but a word on what is missing there.
    """

    source: Source
    text: str
    at: datetime
    level: str = "info"


__all__ = [
    "BudgetLeft",
    "Completion",
    "DatasetAnnounced",
    "DatasetFinished",
    "DatasetResumed",
    "DatasetSkipped",
    "DatasetStarted",
    "DatasetTokenized",
    "EngineSeen",
    "Event",
    "HealthProbe",
    "Heartbeat",
    "HostClock",
    "JobTrouble",
    "JobZone",
    "LinkFact",
    "LogLine",
    "MachineMissing",
    "MachineSeen",
    "MetricsMissing",
    "ProcessFact",
    "Progress",
    "RequestFailed",
    "Retraction",
    "RunFinished",
    "RunStarted",
    "ServerCapacity",
    "ServerLoad",
    "ServerMetrics",
    "ServerPhase",
    "ServerPrefill",
    "ServerStopping",
    "ServerTrouble",
    "ServerWord",
    "Source",
    "SourceFact",
    "Stamped",
    "Unparsed",
]
