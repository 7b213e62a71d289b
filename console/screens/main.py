"""The main screen: layout, the worker that follows the feed, and what the commands show."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from textual import on, work
from textual.containers import Container
from textual.reactive import var
from textual.worker import Worker, WorkerCancelled, WorkerFailed, WorkerState

from console import commands
from console.job.snapshot import Judgement, LinkView, LogView, Snapshot, Verdict
from console.messages import FeedEnded, LinesArrived, NoticeGiven, SnapshotTaken, as_message
from console.panels.header import HeaderLine
from console.panels.logs import LogsPanel
from console.panels.machine import MachinePanel
from console.panels.panel import Panel
from console.panels.progress import ProgressPanel
from console.panels.server import ServerPanel
from console.panels.status import StatusPanel
from console.panels.timeline import TimelinePanel
from console.panels.verdict import VerdictPanel, badge
from console.screens.datasets import DatasetOpeningScreen
from console.screens.footer import KeysFooter
from console.screens.journaling import JournalingScreen
from console.screens.layout import DEEP_FROM, HEIGHTS, LAYOUT, TALL_FROM, TIMELINE_FROM, WIDTHS, class_of
from console.screens.paned import PanedScreen
from console.screens.remedies import remedy
from console.screens.remembering import RememberingScreen
from console.screens.server_acting import ServerActingScreen
from console.screens.welcoming import WelcomingScreen
from remote.errors import RemoteError

if TYPE_CHECKING:
    from datetime import datetime

    from textual import events
    from textual.app import ComposeResult
    from textual.geometry import Size

    from console.control import Controller
    from console.feed import FactSource
    from console.job.dataset_detail import DatasetDetail
    from console.job.events import HealthProbe
    from console.screens.setup import Setup

logger = logging.getLogger(__name__)

TICK_S = 1.0
"""Seconds between two looks at the clock, so that ages grow while nothing comes in."""

SEVERITIES: dict[str, Literal["information", "warning", "error"]] = {"warning": "warning", "error": "error"}
"""A notice's severity in Textual's words; all others are information."""


def first_snapshot(setup: Setup) -> Snapshot:
    """Give what is known before anything is: that the host is being reached."""
    now = setup.clock()
    verdict = Verdict(Judgement.BLIND, "link_down", f"Connecting to {setup.host}: nothing is known yet.", since=now)
    return Snapshot(now, verdict, link=LinkView(state="connecting", since=now, host=setup.host))


def health_words(probe: HealthProbe) -> tuple[str, str]:
    """Give a health check as a sentence and its severity."""
    if probe.ok:
        return f"health: {probe.status} in {probe.latency_s or 0.0:.2f} s", "info"
    return f"health failed: {probe.error or f'{probe.path} answered {probe.status}'}", "error"


class MainScreen(
    ServerActingScreen, JournalingScreen, WelcomingScreen, PanedScreen, RememberingScreen, DatasetOpeningScreen
):
    """The panes, fed by one worker."""

    DEFAULT_CSS = LAYOUT
    AUTO_FOCUS = ""
    ALLOW_IN_MAXIMIZED_VIEW = "KeysFooter, HeaderLine"
    ESCAPE_TO_MINIMIZE = False
    """Textual would take Esc before the pane in which a filter is to be ended; the command ``back`` comes after it."""
    HORIZONTAL_BREAKPOINTS = [*WIDTHS]  # noqa: RUF012 - Textual declares it of an instance, so it can't be a ClassVar
    VERTICAL_BREAKPOINTS = [*HEIGHTS]  # noqa: RUF012 - Textual declares it of an instance, so it can't be a ClassVar

    snapshot: var[Snapshot | None] = var(None)
    """All that is known now."""

    now: var[datetime | None] = var(None)
    """The moment that is drawn, by the console's clock."""

    def __init__(self, feed: FactSource, control: Controller | None, setup: Setup) -> None:
        """Take where facts come from, what acts, and under which conditions."""
        super().__init__(control, setup)
        self._feed = feed
        self._following: Worker[None] | None = None
        self.set_reactive(MainScreen.snapshot, first_snapshot(setup))
        self.set_reactive(MainScreen.now, setup.clock())

    def compose(self) -> ComposeResult:
        """Lay the panes; what they show is bound to this screen."""
        zone = self.setup.zone
        yield HeaderLine(self.setup.host, self.setup.notes, zone).data_bind(MainScreen.now)
        verdict, line = VerdictPanel(zone, self.key_for, id="verdict"), TimelinePanel(zone, id="timeline")
        size = self.app.size
        # All that follows from the size is there before the first frame, which would be laid out twice otherwise.
        self.add_class(class_of(WIDTHS, size.width), class_of(HEIGHTS, size.height))
        self._fit(verdict, line, size)
        verdict.expect(size.width)
        with Container(id="above"):
            yield verdict.data_bind(MainScreen.snapshot, MainScreen.now)
            yield ProgressPanel(zone, id="progress").data_bind(MainScreen.snapshot, MainScreen.now)
        yield line.data_bind(timeline=MainScreen.timeline, trouble=MainScreen.past_trouble)
        with Container(id="middle"):
            yield ServerPanel(zone, id="server").data_bind(MainScreen.snapshot, MainScreen.now)
            with Container(id="side"):
                yield StatusPanel(zone, self.setup.usual, id="status").data_bind(MainScreen.snapshot, MainScreen.now)
                yield MachinePanel(zone, id="machine").data_bind(MainScreen.snapshot, MainScreen.now)
        yield LogsPanel(zone, id="logs").data_bind(MainScreen.snapshot, MainScreen.now)
        yield KeysFooter()

    def on_mount(self) -> None:
        """Draw the first frame, then begin to connect."""
        self.set_interval(TICK_S, self._tick)
        self.call_after_refresh(self._begin)

    def on_resize(self, event: events.Resize) -> None:
        """Let the verdict be large, and the timeline be there, where there are rows for it."""
        self._fit(self.query_one(VerdictPanel), self.query_one(TimelinePanel), event.size)

    def _fit(self, verdict: VerdictPanel, line: TimelinePanel, size: Size) -> None:
        line.set_class(size.height < TIMELINE_FROM, "-cramped")
        verdict.deep = size.height >= DEEP_FROM
        verdict.roomy = size.height >= TALL_FROM and not getattr(self.app, "is_ascii", False)

    def _begin(self) -> None:
        self.tell_key_faults()
        self.restore()
        self.watch_presence()
        self._following = self.follow_feed()

    def watch_maximized(self) -> None:
        """Have the verdict in the top line while a pane hides it: it is looked at for two seconds, zoomed or not."""
        super().watch_maximized()
        self._keep_verdict_in_sight()

    def _keep_verdict_in_sight(self) -> None:
        hidden = self.maximized is not None and not isinstance(self.maximized, VerdictPanel)
        told = badge(self.snapshot, self.now) if hidden and self.snapshot and self.now else ("blind", ())
        for header in self.query(HeaderLine):  # none before the screen is composed
            header.verdict = told

    def _tick(self) -> None:
        now = self.setup.clock()
        self.query_one(HeaderLine).now = now
        if self.now is None or not timedelta() <= now - self.now < timedelta(seconds=TICK_S):
            self.now = now  # else a snapshot has just had the panes drawn; a clock that was put back counts, too
        self.remember()

    async def on_unmount(self) -> None:
        """Close the feed before the program ends, so that connections are closed in order."""
        self.remember()
        if self._following is None:
            return
        if not self._following.is_cancelled:
            self._following.cancel()
        with suppress(WorkerCancelled, WorkerFailed):  # how it ended has been told already
            await self._following.wait()

    @work(exclusive=True, group="feed", exit_on_error=False)
    async def follow_feed(self) -> None:
        """Post what the feed tells until it ends or the screen is closed."""
        facts = self._feed.facts()
        try:
            async for fact in facts:
                self.post_message(as_message(fact))
                await asyncio.sleep(0)  # a feed with much to tell at once must not keep the screen from being drawn
            self.post_message(FeedEnded())
        except RemoteError as error:
            self.post_message(FeedEnded(str(error)))
        finally:
            if isinstance(facts, AsyncGenerator):
                await facts.aclose()

    @work(exclusive=True, group="ping", exit_on_error=False)
    async def ping_health(self) -> None:
        """Ask the server's health and tell the answer."""
        try:
            words, severity = health_words(await self._feed.ping())
        except RemoteError as error:
            words, severity = f"health failed: {error}", "error"
        self.post_message(NoticeGiven(words, severity))

    @property
    def situation(self) -> commands.Situation:
        """What the guards look at."""
        link = self.snapshot.link.state if self.snapshot is not None else ""
        return commands.Situation(self.setup.read_only, self._control is not None, link, can_serve=self.can_serve)

    def key_for(self, cause: str) -> str:
        """Give the key that does what a verdict of this cause asks for; empty where none does."""
        return remedy(cause, self.keymap, self.situation, has_script=self.setup.new_script is not None)

    @property
    def known(self) -> Snapshot | None:
        """What is known of the run."""
        return self.snapshot

    @property
    def log_states(self) -> tuple[LogView, ...]:
        """How well each log is seen."""
        return self.snapshot.logs if self.snapshot is not None else ()

    @on(SnapshotTaken)
    def _show_snapshot(self, message: SnapshotTaken) -> None:
        """Draw the newest snapshot, all panes at once."""
        message.stop()
        before = self.situation
        now = self.setup.clock()
        with self.app.batch_update():
            self.query_one(HeaderLine).now = now
            # Without watchers, or each pane would be drawn twice: for the time, and then for the snapshot.
            self.set_reactive(MainScreen.now, now)
            for panel in self.query(Panel):
                panel.set_reactive(Panel.now, now)
            self.snapshot = message.snapshot
            self._keep_verdict_in_sight()
        if self.situation != before:
            self.refresh_bindings()
        self.prove(message.snapshot)
        self.record(message.snapshot)
        self.note_verdict(message.snapshot)
        self.renew_dataset(message.snapshot)
        if message.snapshot.link.state == "up":
            self.look_back()

    @on(LinesArrived)
    def _show_lines(self, message: LinesArrived) -> None:
        """Give the lines to the logs."""
        message.stop()
        self.query_one(LogsPanel).append(message.lines)

    @on(NoticeGiven)
    def _show_notice(self, message: NoticeGiven) -> None:
        """Tell the operator once."""
        message.stop()
        self.notify(message.text, severity=SEVERITIES.get(message.severity, "information"), markup=False)

    @on(FeedEnded)
    def _show_end(self, message: FeedEnded) -> None:
        """Say for good that nothing new will come."""
        message.stop()
        self.query_one(HeaderLine).trouble = "nothing new will come"
        text = message.reason or "The feed has ended: what is shown will not change any more."
        self.notify(text, severity="error" if message.reason else "warning", markup=False)

    @on(Worker.StateChanged)
    def _catch_failure(self, event: Worker.StateChanged) -> None:
        """Show a defect of ours as what it is, instead of a screen that only looks alive."""
        if event.state is not WorkerState.ERROR:
            return
        logger.error("The worker %s failed", event.worker.name, exc_info=event.worker.error)
        fault = f"A defect of the console ended {event.worker.name} ({event.worker.error!r})."
        if event.worker is self._following:
            self.post_message(FeedEnded(f"{fault} Open it again; the job goes on."))
        else:
            self.post_message(NoticeGiven(f"{fault} It was not carried through.", "error"))

    def action_ping_health(self) -> None:
        """Ask the server's health now, and show all other signs of life as they come."""
        self.ping_health()
        pinger = self.setup.pinger()
        if pinger is not None:
            from console.screens.pings import PingScreen  # noqa: PLC0415 - the first frame need not wait for it

            self.app.push_screen(PingScreen(pinger, self.setup.clock, self.setup.zone))

    def dataset_detail(self, name: str) -> DatasetDetail | None:
        """Look closely at one dataset."""
        return self._feed.detail(name)

    def look_again(self) -> None:
        """Have the job's process looked at, so that what the screen shows of it is not from before the act."""
        self._feed.look()

    def action_reconnect(self) -> None:
        """Connect now instead of waiting for the next try."""
        self._feed.reconnect()
        self.notify(f"Connecting to {self.setup.host} now.", markup=False)

    def action_change_span(self, way: int) -> None:
        """Show a shorter or a longer span of time in the server's chart."""
        self.query_one(ServerPanel).change_span(way)

    def action_show_help(self) -> None:
        """Explain keys and figures, those of the focused pane first."""
        # Reading Markdown takes a tenth of a second to import, for which the first frame need not wait.
        from console.screens.help import open_help  # noqa: PLC0415

        told = self.setup.notices.help(self.setup.clock(), self.setup.zone)
        open_help(self.app, f"{self.help_words()}\n\n{told}")

    def help_words(self) -> str:
        """The help of this screen, as Markdown."""
        from console.screens.help import help_text  # noqa: PLC0415 - as above

        return help_text(self.focused, self.keymap, self.situation)
