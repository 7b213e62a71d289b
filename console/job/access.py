"""Access lines, nine in ten of a polled server's log: told from all others by fixed texts, without a pattern."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.job.lines import Lines

if TYPE_CHECKING:
    from collections.abc import Sequence

USUAL_END = ' HTTP/1.1" 200 OK'
"""How nearly all access lines end."""
_SHORT = 130
"""Characters of a line in which an access line leaves no room for a report glued before it."""


_REPORT = " batch"
"""What every report of a scheduler holds."""
_OTHER_END = re.compile(r'\n(?<! HTTP/1\.1" 200 OK\n)')
"""The end of a line that is no usual access line. A pattern that begins with one plain character is searched for at the
speed of memory; that an end is not the usual one is then a glance back."""
_REPORT_HEAD = re.compile(r"b(?<= b)(?=atch)")
"""As ``_REPORT``; an access line hardly holds the letter, so this too is found at the speed of memory."""


def is_access(line: str) -> bool:
    """True for a line of the HTTP server that says who asked for what; false where a report is glued to it."""
    if len(line) < _SHORT and line.endswith(USUAL_END):
        return True
    return "HTTP/1." in line and '" ' in line and _REPORT not in line


def others(lines: Sequence[str]) -> list[tuple[int, str]]:
    """The lines that are no usual access lines, and their places.

    As ``is_access`` says of lines that end as usual, written out: a call for each line would take longer than all the
    rest. Of lines in one text, those between are not even looked at one by one.
    """
    if isinstance(lines, Lines):
        return _others_of(lines)
    return [
        (place, line)
        for place, line in enumerate(lines)
        if not line.endswith(USUAL_END) or (len(line) >= _SHORT and _REPORT in line)
    ]


def _others_of(lines: Lines) -> list[tuple[int, str]]:
    """As ``others``: found by the ends that are not the usual one, and by the reports that are glued to usual lines.

    Where most lines are others, all are looked at.
    """
    text = lines.text
    ends = [found.end() for found in _OTHER_END.finditer(text)]
    if 2 * len(ends) > len(lines):
        return others(lines.all())
    glued = (text.find("\n", found.end()) + 1 for found in _REPORT_HEAD.finditer(text))
    found: list[tuple[int, str]] = []
    place = at = 0
    for end in sorted({*ends, *glued}):
        begin = text.rfind("\n", at, end - 1) + 1 or at
        place += text.count("\n", at, begin)
        line = text[begin : end - 1]
        if _is_other(line):
            found.append((place, line))
        place, at = place + 1, end
    return found


def _is_other(line: str) -> bool:
    return not line.endswith(USUAL_END) or (len(line) >= _SHORT and _REPORT in line)
