"""What the panes of the logs are called, and what they say of how a log is seen; pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from console.job import units
from console.job.events import Source
from console.panels import words

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.snapshot import LogView as LogState
    from console.job.transfer import Transfer

SHOWN = (Source.SERVER, Source.JOB)
"""The logs that have a pane; ``progress.jsonl`` is for machines."""

NAMES = {Source.SERVER: "server's log", Source.JOB: "job's log"}
"""What a pane is called."""


_LEAST = 0.01
"""Shares below it would be rounded to nothing."""
_FEW = 0.5
"""Below this share the log is hardly read at all, which is said first."""


def state_note(log: LogState | None, now: datetime) -> str:
    """Say how a log is seen when that is not as it should be: missing, unreadable, old, not understood, lost bytes."""
    if log is None or not log.state:
        return "no line yet"
    if log.state != "following":
        return words.joined(log.state, log.path, log.reason)
    going = transfer_note("reading", log.reading) or transfer_note("filling in the past:", log.filling)
    strange = understood(log)[-1] if _is_strange(log) else ""
    lost = f"{log.lost_bytes:,} bytes lost" if log.lost_bytes else ""
    age = words.old(log.updated_at, now)
    return words.joined(going, f"newest line {age}" if age and log.reading is None else "", strange, lost)


def transfer_note(what: str, transfer: Transfer | None) -> str:
    """Say how far something long is: ``reading 12 of 64 MB, 8.0 MB/s, 6 s left``; empty when nothing is under way.

    Args:
        what: What is done.
        transfer: How far it is.
    """
    if transfer is None:
        return ""
    far = f"{what} {transfer.done / 1e6:,.0f} of {transfer.total / 1e6:,.0f} MB"
    if transfer.rate is None or transfer.left_s is None:
        return f"{far}, for {units.duration(transfer.took_s)}"
    return f"{far}, {transfer.rate / 1e6:,.1f} MB/s, {units.duration(transfer.left_s)} left"


def reading_notes(log: LogState | None) -> tuple[str, ...]:
    """Say how much of a log is understood, in ever fewer words; what ``state_note`` has said is not said twice."""
    if log is None:
        return ()
    return ("u: which lines are not", "") if _is_strange(log) else understood(log)


def understood(log: LogState) -> tuple[str, ...]:
    """Say how much of a log is understood, in ever fewer words; nothing before its first line."""
    if log.understood is None:
        return ()
    lines = f"{log.lines:,} line{'' if log.lines == 1 else 's'}"
    if log.understood >= 1:
        return (f"understood all {lines}", "understood all") if log.lines > 1 else (f"understood {lines}",)
    if log.understood <= 0:
        return (f"understood none of {lines} (u: which)", f"understood none of {lines}", "understood none")
    brief = f"understood {share_understood(log.understood)}"
    return (f"{brief} of {lines} (u: the rest)", f"{brief} of {lines}", brief)


def share_understood(share: float) -> str:
    """Give a share that is neither nothing nor all, so that it reads as neither.

    Args:
        share: 0 to 1, both left out.
    """
    return f"{math.floor(share * 100 + 1e-9)} %" if share >= _LEAST else "under 1 %"


def missed_lines(log: LogState) -> int:
    """Give the number of lines that were not understood."""
    return round((1 - (log.understood or 0.0)) * log.lines)


def _is_strange(log: LogState) -> bool:
    return log.understood is not None and log.understood < _FEW
