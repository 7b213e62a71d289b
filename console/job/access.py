"""Access lines, nine in ten of a polled server's log: told from all others by fixed texts, without a pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

USUAL_END = ' HTTP/1.1" 200 OK'
"""How nearly all access lines end."""
_SHORT = 130
"""Characters of a line in which an access line leaves no room for a report glued before it."""


def is_access(line: str) -> bool:
    """True for a line of the HTTP server that says who asked for what; false where a report is glued to it."""
    if len(line) < _SHORT and line.endswith(USUAL_END):
        return True
    return "HTTP/1." in line and '" ' in line and " batch" not in line


def others(lines: Sequence[str]) -> list[tuple[int, str]]:
    """The lines that are no usual access lines, and their places.

    As ``is_access`` begins, written out: a call for each line would take longer than all the rest.
    """
    return [(place, line) for place, line in enumerate(lines) if len(line) >= _SHORT or not line.endswith(USUAL_END)]
