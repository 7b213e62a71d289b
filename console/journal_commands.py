"""``longwait journal`` and ``longwait note``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from console.journal import Kind, journal_of
from console.journal_words import line, told
from console.session import now

if TYPE_CHECKING:
    from datetime import datetime

    from console.config import Settings

CANNOT = 1


def run_journal(settings: Settings, since: datetime | None, *, as_json: bool) -> int:
    """Print the journal, oldest first; ``as_json`` an object a line, steps of acts included."""
    journal = journal_of(settings, now)
    entries = journal.entries(since)
    if journal.trouble:
        click.echo(journal.trouble, err=True)
        return CANNOT
    if as_json:
        for entry in entries:
            click.echo(json.dumps(entry.values(), ensure_ascii=False))
        return 0
    for entry in told(entries):
        click.echo(line(entry, None))
    if not entries:
        click.echo(f"Nothing is in the journal of this run{' since then' if since else ' yet'}.", err=True)
    return 0


def run_note(settings: Settings, words: str) -> int:
    """Add the operator's words."""
    words = words.strip()
    if not words:
        click.echo("A note needs words.", err=True)
        return 2
    journal = journal_of(settings, now)
    journal.write(Kind.NOTE, words)
    if journal.trouble:
        click.echo(journal.trouble, err=True)
        return CANNOT
    return 0
