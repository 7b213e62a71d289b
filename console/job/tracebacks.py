"""Which lines without a stamp are the body of a traceback, also when several ranks write theirs line by line.

A body has no shape of its own behind its indented lines: the exception's message may be anything. So for a while after
each line that is surely of a traceback, any line of the same writer counts as one, whatever else is written between.
"""

from __future__ import annotations

import re

_SURE = re.compile(
    r"Traceback \(most recent|\s+\S|During handling of the above|The above exception was|Exception Group"
    r"|(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt)\b"
)
_LOOSE = 20
"""Other lines after which a message of an exception is no longer looked for."""
_WRITERS = 64


class Tracebacks:
    """Follows the tracebacks of one log; ``open`` is true while one may go on."""

    def __init__(self) -> None:
        self.open: dict[str, int] = {}

    def passed(self, who: str, text: str) -> None:
        """A stamped line came by; it may begin a traceback, or end one."""
        if text.endswith("(most recent call last):"):
            self._begin(who)
        elif who in self.open:
            self.open[who] -= 1
            if self.open[who] <= 0:
                del self.open[who]

    def holds(self, who: str, text: str) -> bool:
        """Whether a line without a stamp is part of a traceback.

        Args:
            who: What wrote it, as far as its prefix says; empty otherwise.
            text: Without its prefix.
        """
        if text.startswith("Traceback (most recent"):
            self._begin(who)
        elif who in self.open and _SURE.match(text):
            self.open[who] = _LOOSE
        return who in self.open

    def _begin(self, who: str) -> None:
        if len(self.open) >= _WRITERS:
            self.open.clear()
        self.open[who] = _LOOSE
