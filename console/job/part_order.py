"""Brings what the files of one log say, one a node or rank, into the order of time, where a backlog of them comes.

Each file is in order by itself, but they come by turns: hours of one before the same hours of another. What came of one
is held back until no line of another that is still behind can be older; so it is as if the processes had written into
one file. Lines of the same second come in the order of the files. Where nothing is behind, nothing waits.
"""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from console.job.events import Stamped

PATIENCE = timedelta(seconds=20)
"""How long one file waits for another: a host from which one of them can't be read must not hide the others."""

_FIRST = datetime.min.replace(tzinfo=UTC)
"""Stands for the time of lines before the first stamp of a file."""


class PartOrder:
    """Holds events of several files back until their turn has come.

    Args:
        parts: The files' names.
        patience: How long an event is held at most; None for as long as it takes.
    """

    def __init__(self, parts: Iterable[str], patience: timedelta | None = PATIENCE) -> None:
        self._held: dict[str, deque[tuple[datetime, Stamped]]] = {part: deque() for part in parts}
        self._reached = dict.fromkeys(self._held, _FIRST)
        self._behind: set[str] = set()
        self._patience = patience
        self._held_since: datetime | None = None

    def begin_at(self, other: PartOrder) -> None:
        """Go on where another one has come to, which has given all that was added to it."""
        self._reached = dict(other._reached)
        for held in self._held.values():
            held.clear()

    def mark(self, part: str, *, behind: bool) -> None:
        """Say whether more of a file is there than has come.

        One that was read to its end holds nobody back, though it was silent for days: what is added to it is newer than
        all that was there.
        """
        (self._behind.add if behind else self._behind.discard)(part)

    def reached(self, part: str) -> datetime:
        """The newest time that a file has come to."""
        return self._reached.get(part, _FIRST)

    def add(self, part: str, told: Sequence[Stamped]) -> None:
        """Take what a file says, each event at the newest time that its file had reached."""
        held, reached = self._held[part], self._reached[part]
        for stamped in told:
            # A guessed time is the console's where nothing better is known, and would stand before all that comes.
            if not stamped.guessed and stamped.at > reached:
                reached = stamped.at
            held.append((reached, stamped))
        self._reached[part] = reached

    def ready(self, now: datetime) -> list[Stamped]:
        """Give what need not wait any more, in the order of time."""
        until = min((self._reached[part] for part in self._behind), default=None)
        if until is not None and self._is_enough(now):
            until = None
        ready: list[tuple[datetime, Stamped]] = []
        for held in self._held.values():
            while held and (until is None or held[0][0] < until or held[0][0] == _FIRST):
                ready.append(held.popleft())
        if not any(self._held.values()):
            self._held_since = None
        ready.sort(key=itemgetter(0))  # stable: the lines of a file, and those of a second, keep their order
        return [stamped for _, stamped in ready]

    def _is_enough(self, now: datetime) -> bool:
        """Whether something has been held for too long."""
        if not any(self._held.values()):
            return False
        self._held_since = self._held_since or now
        return self._patience is not None and now - self._held_since > self._patience
