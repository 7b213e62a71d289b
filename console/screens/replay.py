"""The main screen over a recording: the same panes, a bar to go through time, and nothing to control."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.reactive import var
from textual.screen import Screen

from console import commands
from console.job.snapshot import Judgement, LinkView, Snapshot, Verdict
from console.job.timeline_view import timeline_of
from console.messages import LinesReplaced, ReplayMoved
from console.panels.logs import LogsPanel
from console.panels.replay import ReplayBar
from console.replay_commands import REPLAYED
from console.screens.main import MainScreen
from widgets.scrub import Scrub

if TYPE_CHECKING:
    from datetime import datetime

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from console.replay_feed import ReplayFeed
    from console.replay_transport import Transport
    from console.screens.setup import Setup

SCRUB_SHARE = 0.02
"""Share of the recording that a key goes along the bar."""


class ReplayScreen(MainScreen, inherit_bindings=False):
    """The panes on a recording, and its bar."""

    BINDINGS: ClassVar[list[BindingType]] = [*Screen.BINDINGS, *commands.bindings(REPLAYED)]
    """All anew: inherited ones would stand before the replay's own in the footer."""
    OPERATOR: ClassVar[tuple[commands.OperatorCommand, ...]] = REPLAYED
    ALLOW_IN_MAXIMIZED_VIEW = "KeysFooter, HeaderLine, ReplayBar"

    transport: var[Transport | None] = var(None)
    """Where the replay stands; None until the recording is read."""

    def __init__(self, feed: ReplayFeed, setup: Setup) -> None:
        """Take the recording, and how it is shown."""
        super().__init__(feed, None, setup)
        self._replay = feed
        now = setup.clock()
        verdict = Verdict(Judgement.BLIND, "logs_unreadable", "The recording is being read.")
        self.set_reactive(ReplayScreen.snapshot, Snapshot(now, verdict, link=LinkView(state="")))

    def compose(self) -> ComposeResult:
        """Lay the bar below the top line."""
        parts = iter(super().compose())
        yield next(parts)
        yield ReplayBar().data_bind(ReplayScreen.transport)
        yield from parts

    @property
    def situation(self) -> commands.Situation:
        """What the guards look at."""
        return commands.Situation(read_only=True, can_act=False, link="", replay=True)

    def watch_presence(self) -> None:
        """Nothing happens to a recording while nobody looks."""

    def record(self, snapshot: Snapshot) -> None:
        """Lay the line of time of the moment shown: what came later is not known at it."""
        told = self.transport.changes if self.transport is not None else ()
        self.timeline = timeline_of(snapshot, tuple(change for change in told if change.at <= snapshot.at))

    def open_moment(self, at: datetime) -> None:
        """Go there: the panes are the reading."""
        if self.transport is not None:
            self._replay.step(at - self.transport.at)

    def help_words(self) -> str:
        """The help of this screen: the replay's keys are among the others."""
        from console.screens.help import PANELS, help_text  # noqa: PLC0415 - the first frame need not wait for it

        return help_text(self.focused, self.keymap, self.situation, REPLAYED, (ReplayBar, *PANELS))

    @on(ReplayMoved)
    def _show_place(self, message: ReplayMoved) -> None:
        """Draw where the replay stands."""
        message.stop()
        self.transport = message.transport

    @on(LinesReplaced)
    def _show_other_lines(self, message: LinesReplaced) -> None:
        """Show the lines of another moment, and none of those that were shown."""
        message.stop()
        with self.app.batch_update():
            self.query_one(LogsPanel).replace(message.lines)

    @on(Scrub.Asked)
    def _go_along(self, message: Scrub.Asked) -> None:
        """Go to where the mouse points."""
        message.stop()
        self._replay.go_to_share(message.share)

    def action_turn_play(self) -> None:
        """Pause, or go on."""
        self._replay.turn_play()

    def action_step(self, minutes: int) -> None:
        """Pause, and go some minutes of the log on or back."""
        self._replay.step(timedelta(minutes=minutes))

    def action_go_by(self, minutes: int) -> None:
        """Go some minutes of the log on or back."""
        self._replay.go_by(timedelta(minutes=minutes))

    def action_scrub(self, steps: int) -> None:
        """Go along the bar."""
        if self.transport is not None:
            whole = self.transport.last - self.transport.first
            self._replay.go_by(steps * SCRUB_SHARE * whole)

    def action_go_to_edge(self, edge: str) -> None:
        """Go to the start or the end of the recording."""
        self._replay.go_to_share(1.0 if edge == "end" else 0.0)

    def action_change_pace(self, pace: str) -> None:
        """Play faster or slower."""
        self._replay.change_pace(faster=pace == "faster")

    def action_go_to_change(self, where: str) -> None:
        """Pause where the verdict changes."""
        sentence = self._replay.go_to_change(back=where == "former")
        if sentence:
            self.notify(sentence, markup=False)
