"""What the operator was told: each message is in sight for some seconds, and stays in the help."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

from console.panels import words
from widgets.plain import clean

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

KEPT = 50
"""Messages that are kept, the newest: what was missed while one looked away."""

_MARKS = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~&])")
"""What Markdown would take for its own; messages hold text from outside."""


class Notices:
    """The newest messages, each with its time."""

    def __init__(self) -> None:
        self._kept: deque[tuple[datetime, str]] = deque(maxlen=KEPT)

    def add(self, at: datetime, text: str) -> None:
        """Keep a message."""
        self._kept.append((at, text))

    def help(self, now: datetime, zone: tzinfo | None) -> str:
        """Give them as a part of the help, in Markdown, the newest first; nothing when there are none.

        Args:
            now: The present.
            zone: The operator's zone; None is this machine's.
        """
        told = [(words.clock(at, now, zone), _MARKS.sub(r"\\\1", clean(text))) for at, text in reversed(self._kept)]
        rows = (f"- {clock} {text}" for clock, text in told)
        return "\n".join(("### Messages", "", *rows)) if told else ""
