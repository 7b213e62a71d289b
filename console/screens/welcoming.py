"""A screen that tells who comes back what happened meanwhile."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

from textual import work
from textual.widgets import Input

from console.absence import Absence
from console.job import units
from console.panels import words
from console.screens.timelined import NOTHING_YET, TimelinedScreen

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from console.job.snapshot import Snapshot
    from console.since import Since

LOOK_EVERY = timedelta(minutes=1)
"""How often it is written down that somebody looks."""

LOOKED_AWAY = timedelta(minutes=15)
"""When the run was last looked at so long ago, a new console says how to learn what happened."""

NOT_AWAY = "You have not been away: there is nothing to tell yet."


class WelcomingScreen(TimelinedScreen):
    """Sees whether somebody is there, and tells who comes back."""

    _absence: Absence | None = None
    _look_kept: datetime | None = None
    _former_look: datetime | None = None
    _former_known = False
    _due = False

    def watch_presence(self) -> None:
        """Begin to see whether somebody is there."""
        self._absence = Absence(self.setup.clock())
        self.watch(self.app, "app_focus", self._focus_changed, init=False)
        self.begin_to_look_back()

    def past_recalled(self) -> None:
        """Learn when the run was last looked at, by any console."""
        self.learn_former_look()

    @work(exclusive=True, group="former look", exit_on_error=False)
    async def learn_former_look(self) -> None:
        """Say how the operator learns what happened while no console of this run was open."""
        from console.looked import last_look  # noqa: PLC0415 - behind the first figures

        path, now = self.setup.past(), self.setup.clock()
        former = None if path is None else await asyncio.to_thread(last_look, path)
        self._former_look, self._former_known = former, True
        if former is not None and now - former >= LOOKED_AWAY:
            ago = units.duration((now - former).total_seconds())
            self.notify(f"This run was last looked at {ago} ago: `a` shows what happened since.", markup=False)
        self._keep_look()

    def _focus_changed(self, focus: bool) -> None:
        """The terminal has gained the focus, or lost it."""
        if self._absence is None:
            return
        now = self.setup.clock()
        if not focus:
            self._absence.left(now)
            self._keep_look()
        elif self._absence.came(now):
            self._welcome()

    def woken(self) -> bool:
        """Take note of a key or a click; whether it did no more than to bring the card."""
        if self._absence is None:
            return False
        came = self._absence.touched(self.setup.clock())
        self._keep_look()
        if came or self._due:
            return self._welcome()
        return False

    def _welcome(self) -> bool:
        """Tell who comes back what happened: a card, or one line when nothing did; whether it is a card.

        While something lies over the panes, or words are typed, it waits: a question must not be covered.
        """
        if self.app.screen is not self or isinstance(self.focused, Input):
            self._due = True
            return False
        self._due = False
        away = self._absence.away if self._absence is not None else None
        if away is None or self._chronicle is None:
            return False
        told = self._told_since(away[0], self._chronicle.reading_near(away[0]))
        if told is None:
            return False
        if not told.happened:
            from console.since_words import notice  # noqa: PLC0415 - the first frame need not wait for it

            self.notify(notice(told, self._clock_words), markup=False)
            return False
        self._show_since(told)
        return True

    def action_show_since(self) -> None:
        """Show what happened since somebody last looked."""
        away = self._absence.away if self._absence is not None else None
        begin = away[0] if away else self._former_look
        if begin is None:
            self.refuse(NOT_AWAY)
        else:
            self.find_since(begin)

    @work(exclusive=True, group="since", exit_on_error=False)
    async def find_since(self, begin: datetime) -> None:
        """Find what happened since a moment, and show it."""
        moments = self.moments
        told = None if moments is None else self._told_since(begin, await moments.near(begin))
        if told is None:
            self.refuse(NOTHING_YET)
        else:
            self._show_since(told)

    def _told_since(self, begin: datetime, then: Snapshot | None) -> Since | None:
        """What happened since a moment; None while nothing is known."""
        if self._chronicle is None or self.snapshot is None:
            return None
        from console.chronicle import known_of  # noqa: PLC0415 - the first frame need not wait for it
        from console.since import since  # noqa: PLC0415 - as above

        return since(then, self.snapshot, known_of(self._chronicle), begin)

    def _show_since(self, told: Since) -> None:
        from console.screens.since import SinceScreen  # noqa: PLC0415 - the first frame need not wait for it

        self.app.push_screen(SinceScreen(told, self._clock_words))

    def _clock_words(self, at: datetime | None) -> str:
        """A moment in the operator's zone."""
        return words.clock(at, self.setup.clock(), self.setup.zone)

    def _keep_look(self) -> None:
        """Write down, now and then, that somebody looks; not before it is read when somebody looked last."""
        path, now = self.setup.past(), self.setup.clock()
        if path is None or not self._former_known:
            return
        if self._look_kept is not None and timedelta() <= now - self._look_kept < LOOK_EVERY:
            return  # a clock that was put back must not keep it from being written
        self._look_kept = now
        self.write_look(path, now)

    @work(exclusive=True, group="look", exit_on_error=False)
    async def write_look(self, path: Path, at: datetime) -> None:
        """Write down that somebody looked."""
        from console.looked import keep_look  # noqa: PLC0415 - the first frame need not wait for it

        await asyncio.to_thread(keep_look, path, at)
