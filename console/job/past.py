"""A tracker for the past of the server's log, which is read behind the present and then put in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.job.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Iterable


class PastTracker(Tracker):
    """A tracker that is fed each file of the server's log from its beginning, however long that takes."""

    PATIENCE = None

    @property
    def burst(self) -> bool:
        """Whether more came than can wait, of a log whose stamps say neither day nor start: its times are not true."""
        return any(unread.burst for unread in self._unread.values())

    def next_of(self, unread: Iterable[str]) -> str:
        """Which file is to be read next: the one of which the newest line that was read is the oldest.

        So what is held of the others is no more than was read of them in one turn.

        Args:
            unread: The files of which there is more; at least one.
        """
        return min(unread, key=self._order.reached)
