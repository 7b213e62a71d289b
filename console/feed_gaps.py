"""Words in a log's own place for what is not continuous there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.job.events import LogLine
from remote.command_tail import Missed

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.events import Source
    from remote.frames import Reset


def gap_line(source: Source, reset: Reset | Missed, at: datetime) -> LogLine:
    """Say in the log itself, in its place, that what follows is not the continuation of what stands before."""
    if isinstance(reset, Missed):
        return LogLine(source, "-- the log no longer has the lines read last: some may be missing --", at, "gap")
    if reset.kind == "restarted":
        return LogLine(source, "-- the log's command was started anew: lines may be missing or doubled --", at, "gap")
    if reset.lost_bytes == 0:
        return LogLine(source, f"-- the file was {reset.kind}: nothing is lost --", at, "gap")
    size = "an unknown number of" if reset.lost_bytes is None else f"{reset.lost_bytes:,}"
    return LogLine(source, f"-- {size} bytes are gone: the file was {reset.kind} --", at, "gap")
