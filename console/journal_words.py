"""Entries of the journal as words: for the terminal, the screen and the report. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from console.job.lines import clean
from console.journal import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import tzinfo

    from console.journal import Entry

_AGO = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[smhd]|min)")
_UNITS_S = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}


def told(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The entries for a person: those about steps only where the act has no end."""
    found = tuple(entries)
    ended = {entry.act for entry in found if entry.kind == Kind.ACTION}
    newest = {entry.act: entry for entry in found if entry.kind == Kind.INTENT}
    return tuple(
        entry for entry in found if entry.kind != Kind.INTENT or (entry.act not in ended and newest[entry.act] is entry)
    )


def moment(at: datetime, zone: tzinfo | None) -> str:
    """A time as the journal writes it: ``2026-02-24 03:19:40``."""
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M:%S}"


def headline(entry: Entry) -> str:
    """What it says, on one line: what, what came of it, and why."""
    what = f"{entry.what} began, and no end of it was written" if entry.kind == Kind.INTENT else entry.what
    outcome = f": {entry.outcome}" if entry.outcome else ""
    why = f" (why: {entry.why})" if entry.why else ""
    return clean(f"{what}{outcome}{why}")


def line(entry: Entry, zone: tzinfo | None) -> str:
    """An entry as one line of plain text."""
    return f"{moment(entry.at, zone)}  {clean(entry.kind):<8} {clean(entry.user):<16} {headline(entry)}"


def since_of(text: str, now: datetime) -> datetime:
    """Read a moment in the past: ``90s``, ``30m``, ``2h``, ``1d`` before now, or ISO 8601 (local without a zone).

    Raises:
        ValueError: It is neither; the message says what would be.
    """
    ago = _AGO.fullmatch(text.strip())
    if ago is not None:
        try:
            return now - timedelta(seconds=float(ago["number"]) * _UNITS_S[ago["unit"]])
        except OverflowError as error:
            raise ValueError(f"{text!r} is before all time") from error
    try:
        at = datetime.fromisoformat(text.strip())
        return at.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is no moment: give 30m, 2h or 1d, or 2026-02-24T03:19") from error
