"""What a feed tells, and what the screen and the commands need of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from console.job.dataset_detail import DatasetDetail
    from console.job.events import HealthProbe, LogLine
    from console.job.snapshot import Snapshot
    from console.replay_transport import Transport


@dataclass(frozen=True, slots=True)
class SnapshotTaken:
    """All that is known now; a newer one replaces it."""

    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class LinesArrived:
    """New log lines, in order; each is given once."""

    lines: tuple[LogLine, ...]


@dataclass(frozen=True, slots=True)
class LinesReplaced:
    """The log panes are to show these lines and none that came before: a replay has gone to another moment."""

    lines: tuple[LogLine, ...]


@dataclass(frozen=True, slots=True)
class Replayed:
    """Where a replay stands now; a newer one replaces it."""

    transport: Transport


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something the operator should hear of once: a sentence and ``info``, ``warning`` or ``error``."""

    text: str
    severity: str = "info"


Fact = SnapshotTaken | LinesArrived | LinesReplaced | Noticed | Replayed


class FactSource(Protocol):
    """What the screen needs of a feed; tests and replay give their own."""

    def facts(self) -> AsyncIterator[Fact]:
        """Give facts until closed; connecting, following and asking happen meanwhile."""
        ...

    async def ping(self) -> HealthProbe:
        """Ask the server's health now; the answer also shows in the next snapshot."""
        ...

    def reconnect(self) -> None:
        """Do not wait for the next try: connect now."""
        ...

    def look(self) -> None:
        """Look at the job's process now: something was done to it."""
        ...

    def detail(self, name: str) -> DatasetDetail | None:
        """One dataset seen closely, as of the newest snapshot; None while nothing is known of it."""
        ...
