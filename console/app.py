"""The app: it is handed a feed and a control, and shows the main screen."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from console import collector, commands, quiet
from console.attended import AttendedApp
from console.looks import MARKS_CSS, Looks, LooksApp
from console.panels.header import HeaderLine
from console.panels.status import Usual
from console.quiet import QuietScreen
from console.screens.main import MainScreen
from console.screens.setup import Setup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import tzinfo
    from pathlib import Path

    from textual import events
    from textual.app import SystemCommand
    from textual.driver import Driver
    from textual.notifications import SeverityLevel
    from textual.screen import Screen

    from console.control import Controller
    from console.feed import FactSource
    from console.journal import Journal
    from console.kept import Kept
    from console.pings import Pinger
    from console.server_control import ServerControls

COMING_UP_S = 20.0
"""Seconds after which what the console needs has been imported: the SSH library comes behind the first frame."""

BEFOREHAND_S = 5.0
"""Seconds after the first frame at which help and palette are read from disk: the first of them that is asked for need
not wait for that, and neither need the first figures."""

QUIET_S = 2.0
"""Seconds without a key after which nobody types."""

SWITCH_S = 0.0005
"""Seconds after which Python lets another thread have its turn; its own are 0.005. Textual writes to the terminal in a
thread: what is drawn need not wait there for what is reckoned next."""

NOTICE_S = {"information": 4.0, "warning": 8.0, "error": 12.0}
"""Seconds that a message stays in sight, by its severity."""

QUIET_NOTICE_S = 15.0
"""Seconds that the word of a quiet screen stays: on a slow line it takes some to get there."""

OURS = frozenset({"Quit", "Keys", "Maximize", "Minimize"})
"""Commands of Textual that the operator's own commands stand for."""


def utc_now() -> datetime:
    """Give the present, aware, in UTC."""
    return datetime.now(UTC)


def get_ready() -> None:
    """Import what help and palette need."""
    for name in ("console.screens.help", "console.screens.palette"):
        import_module(name)


