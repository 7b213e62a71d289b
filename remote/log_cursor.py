"""A place in the output of a command that prints a log; it survives a broken link and a restarted console."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Literal

CursorKind = Literal["journal", "stamped", "plain"]

RECORD_BYTES = 16
"""A line that was delivered, in ``CommandCursor.seen``: its stamp in nanoseconds and a digest, 8 bytes each."""


@dataclass(frozen=True, slots=True)
class CommandCursor:
    """A place in a command's output.

    Attributes:
        kind: How the place is known: ``journal`` (journald names each entry), ``stamped`` (each line has a time
            stamp: docker, podman, kubectl) or ``plain`` (not at all: the command starts anew).
        place: journal: journald's cursor of the last entry.
        oldest: stamped: the lines from this time on are in ``seen``; nanoseconds since 1970, UTC.
        latest: stamped: the newest stamp, likewise.
        seen: stamped: records of the newest lines, see ``RECORD_BYTES``.
    """

    kind: CursorKind
    place: str = ""
    oldest: int = 0
    latest: int = 0
    seen: bytes = b""

    @property
    def text(self) -> str:
        """The cursor as one line of text, for a file."""
        seen = base64.b64encode(self.seen).decode("ascii")
        return json.dumps([self.kind, self.place, self.oldest, self.latest, seen])

    @classmethod
    def from_text(cls, text: str) -> CommandCursor:
        """The cursor that ``text`` was made of.

        Raises:
            ValueError: It was made of none.
        """
        match json.loads(text):
            case ["journal" | "stamped" | "plain" as kind, str(place), int(oldest), int(latest), str(seen)]:
                records = base64.b64decode(seen, validate=True)
            case _:
                raise ValueError("not a command's cursor")
        if len(records) % RECORD_BYTES:
            raise ValueError("a command's cursor was cut short")
        return cls(kind, place, oldest, latest, records)
