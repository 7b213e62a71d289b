"""What the panes of the logs are called, and what they say of how a log is seen; pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from console.job.events import Source
from console.panels import words

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.snapshot import LogView as LogState

SHOWN = (Source.SERVER, Source.JOB)
"""The logs that have a pane; ``progress.jsonl`` is for machines."""

NAMES = {Source.SERVER: "server's log", Source.JOB: "job's log"}
"""What a pane is called."""


def state_note(log: LogState | None, now: datetime) -> str:
    """Say how a log is seen when that is not as it should be: missing, unreadable, old, not understood, lost bytes."""
    if log is None or not log.state:
        return "no line yet"
    if log.state != "following":
        return words.joined(log.state, log.path, log.reason)
    strange = f"{1 - log.understood:.0%} not understood" if log.understood is not None and log.understood < 0.5 else ""  # noqa: PLR2004 -- most of a log that is read well is understood
    lost = f"{log.lost_bytes:,} bytes lost" if log.lost_bytes else ""
    age = words.old(log.updated_at, now)
    return words.joined(f"newest line {age}" if age else "", strange, lost)


def understood(log: LogState | None) -> str:
    """Say how much of a log is understood; it is all only when no line was not."""
    if log is None or log.understood is None:
        return ""
    return f"understood {math.floor(log.understood * 100 + 1e-9)}%"
