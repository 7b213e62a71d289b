"""``longwait server``: the inference server by its own commands or its unit; asked for louder than the job."""

from __future__ import annotations

import asyncio
import secrets
import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from console.job.lines import clean
from console.job.units import duration
from console.journal import Kind
from console.oneshot import CANNOT, run
from console.session import open_session
from console.watched import watched
from remote.control_server import LOG, run_server_command, unit_command
from remote.discover import clients_of
from remote.errors import CommandFailed, RemoteError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.act_commands import How
    from console.config import ServerControlSettings, Settings
    from console.job.snapshot import Snapshot
    from console.session import Session
    from console.watched import Watched

LOOK_S = 1.2
"""As for a plan of the job."""

UP_S = 3_600.0
"""Seconds that a server is waited for: large weights from a slow disk take half of that."""

PROBE_S = 2.0
"""Seconds between two health checks while it starts."""

UNHEARD = "not heard of yet"
"""The phase of a server whose log says nothing."""

DONE = {"start": "The server is started.", "stop": "The server is stopped.", "restart": "The server is restarted."}


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done to the server.

    Attributes:
        verb: ``start``, ``stop`` or ``restart``.
        commands: The commands on the host, in order, each a list of words.
    """

    verb: str
    commands: tuple[tuple[str, ...], ...]


def order_of(control: ServerControlSettings, verb: str) -> Order | None:
    """What the config gives for a verb; None when it gives nothing."""
    if control.unit is not None:
        return Order(verb, (unit_command(verb, control.unit, control.unit_of),))
    own = {"start": control.start, "stop": control.stop, "restart": control.restart}[verb]
    if own is not None:
        return Order(verb, (tuple(own),))
    if verb == "restart" and control.start is not None and control.stop is not None:
        return Order(verb, (tuple(control.stop), tuple(control.start)))
    return None


def run_server(settings: Settings, verb: str, how: How) -> int:
    """Show what it means, ask, do it, and follow it until the server serves."""
    order = order_of(settings.server.control, verb)
    if order is None:
        click.echo(f"The config does not say how to {verb} the server; set server.control.", err=True)
        return 2
    return run(_run(settings, order, how))


async def _run(settings: Settings, order: Order, how: How) -> int:
    session = open_session(settings)
    async with watched(session) as watch:
        await watch.up()
        await session.feed.settle(LOOK_S)
        title = f"{order.verb.capitalize()} the server on {settings.host}"
        click.echo(title)
        for line in [*plan_lines(order, settings, watch.snapshot), *await _who_asks(session)]:
            click.echo(f"  {line}")
        if how.dry_run:
            return 0
        if not how.yes and not _named(settings.host, order.verb):
            click.echo("Nothing was done.")
            return CANNOT
        return await _done(session, watch, order, title, how)


def plan_lines(order: Order, settings: Settings, snapshot: Snapshot) -> Iterator[str]:
    """What will be run, and what that costs."""
    for argv in order.commands:
        yield f"Run on the host: {clean(shlex.join(argv))}"
    yield f"Its output is added to {clean(settings.server.control.log or LOG)} there; it goes on without this console."
    option = snapshot.restart_server
    if order.verb != "start":
        yield "Every request in flight fails, also those of others."
        yield f"Cost: {option.words}" if option is not None else "What it costs is not known: no run has been seen."


async def _who_asks(session: Session) -> list[str]:
    """Who is connected to the server now, as far as the host can see it."""
    parts = urlsplit(session.settings.server.url)
    if parts.port is None:
        return []
    try:
        clients, unseen = await clients_of(session.host, session.settings.job.python, parts.port)
    except RemoteError as error:
        return [f"Who is connected to it could not be seen: {error.message}"]
    told = [
        f"Connected: {clean(each.command) or clean(each.address) or each.kind} ({each.kind}, {each.connections})"
        for each in clients
        if each.kind not in {"console", "tunnel", "probe"}
    ]
    return [*told, *(f"Not seen: {clean(text)}" for text in unseen)]


def _named(host: str, verb: str) -> bool:
    """Ask for the host's name: a server takes minutes to come back, so a y typed too fast is not enough."""
    if not sys.stdin.isatty():
        click.echo("Not asked, since this is no terminal; give --yes to act.", err=True)
        return False
    said: str = click.prompt(f"To {verb} the server, type the host's name", default="", show_default=False)
    return said.strip() == host


async def _done(session: Session, watch: Watched, order: Order, title: str, how: How) -> int:
    settings, journal = session.settings, session.journal
    act = secrets.token_hex(4)
    journal.write(Kind.INTENT, title, why=how.why, act=act)
    control, failed = settings.server.control, ""
    try:
        for argv in order.commands:
            failed = failed or await _command(session, argv, control.log or LOG, control.dir or "")
        if not failed and order.verb != "stop":
            failed = await _until_ready(session, watch)
    except RemoteError as error:
        failed = f"{error.message} The command goes on by itself." if error.retryable else error.message
    words = failed or DONE[order.verb]
    journal.write(
        Kind.ACTION, title, why=how.why, outcome=words, act=act, more={"server": order.verb, "ok": not failed}
    )
    click.echo(words, err=bool(failed))
    return CANNOT if failed else 0


async def _command(session: Session, argv: tuple[str, ...], log: str, folder: str) -> str:
    """Run one command; why it has failed, empty when it has not."""
    python = session.settings.job.python
    try:
        async for step in run_server_command(session.host, python, argv, log=log, cwd=folder):
            if step.step == "running":
                continue
            click.echo(f"{step.step:<8} {argv[0]} (process {step.pid}, {duration(step.seconds)})")
            if step.failed:
                tail = "".join(f"\n  {clean(line)}" for line in step.tail)
                return f"{argv[0]} ended with status {step.status}; its output is in {clean(step.log)}.{tail}"
    except CommandFailed as error:
        return clean(error.message)
    return ""


async def _until_ready(session: Session, watch: Watched) -> str:
    """Tell the phases of the server's start until it serves; why that did not come, empty when it did."""
    said = ""
    try:
        async with asyncio.timeout(UP_S):
            while True:
                server = watch.snapshot.server
                phase = server.phase or UNHEARD
                if phase != said:
                    said = phase
                    click.echo(f"server   {phase}")
                if phase == "dead" and server.trouble:
                    return f"The server has ended: {clean(server.trouble)}"
                if (await session.feed.ping()).ok and phase in {"ready", UNHEARD}:
                    return ""
                await asyncio.sleep(PROBE_S)
    except TimeoutError:
        return f"The server did not serve within {duration(UP_S)}; its log says why."
