"""What other programs put before a log's lines, as they collect them.

Prefixes without a time: docker compose (``name-1  | ``), Ray (``(name pid=7) ``, ``(name pid=7, ip=10.0.0.2) ``),
vLLM's processes (the same shape), kubectl (``[pod/name/container] ``), torchrun (``[rank3]: ``), mpirun
(``[1,3]<stderr>: ``).
Stamps of their own: ``docker logs -t``, ``kubectl logs --timestamps`` (RFC 3339), journald's ``short``, ``short-iso``,
``short-full`` and the precise ones, GitHub's and GitLab's runners. They may stand one in another.
"""

from __future__ import annotations

import re

SYSTEMD = r"[\w.-]{1,64} [^\s:\[\]]{1,128}\[[0-9]{1,10}\]: ?"
"""A pattern for the host and the unit with its process that journald puts behind its stamp."""
_BAR = r"(?![#█▏▎▍▌▋▊▉=>])"
"""What follows the mark of compose is no progress bar."""
_PREFIX = re.compile(
    rf"(?:\((?:[^()]{{0,60}} )?pid=[0-9]{{1,10}}(?:, ip=[^()]{{1,60}})?\) ?|[A-Za-z][\w.-]{{0,63}} +\| ?{_BAR}"
    r"|\[pod/[^\]\s]{1,200}\] ?|\[rank[0-9]{1,6}\]: ?(?!\[[IWEF])|\[[0-9]{1,6},[0-9]{1,6}\]<std(?:err|out)>: ?)+"
)
_WRITER = re.compile(
    r"\([^()]*pid=[0-9]+[^()]*\)|[A-Za-z][\w.-]* +\||\[pod/[^\]\s]+\]|\[rank[0-9]+\]|\[[0-9]+,[0-9]+\]<"
)
_HEADS = frozenset("[(IWETDC2JFMASON")
"""How a program's own stamp, or another wrapper's, begins: a bracket, a level, a year, a month."""


def prefix_end(line: str) -> int:
    """Characters of the prefixes without a time that a line begins with; 0 for none."""
    found = _PREFIX.match(line) if line[:1].isalpha() or line[:1] in {"(", "["} else None
    return found.end() if found else 0


def wraps(rest: str) -> bool:
    """Whether what stands behind a stamp may be a line with a stamp or a prefix of its own."""
    return rest[:1] in _HEADS or prefix_end(rest) > 0


def who_writes(before: str) -> str:
    """The process or container that wrote a line, by what stands before its stamp; empty when that says nothing."""
    found = _WRITER.findall(before)
    return found[-1] if found else ""
