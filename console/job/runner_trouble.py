"""The words by which any job says that something went wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.job.formats import Format
from console.job.job_events import JobTrouble

if TYPE_CHECKING:
    from console.job.events import Event

_LONGEST = 300
"""Characters of a message that are kept; a screen shows one line of it."""


def _trouble(found: re.Match[str]) -> tuple[Event, ...]:
    return (JobTrouble(found.string.strip()[:_LONGEST]),)


TROUBLES = (
    Format(
        "server gone",
        "erver",
        re.compile(
            r"\b[Ss]erver (?:is )?(?:gone|away|unreachable|not reachable|not responding|down)\b"
            r"|[Ww]aiting for (?:the )?server\b"
        ),
        _trouble,
        ("  WARNING: Server is away: connection refused", "Waiting for the server (3 min)..."),
    ),
    Format(
        "error line",
        "",
        re.compile(
            r"\b(?:ERROR|CRITICAL|FATAL)\b|^\s*(?:[Ff]atal|[Ee]rror)\b"
            r"|^\s*(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt)\b"
        ),
        _trouble,
        ("ERROR: no answer from the server", "[ERROR] disk", "ValueError: bad prompt", "Error: cannot open"),
    ),
    Format(
        "killed",
        "",
        re.compile(
            r"^\s*(?:Killed|Terminated|Aborted|Segmentation fault|Bus error|Out of memory)\b"
            r"|oom-kill|No space left on device"
        ),
        _trouble,
        ("Killed", "Segmentation fault (core dumped)", "write failed: No space left on device"),
    ),
)
"""Tried when nothing else knows a line."""
