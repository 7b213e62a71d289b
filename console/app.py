"""The app: it is handed a feed and a control, and shows the main screen."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App

from console.screens.main import MainScreen
from console.screens.setup import Setup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import tzinfo
    from pathlib import Path

    from textual.app import SystemCommand
    from textual.screen import Screen

    from console.control import Controller
    from console.feed import FactSource

OURS = frozenset({"Quit", "Keys", "Maximize", "Minimize"})
"""Commands of Textual that the operator's own commands stand for."""


def utc_now() -> datetime:
    """Give the present, aware, in UTC."""
    return datetime.now(UTC)


class LongwaitApp(App[None]):
    """The console for one host."""

    TITLE = "longwait"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar[set[Any]] = set()  # the screen's palette gives Textual's own after the operator's
    COMMAND_PALETTE_DISPLAY: ClassVar[str] = "ctrl+p"

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
        """
        super().__init__()
        self.animation_level = "none"  # over SSH every frame is bytes, and a console idles for days
        keys = dict(keymap or {})
        self.set_keymap(keys)
        self._main = MainScreen(
            feed,
            control,
            Setup(host, clock, zone, read_only, confirm, new_script, notice, farewell, keys),
        )

    def get_default_screen(self) -> Screen[None]:
        """Show the main screen from the first frame on."""
        return self._main

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Leave to Textual what is not ours: theme and picture."""
        return (command for command in super().get_system_commands(screen) if command.title not in OURS)

    async def action_quit(self) -> None:
        """Close the console in the same way whichever key asks for it."""
        self._main.action_leave()
