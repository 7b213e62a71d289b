"""The words by which any job says that something went wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.job.formats import Format
from console.job.job_events import JobTrouble, ServerWord

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.job.events import Event

_LONGEST = 300
"""Characters of a message that are kept; a screen shows one line of it."""


def _trouble(found: re.Match[str]) -> tuple[Event, ...]:
    return (JobTrouble(found.string.strip()[:_LONGEST]),)


def _ending(found: re.Match[str]) -> tuple[Event, ...]:
    return (JobTrouble(found.string.strip()[:_LONGEST], ends=True),)


def _of_server(state: str) -> Callable[[re.Match[str]], tuple[Event, ...]]:
    """A ``make`` for what the job says of the server; ``back`` is good news."""

    def make(found: re.Match[str]) -> tuple[Event, ...]:
        text = found.string.strip()[:_LONGEST]
        word = ServerWord(state, text)
        return (word,) if state == "back" else (JobTrouble(text), word)

    return make


TROUBLES = (
    Format(
        "server back",
        "erver",
        re.compile(r"^\s*Server is back\b"),
        _of_server("back"),
        ("  Server is back: answers in 0.4 s",),
    ),
    Format(
        "server fails",
        "erver",
        re.compile(r"\b[Ss]erver (?:fails|failing|keeps failing)\b"),
        _of_server("fails"),
        ("  ERROR: Server fails: 20 prompts in a row failed (http_500); one is tried at a time",),
    ),
    Format(
        "server still away",
        "aiting for ",
        re.compile(r"[Ww]aiting for (?:the )?server\b"),
        _of_server("still"),
        ("Waiting for the server (3 min)...", "  Still waiting for the server: connection refused"),
    ),
    Format(
        "server gone",
        "erver",
        re.compile(r"\b[Ss]erver (?:is )?(?:gone|away|unreachable|not reachable|not responding|down)\b"),
        _of_server("gone"),
        ("  WARNING: Server is away: connection refused", "  WARNING: Server gone: connection refused"),
    ),
    Format(
        "full disk",
        "",
        re.compile(r"No space left on device|Disk quota exceeded|\bENOSPC\b|\b[Dd]isk is full\b"),
        _trouble,
        ("write failed: No space left on device", "OSError: [Errno 122] Disk quota exceeded: 'results.jsonl'"),
    ),
    Format(
        "exit code",
        "xit",
        re.compile(
            r"\b[Ee]xit(?:ed|ing)?(?: with)?(?: (?:code|status))?:? \(?[1-9][0-9]{0,2}\b"
            r"|\b[Ee]xit (?:code|status)[:=] ?[1-9][0-9]{0,2}\b"
        ),
        _ending,
        ("srun: error: gpu01: task 0: Exited with exit code 1", "job exited with code 137", "[exit code: 1]"),
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
            r"^\s*(?:\S+: line [0-9]+: +[0-9]+ )?"
            r"(?:Killed|Terminated|Aborted|Segmentation fault|Bus error|Out of memory)\b"
            r"|oom-kill|\*\*\* (?:JOB|STEP) .{1,80}CANCELLED"
        ),
        _ending,
        (
            "Killed",
            "Segmentation fault (core dumped)",
            "run.sh: line 7: 8123 Killed    python run_inference.py",
            "slurmstepd: error: *** JOB 4711 ON gpu01 CANCELLED AT 2026-02-24T03:19:40 ***",
        ),
    ),
)
"""Tried when nothing else knows a line."""
