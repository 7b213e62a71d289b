"""The shapes of stamps, as data.

- ``[2026-02-24 03:19:40] text``, with milliseconds, ranks (``[2026-02-24 03:19:40 DP1 TP4]``) or both; SGLang, our job.
- ``[02/24/2026-03:19:40] [TRT-LLM] [I] text``: TensorRT-LLM.
- ``[03:19:40 TP0] text``: SGLang up to 0.3.2, no date.
- ``INFO 02-24 03:19:40 [file.py:1] text``: vLLM, no year.
- ``2026-02-24T03:19:40.123Z text`` and its relatives (ISO 8601, RFC 3339, ``logging``'s comma).
- ``[rank5]:[E0224 03:19:40.918469923 file.cpp:607] text``: glog (PyTorch, NCCL), no year.
- ``Feb 24 03:19:40 gpu01 sglang[812]: text``: journald, no year.
"""

from __future__ import annotations

import re
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from console.job.wrappers import SYSTEMD

if TYPE_CHECKING:
    from datetime import datetime

_RANK = r"(?:DP|TP|PP|EP|ATTN_CP|MOE_DP)[0-9]+"
_RANKS = rf"(?P<ranks>{_RANK}(?: {_RANK})*)"
_DATE = r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
_TIME = r"(?P<time>[0-9]{2}:[0-9]{2}:[0-9]{2})"
_FRACTION = r"(?:[.,](?P<fraction>[0-9]{1,9}))?"
_OFFSET = r" ?(?P<offset>Z|[+-][0-9]{2}:?[0-9]{2})?"


class Shape(StrEnum):
    """Which kind of stamp a line has; it tells who wrote it."""

    BRACKET = "bracket"
    LEVEL = "level"
    ISO = "iso"
    GLOG = "glog"
    SLASH = "slash"
    SYSLOG = "syslog"
    NONE = "none"


class Stamp(NamedTuple):
    """What a line's stamp says.

    Attributes:
        at: Its time in UTC; None when it has none.
        rest: The line behind the stamp.
        ranks: ``DP1 TP4`` as printed inside the stamp; empty without.
        before: What stands before the stamp: a wrapper's prefix, a progress bar, a process name.
        shape: Which kind it is.
    """

    at: datetime | None
    rest: str
    ranks: str = ""
    before: str = ""
    shape: Shape = Shape.NONE


BRACKET = re.compile(rf"\[{_DATE}[ T]{_TIME}{_FRACTION}{_OFFSET}(?: {_RANKS})?(?P<more> [^\]]{{0,80}})?\] ?")
CLOCK = re.compile(rf"\[{_TIME}{_FRACTION}(?: {_RANKS})?\] ?")
"""A time without a date."""
LEVEL = re.compile(
    rf"\b(?:TRACE|DEBUG|INFO|WARNING|ERROR|CRITICAL) (?P<month>[0-9]{{2}})-(?P<day>[0-9]{{2}}) {_TIME}{_FRACTION} "
)
LEVEL_HEAD = re.compile(rf"(?P<process>(?:\([^()]{{1,60}}\) )?){LEVEL.pattern}")
"""vLLM's stamp at a line's head, behind its process's name."""
ISO = re.compile(
    rf"^(?:[A-Z][a-z]{{2}} )?{_DATE}[ T]{_TIME}{_FRACTION}{_OFFSET}(?: [A-Z]{{3,4}}(?= [\w.-]+ [^\s:]+\[[0-9]+\]: ))?"
    rf"(?=[\s|\]:,-]|$)(?: {SYSTEMD}| [0-9]{{2}}[OE]\+? ?|(?: ?[|:,-]+(?= |$))? ?)"
    rf"(?: ?[A-Z]+ [0-9]+ \[(?:{_RANKS} )?[\w.]+:[0-9]+\] )?"
)
"""Also behind it: journald's unit, GitLab's stream, the process and ranks of a custom layout of SGLang."""
GLOG = re.compile(rf"(?:^|\[)[IWEF](?P<month>[0-9]{{1,2}})(?P<day>[0-9]{{2}}) {_TIME}{_FRACTION} +")
SLASH = re.compile(rf"\[(?P<month>[0-9]{{2}})/(?P<day>[0-9]{{2}})/(?P<year>[0-9]{{4}})-{_TIME}\] ?")
SYSLOG = re.compile(rf"^(?P<name>[A-Z][a-z]{{2}}) (?P<day>[ 0-3][0-9]) {_TIME}{_FRACTION} {SYSTEMD}")
"""journald's short stamp."""
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
"""As journald names them."""
SHAPES = (
    (Shape.BRACKET, BRACKET, "[2"),
    (Shape.SLASH, SLASH, "/2"),
    (Shape.BRACKET, CLOCK, "["),
    (Shape.LEVEL, LEVEL, ":"),
    (Shape.ISO, ISO, "-"),
    (Shape.GLOG, GLOG, "."),
    (Shape.SYSLOG, SYSLOG, "]: "),
)
"""Kind, pattern, and a text that every such line holds; tried in this order."""
OUTER = frozenset({Shape.BRACKET, Shape.ISO, Shape.SYSLOG})
"""Stamps that wrappers put before a program's own."""
_RECORD = re.compile(r"\[2[0-9]{3}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:")


def records(line: str) -> list[str]:
    """The records that share one physical line: output without a newline glues the next one behind it."""
    if line.count("[2") < 2:  # noqa: PLR2004  one stamp, one record
        return [line]
    starts = [found.start() for found in _RECORD.finditer(line)][1:]
    edges = [0, *starts, len(line)]
    return [line[here:there] for here, there in pairwise(edges)]
