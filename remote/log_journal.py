"""Entries of the systemd journal as JSON, one a line; the format is systemd's "Journal JSON Format"."""

from __future__ import annotations

import json

from remote.log_cursor import CommandCursor

MAX_ENTRY_BYTES = 64 * 1_048_576
"""An entry with more JSON than this is left out, which bounds the memory; journald itself cuts lines at 48 KiB."""
LEFT_OUT = b"(longwait: a journal entry of more than 64 MiB is left out)\n"


class JournalReader:
    """Takes the output of ``journalctl --output=json``, cut anywhere; gives the messages.

    Args:
        resume: Where the output before ended; the entry there comes once more.
    """

    def __init__(self, resume: CommandCursor | None = None) -> None:
        self._place = resume.place if resume is not None and resume.kind == "journal" else ""
        self._repeats = self._place
        self._begun = not self._repeats
        self.missed = False
        """The entry where the output before ended is there no more: entries after it may be gone with it."""
        self._rest = bytearray()
        self._too_long = False
        self._said = b""

    @property
    def cursor(self) -> CommandCursor:
        """The place after all that was given."""
        return CommandCursor("journal", self._place)

    @property
    def last_words(self) -> bytes:
        """The last line that is no entry: journalctl's own."""
        return bytes(self._rest).strip() or self._said

    def feed(self, data: bytes) -> bytes:
        """Take more output; give the messages of the entries that are whole now."""
        *ends, rest = data.split(b"\n")
        given = []
        for end in ends:
            given.append(LEFT_OUT if self._too_long else self._entry(bytes(self._rest + end)))
            self._rest.clear()
            self._too_long = False
        if self._too_long or len(self._rest) + len(rest) > MAX_ENTRY_BYTES:
            self._too_long = True
            self._rest.clear()
        else:
            self._rest += rest
        return b"".join(given)

    def _entry(self, line: bytes) -> bytes:
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict) or not isinstance(place := entry.get("__CURSOR"), str):
            self._said = line.strip() or self._said
            return b""
        self._place = place
        if place == self._repeats:
            self._begun = True
            return b""
        self.missed, self._begun = self.missed or not self._begun, True
        # A line that is too long for journald goes on in the next entry.
        return _bytes_of(entry.get("MESSAGE")) + (b"" if entry.get("_LINE_BREAK") == "line-max" else b"\n")


def _bytes_of(value: object) -> bytes:
    """A field: text, numbers of bytes when it holds others than printable UTF-8, or a list of such values."""
    match value:
        case str():
            return value.encode("utf-8", "replace")
        case list() if all(isinstance(byte, int) and 0 <= byte <= 255 for byte in value):  # noqa: PLR2004  (a byte)
            return bytes(value)
        case list():
            return b"\n".join(_bytes_of(part) for part in value)
        case _:
            return b""
