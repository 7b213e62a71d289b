"""A screen that remembers its run: the line of time, and readings of the past."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

from textual import on, work
from textual.reactive import var

from console.panels.timeline import TimelinePanel
from console.screens.commanded import CommandedScreen

if TYPE_CHECKING:
    from datetime import datetime

    from console.chronicle import Chronicle
    from console.job.snapshot import DatasetState, Snapshot
    from console.job.timeline_view import Timeline
    from console.moments import Moments
    from console.screens.setup import Setup

DRAWN_EVERY = (timedelta(seconds=5), timedelta(minutes=1))
"""How often the line of time is laid anew while nothing happens, at the shortest and at the longest."""

DRAWN_SHARE = 0.001
"""Share of the line after which it is laid anew: a cell is five or ten times as much."""

JOURNAL_EVERY_S = 10.0
"""Seconds between two looks whether somebody wrote into the journal."""

NOTHING_KEPT = "Nothing was kept of that time: readings are kept from when a console follows the run."
NOTHING_YET = "Nothing is known yet."


class TimelinedScreen(CommandedScreen):
    """What the main screen keeps in memory of its run, and how it looks back."""

    setup: Setup
    snapshot: var[Snapshot | None]

    timeline: var[Timeline | None] = var(None)
    """The run on a line of time; None before anything is known."""

    past_trouble: var[str] = var("")
    """Why the past can't be read; empty while all is well."""

    _chronicle: Chronicle | None = None
    _laid_at: datetime | None = None
    _pause = DRAWN_EVERY[0]
    _states: tuple[DatasetState, ...] = ()
    _recalled = False
    _journal_seen: tuple[int, int] = (0, 0)

    # ------------------------------------------------------------ what comes in

    def record(self, snapshot: Snapshot) -> None:
        """Take in what is shown, and lay the line of time anew when there is a reason."""
        if self._chronicle is None:
            if snapshot.link.state == "connecting":
                return
            # Behind the first figures: what it imports, the first frame need not wait for.
            from console.chronicle import Chronicle  # noqa: PLC0415

            self._chronicle = Chronicle()
        happened = self._chronicle.take(snapshot)
        if not self._recalled:
            self._recalled = True
            self.recall_past()
        states = tuple(view.state for view in snapshot.datasets)
        laid = self._laid_at
        if happened or states != self._states or laid is None or not laid <= snapshot.at < laid + self._pause:
            self._laid_at, self._states = snapshot.at, states
            line = self.timeline = self._chronicle.timeline(snapshot)
            self._pause = min(max(DRAWN_EVERY[0], DRAWN_SHARE * (line.last - line.first)), DRAWN_EVERY[1])

    @work(exclusive=True, group="past", exit_on_error=False)
    async def recall_past(self) -> None:
        """Take up what the history and the journal have of the time before this console."""
        from console.history_past import past_of  # noqa: PLC0415 - behind the first figures

        path, chronicle = self.setup.past(), self._chronicle
        if path is not None and chronicle is not None:
            chronicle.recall(await asyncio.to_thread(past_of, path))
            self.past_trouble = chronicle.trouble
        self._laid_at = None
        self._look_into_journal()
        self.past_recalled()

    def past_recalled(self) -> None:
        """The past has been taken up, as far as there is one."""

    def begin_to_look_back(self) -> None:
        """Look into the journal now and then: others write there, too."""
        self.set_interval(JOURNAL_EVERY_S, self._look_into_journal)

    def _look_into_journal(self) -> None:
        """Read the journal when it has grown."""
        journal, chronicle = self.setup.journal(), self._chronicle
        if journal is None or chronicle is None:
            return
        try:
            facts = journal.path.stat()
        except OSError:  # none yet: an act or a note makes it
            return
        seen = (facts.st_size, facts.st_mtime_ns)
        if seen != self._journal_seen:
            self._journal_seen = seen
            self.read_journal()

    @work(exclusive=True, group="journal", exit_on_error=False)
    async def read_journal(self) -> None:
        """Take in the journal as it stands."""
        journal, chronicle = self.setup.journal(), self._chronicle
        if journal is not None and chronicle is not None:
            chronicle.note(await asyncio.to_thread(journal.recent))
            self._laid_at = None

    # ------------------------------------------------------------ the reading at a moment

    @on(TimelinePanel.Asked)
    def _open_asked_moment(self, message: TimelinePanel.Asked) -> None:
        message.stop()
        self.open_moment(message.at)

    def open_moment(self, at: datetime) -> None:
        """Show what was known at a moment."""
        self.find_moment(at)

    @property
    def moments(self) -> Moments | None:
        """Where readings of the past are found; None before anything is known."""
        from console.moments import Moments  # noqa: PLC0415 - only who looks back needs it

        return None if self._chronicle is None else Moments(self._chronicle, self.setup.past())

    @work(exclusive=True, group="moment", exit_on_error=False)
    async def find_moment(self, at: datetime) -> None:
        """Find the reading of a moment, and show it."""
        from console.screens.moment import MomentScreen  # noqa: PLC0415 - only who looks back needs it

        moments = self.moments
        if moments is None or self.snapshot is None:
            self.refuse(NOTHING_YET)
            return
        found = await moments.near(at)
        if found is None:
            self.refuse(NOTHING_KEPT)
        else:
            zone, usual = self.setup.zone, self.setup.usual
            self.app.push_screen(MomentScreen(found, self.snapshot, moments, asked=at, zone=zone, usual=usual))