class LongwaitApp(AttendedApp, LooksApp):
    """The console for one host."""

    TITLE = "longwait"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar[set[Any]] = set()  # our palette gives Textual's own after the operator's
    COMMAND_PALETTE_DISPLAY: ClassVar[str] = "ctrl+p"
    CSS = (
        """
    ToastRack { margin-bottom: 0; overflow: hidden; align: left bottom; }
    ToastHolder { display: none; align-horizontal: left; }
    ToastHolder:last-child { display: block; }
    Toast { width: 100%; max-width: 100%; max-height: 60vh; margin: 0; padding: 0 1; background: $panel; }
    Toast.-warning { color: $text-warning; }
    Toast.-error { color: $text-error; }
    """
        + MARKS_CSS
    )
    """A message lies over the row of the keys, the newest only: the verdict and the logs stay in sight."""

    def __init__(
        self,
        feed: FactSource,
        control: Controller | None = None,
        *,
        host: str,
        read_only: bool = False,
        confirm: bool = True,
        new_script: Path | None = None,
        clock: Callable[[], datetime] = utc_now,
        notice: str = "",
        farewell: str = "",
        zone: tzinfo | None = None,
        keymap: Mapping[str, str] | None = None,
        journal: Callable[[], Journal | None] = lambda: None,
        pinger: Callable[[], Pinger | None] = lambda: None,
        server: Callable[[], ServerControls | None] = lambda: None,
        past: Callable[[], Path | None] = lambda: None,
        looks: Looks | None = None,
        kept: Kept | None = None,
        quiet_screen: bool = False,
        usual: Usual | None = None,
        screen: Callable[[FactSource, Controller | None, Setup], MainScreen] = MainScreen,
    ) -> None:
        """Take the parts.

        Args:
            feed: Where facts come from; it is first asked after the first frame.
            control: What starts and stops the job; None when there is nothing to act on.
            host: The host as the operator wrote it.
            read_only: Nothing on the host may be changed from here.
            confirm: Ask before an act.
            new_script: Local script that a restart puts in place; None keeps the host's.
            clock: Gives the present, aware.
            notice: A sentence that the top line keeps in sight: "demo: the server is simulated".
            farewell: What is printed when the console is closed; empty says that what runs on the host goes on.
            zone: The operator's zone; None is this machine's.
            keymap: Command ids to keys, several separated by commas.
            journal: Gives the run's journal; None while there is none.
            pinger: Gives what asks for all signs of life; None while there is none.
            server: Gives what restarts the server; None while there is none.
            past: Gives where the run's history lies; None while there is none.
            looks: Theme and characters; None is the usual.
            kept: What is remembered of how the run was looked at; None remembers nothing beyond the end.
            quiet_screen: Write little to the terminal from the start; that it is slow is found out by itself.
            usual: How often the host is asked; None is the usual.
            screen: Makes the screen that is shown from the first frame on.
        """
        super().__init__(looks, kept)
        self.quiet = QuietScreen(on=quiet_screen)
        """Whether little is written to the terminal; its driver asks."""
        self.quiet.tell(self._tell_quiet)
        self.animation_level = "none"  # over SSH every frame is bytes, and a console idles for days
        keys = dict(keymap or {})
        told = (notice, farewell, keys)
        setup = Setup(
            host,
            clock,
            zone,
            read_only,
            confirm,
            new_script,
            *told,
            journal,
            pinger,
            kept=self.kept,
            usual=usual or Usual(),
            past=past,
            server=server,
        )
        self._main = screen(feed, control, setup)
        self.set_keymap(commands.completed(keys, self._main.OPERATOR))

    def get_driver_class(self) -> type[Driver]:
        """Take a driver that outlives its terminal, where Textual would take the one that does not."""
        driver = super().get_driver_class()
        if driver.__name__ != "LinuxDriver":
            return driver
        from console.quiet_driver import QuietDriver  # noqa: PLC0415 - other systems lack what it imports

        return QuietDriver

    def on_ready(self) -> None:
        """Keep the collector of garbage from what is there for good; an app without a terminal shares its process."""
        self.tell_kept()
        self._note_quiet(self.quiet.on)
        if not self.is_headless:
            collector.calm()
            sys.setswitchinterval(SWITCH_S)
            self.set_timer(BEFOREHAND_S, partial(self._in_quiet, get_ready))
            self.set_timer(COMING_UP_S, partial(self._in_quiet, collector.calm))
            self.set_interval(collector.SWEEP_S, self._sweep)

    def _in_quiet(self, act: Callable[[], None]) -> None:
        """Do what takes a tenth of a second once nobody types."""
        if monotonic() - self.answering.last_s < QUIET_S:
            self.set_timer(QUIET_S, partial(self._in_quiet, act))
        else:
            act()

    def _sweep(self) -> None:
        """Look for garbage; after a key came, once it has been answered: the next one does not come so soon."""
        if monotonic() - self.answering.last_s < collector.ANSWERED_S:
            self.set_timer(collector.ANSWERED_S, self._sweep)
        else:
            collector.sweep()

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Show a message for some seconds, and keep it for the help."""
        self._main.setup.notices.add(self._main.setup.clock(), message)
        stays = NOTICE_S[severity] if timeout is None else timeout
        super().notify(message, title=title, severity=severity, timeout=stays, markup=markup)

    def _tell_quiet(self, on: bool, why: str) -> None:
        self._note_quiet(on)
        self.notify(why, timeout=QUIET_NOTICE_S, markup=False)

    def _note_quiet(self, on: bool) -> None:
        """Keep in sight that little is written."""
        self._main.query_one(HeaderLine).tell("quiet", quiet.NOTE if on else "")

    def action_turn_quiet(self) -> None:
        """Write little to the terminal, or as usual again."""
        self.quiet.turn()

    def wakes(self, event: events.InputEvent) -> bool:
        """Take note that somebody is there; whether the key or the click did no more than to bring the card."""
        del event
        return self._main.woken()

    def acted(self) -> None:
        """Remember how the screen is now: who quits the next moment has left it so."""
        self._main.remember()

    def get_default_screen(self) -> Screen[None]:
        """Show the main screen from the first frame on."""
        return self._main

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Leave to Textual what is not ours: theme and picture."""
        return (command for command in super().get_system_commands(screen) if command.title not in OURS)

    def action_command_palette(self) -> None:
        """Open our palette in place of Textual's, which is made anew and draws the screen below at each opening."""
        from console.screens.palette import open_palette  # noqa: PLC0415 - the first frame need not wait for it

        open_palette(self)

    async def action_quit(self) -> None:
        """Close the console in the same way whichever key asks for it."""
        self._main.action_leave()
