"""Facts that cross the app: what the feed tells, as messages to the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

from console import facts

if TYPE_CHECKING:
    from console.job.events import LogLine
    from console.job.snapshot import Snapshot
    from console.replay_transport import Transport


class SnapshotTaken(Message):
    """All that is known now; a newer one replaces it, so a slow terminal drops frames, not facts."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot
        """The newest one."""

    def can_replace(self, message: Message) -> bool:
        """Take the place of an older one that still waits."""
        return isinstance(message, SnapshotTaken)


class LinesArrived(Message):
    """New log lines, in order; never dropped."""

    def __init__(self, lines: tuple[LogLine, ...]) -> None:
        super().__init__()
        self.lines = lines
        """The batch, of any sources."""


class LinesReplaced(Message):
    """The log lines of another moment of a replay; those before them are to go."""

    def __init__(self, lines: tuple[LogLine, ...]) -> None:
        super().__init__()
        self.lines = lines
        """The newest ones there, of any sources."""


class ReplayMoved(Message):
    """A replay stands somewhere else, or at another pace; a newer one replaces it."""

    def __init__(self, transport: Transport) -> None:
        super().__init__()
        self.transport = transport
        """Where it stands now."""

    def can_replace(self, message: Message) -> bool:
        """Take the place of an older one that still waits."""
        return isinstance(message, ReplayMoved)


class NoticeGiven(Message):
    """Something the operator should hear of once."""

    def __init__(self, text: str, severity: str = "info") -> None:
        super().__init__()
        self.text = text
        """A sentence."""
        self.severity = severity
        """``info``, ``warning`` or ``error``."""


class FeedEnded(Message):
    """Nothing more will come."""

    def __init__(self, reason: str = "") -> None:
        super().__init__()
        self.reason = reason
        """Why, as a sentence; empty for an ordinary end."""


def as_message(fact: facts.Fact) -> Message:
    """Give the message that carries a fact of the feed."""
    match fact:
        case facts.SnapshotTaken(snapshot):
            return SnapshotTaken(snapshot)
        case facts.LinesArrived(lines):
            return LinesArrived(lines)
        case facts.LinesReplaced(lines):
            return LinesReplaced(lines)
        case facts.Replayed(transport):
            return ReplayMoved(transport)
        case facts.Noticed(text, severity):
            return NoticeGiven(text, severity)
