"""``longwait adopt``: a process that somebody has started becomes the job, after one question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from console.act_commands import NO_CONTROL, How, agreed
from console.act_words import about_process
from console.oneshot import CANNOT, run
from console.session import open_session

if TYPE_CHECKING:
    from console.config import Settings
    from console.control import JobControl


def run_adopt(settings: Settings, pid: int, how: How) -> int:
    """Show who has the number, ask, record it."""
    return run(_adopt(settings, pid, how))


async def _adopt(settings: Settings, pid: int, how: How) -> int:
    session = open_session(settings)
    if session.control is None:
        click.echo(NO_CONTROL, err=True)
        return 2
    await session.host.connect()
    try:
        return await _ask(session.control, settings.host, pid, how)
    finally:
        await session.host.close()


async def _ask(control: JobControl, host: str, pid: int, how: How) -> int:
    process, ours = await control.at_pid(pid)
    if process is None:
        click.echo(f"There is no process {pid} on {host}.", err=True)
        return CANNOT
    for line in about_process(process):
        click.echo(line)
    if not ours:
        click.echo(f"This login may not signal it: it belongs to {process.user}; set job.run_as.", err=True)
        return CANNOT
    if how.dry_run:
        return 0
    if not how.yes and not agreed(f"Take process {pid} for the job?"):
        click.echo("Nothing was done.")
        return CANNOT
    await control.adopt(process)
    click.echo(f"Process {pid} is the job now; stop and restart mean it.")
    return 0
