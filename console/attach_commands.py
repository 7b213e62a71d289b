"""``longwait attach``: looks for itself what runs on a host, and opens the console on it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from console.attach import NothingToAttach, choose, settings_values, words, written
from console.config import Settings
from console.config_model import built
from console.oneshot import BLIND, CANNOT, run
from console.session import host_of
from remote.discover import discover
from remote.errors import RemoteError

if TYPE_CHECKING:
    from pathlib import Path

    from console.attach import Chosen
    from remote.discover import Discovered


def run_attach(
    host: str, *, port: int | None, python: str, write: Path | None, read_only: bool, quiet_screen: bool = False
) -> int:
    """Look, say what was found; write the config when asked to, else open the console on it.

    Args:
        host: As the operator wrote it.
        port: The server's port, when several are there.
        python: The host's Python that looks.
        write: Where the config goes; None for none. A file that is there stays.
        read_only: The console is to change nothing.
        quiet_screen: The console is to write little to the terminal.
    """
    found: list[Discovered] = []
    code = run(_look(host, python, found))
    if code or not found:
        return code
    try:
        chosen = choose(found[0], port)
        told = tuple(words(found[0], chosen))
        values = settings_values(host, chosen, python)
    except NothingToAttach as error:
        _say_nothing(found[0], str(error))
        return CANNOT
    for line in told:
        click.echo(line)
    settings = built(Settings, {**values, "read_only": read_only})
    if write is not None:
        return _write(write, written(host, values, told))
    return _open(settings, chosen, quiet_screen=quiet_screen)


async def _look(host: str, python: str, found: list[Discovered]) -> int:
    reached = host_of(Settings(host=host))
    try:
        await reached.connect()
        found.append(await discover(reached, python))
    except RemoteError as error:
        click.echo(error.message, err=True)
        return BLIND if error.retryable else CANNOT
    finally:
        await reached.close()
    return 0


def _say_nothing(found: Discovered, why: str) -> None:
    click.echo(why, err=True)
    click.echo(f"Looked at {found.processes} processes as {found.user}, in {found.took_s:.1f} s.", err=True)
    for unseen in found.unseen:
        click.echo(f"Not seen: {unseen}", err=True)
    if found.servers or found.jobs:
        for line in words(found, choose(found)):
            click.echo(line, err=True)


def _write(path: Path, text: str) -> int:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        click.echo(f"{path} exists and was left as it is.", err=True)
        return CANNOT
    except OSError as error:
        click.echo(f"{path} could not be written: {error.strerror}.", err=True)
        return CANNOT
    click.echo(
        f"Wrote {path}. `longwait --config {path}` opens the console; `longwait --config {path} doctor` checks it."
    )
    return 0


def _open(settings: Settings, chosen: Chosen, *, quiet_screen: bool) -> int:
    """Open the console where there is a terminal; what was found stands above all the same."""
    if not sys.stdout.isatty():
        what = "server and job" if chosen.server and chosen.job else "server" if chosen.server else "job"
        click.echo(f"Without a terminal no console opens on the {what}; --write longwait.yaml keeps this as a config.")
        return 0
    from console.screen_runs import run_console  # noqa: PLC0415 - reading Textual takes a while, and is needed here only

    return run_console(settings, read_only=settings.read_only, quiet_screen=quiet_screen)
