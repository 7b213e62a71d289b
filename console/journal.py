"""The journal of a run: who did what, when, why, and what came of it.

It lies beside the run's history on this machine, a line an entry, and only grows. Nothing here raises because of the
file: a journal that can't be written says so (``trouble``), and what was to be done is done all the same.
"""

from __future__ import annotations

import getpass
import os
import socket
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from console.journal_file import add_line, newest_objects, objects

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from console.config import Settings

RECENT_BYTES = 262_144
"""Of the file's end, what is looked at for what is under way: some 500 entries."""


class Kind(StrEnum):
    """What an entry is about."""

    INTENT = "intent"
    """A step of an act is about to be carried out."""
    ACTION = "action"
    """An act has come to its end, well or not."""
    REFUSAL = "refusal"
    """An act was refused."""
    PROOF = "proof"
    """What was proven after a start."""
    VERDICT = "verdict"
    """The verdict changed."""
    NOTE = "note"
    """The operator's own words."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry.

    Attributes:
        at: When, UTC.
        kind: What it is about.
        what: What was done or seen, in a phrase.
        why: The reason; may be empty.
        outcome: What came of it, as a sentence; may be empty.
        user: Who, as ``name@machine`` of the console.
        host: The host it is about.
        act: What the entries of one act have in common; empty for others.
        more: Figures for programs: step, pids, digests.
    """

    at: datetime
    kind: str
    what: str
    why: str = ""
    outcome: str = ""
    user: str = ""
    host: str = ""
    act: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    def values(self) -> dict[str, Any]:
        """It as plain values, ready for ``json.dumps``."""
        return {
            "at": self.at.isoformat(timespec="milliseconds"),
            "kind": str(self.kind),
            "what": self.what,
            "why": self.why,
            "outcome": self.outcome,
            "user": self.user,
            "host": self.host,
            "act": self.act,
            "more": dict(self.more),
        }


def entry_of(values: Mapping[str, Any]) -> Entry | None:
    """Read an entry; None for what is none, such as a line of a later version, or one that somebody else wrote."""
    try:
        at = datetime.fromisoformat(values["at"])
        at = at.astimezone(UTC) if at.tzinfo is not None else at
        texts = [values.get(name, "") for name in ("kind", "what", "why", "outcome", "user", "host", "act")]
        more = values.get("more", {})
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    if at.tzinfo is None or not all(isinstance(text, str) for text in texts) or not isinstance(more, dict):
        return None
    kind, what, why, outcome, user, host, act = texts
    return Entry(at, kind, what, why, outcome, user, host, act, more)


def local_user() -> str:
    """Who works on this machine: ``name@machine``."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError):  # no entry in the password file: KeyError before Python 3.13
        name = str(os.getuid())
    return f"{name}@{socket.gethostname()}"


class Journal:
    """One run's journal.

    Args:
        path: The file; it is made with the first entry.
        host: The host that the entries are about.
        clock: The time now, UTC.
        user: Who writes.
    """

    def __init__(self, path: Path, *, host: str, clock: Callable[[], datetime], user: str | None = None) -> None:
        self.path = path
        self._host = host
        self._clock = clock
        self._user = local_user() if user is None else user
        self.trouble = ""
        """Why the newest entry was not kept, as a sentence; empty while all is well."""

    def write(
        self,
        kind: Kind,
        what: str,
        *,
        why: str = "",
        outcome: str = "",
        act: str = "",
        more: Mapping[str, Any] | None = None,
    ) -> Entry:
        """Add an entry, on the disk when this returns; give it, also when it could not be kept."""
        entry = Entry(self._clock(), kind, what, why, outcome, self._user, self._host, act, dict(more or {}))
        try:
            add_line(self.path, entry.values())
        except OSError as error:
            self.trouble = f"The journal {self.path} can't be written ({error.strerror or error}); this was not kept."
        else:
            self.trouble = ""
        return entry

    def entries(self, since: datetime | None = None) -> tuple[Entry, ...]:
        """All entries from a moment on, oldest first; none when the file can't be read, which ``trouble`` says then."""
        try:
            found = [entry for values in objects(self.path) if (entry := entry_of(values)) is not None]
        except OSError as error:
            self.trouble = f"The journal {self.path} can't be read ({error.strerror or error})."
            return ()
        # Two consoles write in the order of their writes, which may differ from that of their clocks' readings.
        return tuple(sorted((one for one in found if since is None or one.at >= since), key=lambda one: one.at))

    def recent(self) -> tuple[Entry, ...]:
        """The newest entries, oldest first, in the order in which they were written."""
        try:
            found = newest_objects(self.path, RECENT_BYTES)
        except OSError as error:
            self.trouble = f"The journal {self.path} can't be read ({error.strerror or error})."
            return ()
        return tuple(entry for values in found if (entry := entry_of(values)) is not None)


def journal_of(settings: Settings, clock: Callable[[], datetime]) -> Journal:
    """The journal of the run that the settings are of."""
    from console.run_files import journal_path  # noqa: PLC0415 - it imports SQLite, for which no first frame need wait

    return Journal(journal_path(settings), host=settings.host, clock=clock)
