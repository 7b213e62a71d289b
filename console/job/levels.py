"""How loud a line is, for a log pane; one answer for the server's log and the job's."""

from __future__ import annotations

import re

_ACCESS = re.compile(r'"[A-Z]{3,8} \S+ HTTP/[0-9.]+" ([0-9]{3})')
_RULER = re.compile(r"[\s=\-_*#~.+]*")
_HARMLESS = ("can be ignored", "Decode out of memory happened", "Ignore import error")
"""Lines with alarming words that mean no harm."""
_REPORTS = ("#running-req: ", " err) ", "Avg prompt throughput: ")
"""What the commonest lines hold, schedulers' reports and the job's progress: plain news, without a pattern."""
# No leading \b: without it the search can skip from one possible first letter to the next.
_ERROR = re.compile(
    r"(?:ERROR|CRITICAL|FATAL|Traceback \(most|Killed|Segmentation fault|OutOfMemoryError|No space left"
    r"|SIGQUIT|[Ww]atchdog timeout|Watchdog caught|hit an exception|crashed with exit code|died unexpectedly"
    r"|out of memory|leak detected|fatal error|[Hh]ealth check failed|NCCL error)\b"
)
_ERROR_HEAD = re.compile(r"\s*(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\b|\S*\[?[EF][0-9]{3,4} [0-9:.]+ ")
_WARNING = re.compile(
    r"(?:WARN|WARNING|warning|deprecated|UserWarning|FutureWarning|DeprecationWarning|SIGTERM|KV cache pool is full"
    r"|Retract requests|preempted|[Rr]etry(?:ing)?|[Ss]erver is (?:gone|away)|[Ww]aiting for the server)\b"
)


def level_of(line: str) -> str:
    """``error``, ``warning``, ``quiet`` (access lines, rulers, blanks) or ``info``, by the words of a cleaned line."""
    if "HTTP/1." in line and (found := _ACCESS.search(line)):
        return "warning" if found[1].startswith("5") else "quiet"
    if not line or _RULER.fullmatch(line):
        return "quiet"
    if any(word in line for word in _REPORTS) or any(word in line for word in _HARMLESS):
        return "info"
    if _ERROR.search(line) or _ERROR_HEAD.match(line):
        return "error"
    return "warning" if _WARNING.search(line) else "info"
