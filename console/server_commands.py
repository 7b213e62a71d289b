"""``longwait server``: the inference server by its own commands or its unit; asked for louder than the job."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from console.act_commands import interruptible
from console.oneshot import CANNOT, run
from console.server_control import DONE, SERVE_STEP, ServerControl, order_of, unknown_words
from console.session import now, open_session
from console.watched import watched

if TYPE_CHECKING:
    from console.act_commands import How
    from console.acts import Step
    from console.config import Settings
    from console.server_control import ServerPlan

LOOK_S = 1.2
"""As for a plan of the job."""

WHEN_LEFT = "A command that was begun goes on by itself; `longwait journal` names those that were not run."
"""What to tell who leaves an act before its end (Ctrl-C)."""


def run_server(settings: Settings, verb: str, how: How) -> int:
    """Show what it means, ask, do it, and follow it until the server serves."""
    if order_of(settings.server.control, verb) is None:
        click.echo(unknown_words(verb), err=True)
        return 2
    return run(_run(settings, verb, how))


async def _run(settings: Settings, verb: str, how: How) -> int:
    session = open_session(settings)
    async with watched(session) as watch:
        await watch.up()
        await session.feed.settle(LOOK_S)
        control = ServerControl(session, now)
        plan = replace(await control.plan(verb), why=how.why)
        click.echo(plan.title)
        for line in plan.lines:
            click.echo(f"  {line}")
        if how.dry_run:
            return 0
        if not how.yes and not _named(settings.host, verb):
            click.echo("Nothing was done.")
            return CANNOT
        code = await _done(control, plan)
        job_trouble = "" if session.control is None else session.control.trouble
        for trouble in filter(None, (session.journal.trouble, job_trouble)):
            click.echo(trouble, err=True)
        return code


def _named(host: str, verb: str) -> bool:
    """Ask for the host's name: a server takes minutes to come back, so a y typed too fast is not enough."""
    if not sys.stdin.isatty():
        click.echo("Not asked, since this is no terminal; give --yes to act.", err=True)
        return False
    try:
        with interruptible():
            said: str = click.prompt(f"To {verb} the server, type the host's name", default="", show_default=False)
    except click.Abort:
        click.echo()
        return False
    return said.strip() == host


async def _done(control: ServerControl, plan: ServerPlan) -> int:
    last, said = None, ""
    try:
        async with aclosing(control.carry_out(plan)) as steps:
            async for step in steps:
                last, said = step, _told(step, said)
    except asyncio.CancelledError:
        click.echo(WHEN_LEFT, err=True)
        raise
    failed = last is not None and last.state == "failed"
    click.echo(last.detail if last is not None and failed else DONE[plan.order.verb], err=failed)
    return CANNOT if failed else 0


def _told(step: Step, said: str) -> str:
    """Print what is new of a step: its end, and of a server that comes up each phase once."""
    phase = step.detail.partition(",")[0] if step.name == SERVE_STEP else ""
    if step.state == "running":
        if phase and phase != said:
            click.echo(f"server  {phase}")
        return phase or said
    if step.state == "done":
        took = "" if step.seconds is None else f" ({step.seconds:.1f} s)"
        click.echo(f"done    {step.name}{took}{': ' + step.detail if step.detail else ''}")
    return said
