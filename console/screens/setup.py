"""What a console is opened with, frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.kept import Kept
from console.panels.status import Usual
from console.screens.notices import Notices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime, tzinfo
    from pathlib import Path

    from console.journal import Journal
    from console.pings import Pinger
    from console.server_control import ServerControls


@dataclass(frozen=True, slots=True)
class Setup:
    """What does not change while the console is open.

    Attributes:
        host: The host as the operator wrote it.
        clock: Gives the present, aware.
        zone: The operator's zone; None is this machine's.
        read_only: Nothing on the host may be changed from here.
        confirm: Ask before an act.
        new_script: Local script that a restart puts in place; None keeps the host's.
        notice: A sentence to keep in sight; may be empty.
        farewell: What is printed when the console is closed; empty says that what runs on the host goes on.
        keymap: Command ids to keys, several separated by commas.
        journal: Gives the run's journal; None while there is none, as before the session is open.
        pinger: Gives what asks for all signs of life; None while there is none.
        past: Gives where the run's history lies; None while there is none, or none is kept.
        kept: What is remembered of how the run was looked at; nothing beyond the end unless the app was given a file.
        usual: How often the host is asked.
        server: Gives what restarts the server; None while there is no session.
        notices: What the operator was told so far; the one thing here that grows.
    """

    host: str
    clock: Callable[[], datetime]
    zone: tzinfo | None = None
    read_only: bool = False
    confirm: bool = True
    new_script: Path | None = None
    notice: str = ""
    farewell: str = ""
    keymap: Mapping[str, str] = field(default_factory=dict)
    journal: Callable[[], Journal | None] = lambda: None
    pinger: Callable[[], Pinger | None] = lambda: None
    kept: Kept = field(default_factory=Kept)
    past: Callable[[], Path | None] = lambda: None
    notices: Notices = field(default_factory=Notices)
    server: Callable[[], ServerControls | None] = lambda: None
    usual: Usual = field(default_factory=Usual)

    @property
    def last_words(self) -> str:
        """What is printed when the console is closed."""
        return self.farewell or f"The console is closed. What runs on {self.host} goes on."

    @property
    def notes(self) -> tuple[str, ...]:
        """Conditions that the top line keeps in sight."""
        return tuple(note for note in ("read-only" if self.read_only else "", self.notice) if note)
