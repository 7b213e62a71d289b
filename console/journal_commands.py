"""``longwait journal`` and ``longwait note``."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import click

from console.journal import Kind, journal_of
from console.journal_remote import ALL_BYTES, merged
from console.journal_words import line, told
from console.session import now, open_session
from remote.errors import RemoteError

if TYPE_CHECKING:
    from datetime import datetime

    from console.config import Settings
    from console.journal import Entry

CANNOT = 1


def run_journal(settings: Settings, since: datetime | None, *, as_json: bool) -> int:
    """Print the journal, and that on the host where one is kept there, oldest first, each entry once.

    ``as_json`` prints an object a line, steps of acts included. What could not be read is told, and the rest printed.
    """
    journal = journal_of(settings, now)
    entries = journal.entries(since)
    trouble = journal.trouble
    if settings.journal_on_host:
        there, why_not = asyncio.run(_there(settings))
        entries = merged(entries, (entry for entry in there if since is None or entry.at >= since))
        trouble = trouble or why_not
    if as_json:
        for entry in entries:
            click.echo(json.dumps(entry.values(), ensure_ascii=False))
    else:
        for entry in told(entries):
            click.echo(line(entry, None))
    if trouble:
        click.echo(trouble, err=True)
        return CANNOT
    if not entries and not as_json:
        click.echo(f"Nothing is in the journal of this run{' since then' if since else ' yet'}.", err=True)
    return 0


async def _there(settings: Settings) -> tuple[tuple[Entry, ...], str]:
    """The entries on the host, and why there are none as a sentence."""
    session = open_session(settings)
    if session.control is None:
        return (), ""
    try:
        await session.host.connect()
        try:
            return await session.control.journal_there(ALL_BYTES), ""
        finally:
            await session.host.close()
    except RemoteError as error:
        return (), f"The journal on the host could not be read, so these are this machine's entries: {error.message}"


def run_note(settings: Settings, words: str) -> int:
    """Add the operator's words, on the host, too, where a journal is kept there and something may be changed there."""
    words = words.strip()
    if not words:
        click.echo("A note needs words.", err=True)
        return 2
    journal = journal_of(settings, now)
    entry = journal.write(Kind.NOTE, words)
    shared = settings.journal_on_host and not settings.read_only
    trouble = journal.trouble or (asyncio.run(_shared(settings, entry)) if shared else "")
    if trouble:
        click.echo(trouble, err=True)
        return CANNOT
    return 0


async def _shared(settings: Settings, entry: Entry) -> str:
    """Add an entry on the host; why it could not be, as a sentence."""
    session = open_session(settings)
    if session.control is None:
        return ""
    try:
        await session.host.connect()
        try:
            await session.control.share(entry)
        finally:
            await session.host.close()
    except RemoteError as error:
        return f"It is noted here, but the host could not be reached: {error.message}"
    return session.control.trouble
