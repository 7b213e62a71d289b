"""What outlives one process of the server: its starts, how long they took, a full disk, a clock that jumped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.rank_report import RankReport
    from console.job.server_events import ServerLoad

_STARTS = 16
"""Starts that are kept, to see a server that starts again and again."""

JUMP_S = 300.0
"""Seconds between two reports from which on a gap is looked at: a compilation in a run takes two minutes."""

_AS_BEFORE = 0.5
"""Share of the former throughput that a report after a gap must show: one that spans a true silence shows far less."""


@dataclass(frozen=True, slots=True)
class ServerLife:
    """The server over all its processes. Times are the log's own.

    Attributes:
        starts: When its processes began, the newest last.
        revived: Those of them that followed a crash.
        load_s: Seconds from the newest start that was completed until the server was ready; None when none was seen.
        disk: The newest line about a full disk, of the present process; empty when there is none.
        disk_at: When.
        jumped_at: When the log's clock was last found to have jumped ahead.
        jump_s: By how much.
    """

    starts: tuple[datetime, ...] = ()
    revived: tuple[datetime, ...] = ()
    load_s: float | None = None
    disk: str = ""
    disk_at: datetime | None = None
    jumped_at: datetime | None = None
    jump_s: float = 0.0

    def started(self, at: datetime, *, crashed: bool) -> ServerLife:
        """A process began; the one before it had crashed, or not."""
        revived = (*self.revived, at)[-_STARTS:] if crashed else self.revived
        return replace(self, starts=(*self.starts, at)[-_STARTS:], revived=revived, disk="", disk_at=None)

    def ready(self, started_at: datetime | None, at: datetime) -> ServerLife:
        """The process that began then serves now."""
        return self if started_at is None else replace(self, load_s=max(0.0, (at - started_at).total_seconds()))

    def full(self, message: str, at: datetime) -> ServerLife:
        """A line said that the disk is full."""
        return self if self.disk_at is not None and at <= self.disk_at else replace(self, disk=message, disk_at=at)

    def gap(self, former: RankReport, event: ServerLoad, at: datetime) -> ServerLife:
        """Two reports lie more than ``JUMP_S`` apart.

        A report's throughput is measured by a clock that does not jump: when it is as before, the server worked all
        the time, and the stamps' clock was set ahead. Had it stood still, the gap would be in the figure.
        """
        before, made = former.throughput, event.gen_throughput
        worked = bool(former.load.running and event.running and before and made and made >= _AS_BEFORE * before)
        if not worked or (self.jumped_at is not None and at <= self.jumped_at):
            return self
        return replace(self, jumped_at=at, jump_s=(at - former.at).total_seconds())
