"""How loud a line is, for a log pane; one answer for the server's log and the job's."""

from __future__ import annotations

import re

from console.job.access import USUAL_END

_ACCESS = re.compile(r'"[A-Z]{3,8} \S+ HTTP/[0-9.]+" ([0-9]{3})')
_RULER = re.compile(r"[\s=\-_*#~.+]*")
_DECODE, _PREFILL = "#running-req: ", "#new-seq: "
"""What the commonest lines of all hold."""
_PLAIN_NEWS = (
    " err) ",
    "Avg prompt throughput: ",
    "can be ignored",
    "Decode out of memory happened",
    "Ignore import error",
)
"""What else is plain news without a pattern: reports, and lines with alarming words that mean no harm."""
# No leading \b: without it the search can skip from one possible first letter to the next.
_ERROR = re.compile(
    r"(?:ERROR|CRITICAL|FATAL|Traceback \(most|Killed|Segmentation fault|OutOfMemoryError|No space left"
    r"|SIGQUIT|[Ww]atchdog timeout|Watchdog caught|hit an exception|crashed with exit code|died unexpectedly"
    r"|out of memory|leak detected|fatal error|[Hh]ealth check failed|NCCL error)\b"
)
_ERROR_HEAD = re.compile(
    r"\s*(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\b|\S*\[?[EF][0-9]{3,4} [0-9:.]+ "
    r"|[0-9]{1,7}\.[0-9]{2}\.[0-9]{3}\.[0-9]{3} E |(?:\[[0-9/:-]+\] )?\[TRT-LLM\] (?:\[\w+ [0-9]+\] )?\[[EF]\]"
)
"""Exceptions, and the levels of glog, llama.cpp and TensorRT-LLM."""
_WARNING = re.compile(
    r"(?:WARN|WARNING|warning|deprecated|UserWarning|FutureWarning|DeprecationWarning|SIGTERM|KV cache pool is full"
    r"|Retract requests|preempted|[Rr]etry(?:ing)?|[Ss]erver is (?:gone|away)|[Ww]aiting for the server)\b"
)


def level_of(line: str) -> str:
    """``error``, ``warning``, ``quiet`` (access lines, rulers, blanks) or ``info``, by the words of a cleaned line."""
    if line.endswith(USUAL_END):
        return "quiet"
    if "HTTP/1." in line and (found := _ACCESS.search(line)):
        return "warning" if found[1].startswith("5") else "quiet"
    if not line or _RULER.fullmatch(line):
        return "quiet"
    if _DECODE in line or _PREFILL in line or any(word in line for word in _PLAIN_NEWS):
        return "info"
    if _ERROR.search(line) or _ERROR_HEAD.match(line):
        return "error"
    return "warning" if _WARNING.search(line) else "info"
