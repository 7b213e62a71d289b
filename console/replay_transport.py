"""Where a replay stands: the moment, the pace, and what was judged when, as far as it has been read. Frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.job.timeline_changes import Change

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from console.job.snapshot import Verdict

__all__ = ["Change", "Survey", "Transport", "neighbour", "paced"]

SPEEDS = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 3600.0, 7200.0)
"""How many seconds of the log pass in one of ours."""

DEFAULT_SPEED = 600.0
"""Ten minutes of the log in a second: 55 hours take five and a half minutes."""


@dataclass(frozen=True, slots=True)
class Transport:
    """Where a replay stands.

    Attributes:
        at: The moment shown.
        first: When the first line was written.
        last: When the last one was.
        speed: Seconds of the log in one of ours.
        playing: Time goes on.
        target: On the way to this moment; None when it is not.
        changes: The verdicts, oldest first, as far as the recording has been read.
        read_until: How far that is.
    """

    at: datetime
    first: datetime
    last: datetime
    speed: float = DEFAULT_SPEED
    playing: bool = True
    target: datetime | None = None
    changes: tuple[Change, ...] = ()
    read_until: datetime | None = None

    def share(self, moment: datetime) -> float:
        """Where a moment lies in the recording, 0 to 1."""
        whole = (self.last - self.first).total_seconds()
        return min(1.0, max(0.0, (moment - self.first).total_seconds() / whole)) if whole else 1.0

    def moment(self, share: float) -> datetime:
        """The moment at a share of the recording, 0 to 1."""
        return self.first + min(1.0, max(0.0, share)) * (self.last - self.first)


@dataclass(slots=True)
class Survey:
    """Collects the changes of verdict along a walk.

    Attributes:
        changes: Oldest first.
        until: How far the walk has come; None before its first point.
    """

    changes: list[Change] = field(default_factory=list)
    until: datetime | None = None

    def take(self, at: datetime, verdict: Verdict) -> None:
        """Take in what was judged at the next point of the walk."""
        known = self.changes[-1] if self.changes else None
        if known is None or (known.verdict, known.cause) != (verdict.verdict, verdict.cause):
            self.changes.append(Change(at, verdict.verdict, verdict.cause, verdict.headline))
        self.until = at


def neighbour(changes: Sequence[Change], at: datetime, *, back: bool) -> Change | None:
    """The change after a moment, or the one before it; None when there is none."""
    if back:
        return next((change for change in reversed(changes) if change.at < at), None)
    return next((change for change in changes if change.at > at), None)


def paced(speed: float, *, faster: bool) -> float:
    """The next speed of the ladder; the last one is kept."""
    if faster:
        return next((known for known in SPEEDS if known > speed), SPEEDS[-1])
    return next((known for known in reversed(SPEEDS) if known < speed), SPEEDS[0])
