"""What a console is opened with, frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime, tzinfo
    from pathlib import Path


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

    @property
    def last_words(self) -> str:
        """What is printed when the console is closed."""
        return self.farewell or f"The console is closed. What runs on {self.host} goes on."

    @property
    def notes(self) -> tuple[str, ...]:
        """Conditions that the top line keeps in sight."""
        return tuple(note for note in ("read-only" if self.read_only else "", self.notice) if note)
