"""The commands with a screen: the console itself, and the demo."""

from __future__ import annotations

import asyncio
import importlib
import signal
import sys
from typing import TYPE_CHECKING

import click

from console.app import LongwaitApp
from console.commands import COMMANDS
from console.job.plan import Plan
from console.opening import Opening
from console.planned import plan_of
from console.session import is_controlled, new_script_of, now, open_session

if TYPE_CHECKING:
    from console.config import Settings
    from console.session import Session
    from remote.demo import DemoHost

USAGE = 2


def run_console(settings: Settings, *, read_only: bool) -> int:
    """Open the console; the host is connected behind the first frame."""
    unknown = sorted(set(settings.keys) - {command.id for command in COMMANDS})
    if unknown:
        known = ", ".join(command.id for command in COMMANDS)
        click.echo(f"keys names no command of the console: {', '.join(unknown)}. Known: {known}.", err=True)
        return USAGE

    async def opened() -> Session:
        if settings.host != "local":
            # In a thread, so that the screen answers while the SSH library is read from disk.
            await asyncio.to_thread(importlib.import_module, "remote.ssh")
        return open_session(settings, remember=True)

    opening = Opening(opened, plan=plan_of(settings), waiting_for=f"connecting to {settings.host}", clock=now)
    controlled = not read_only and is_controlled(settings.job)
    app = LongwaitApp(
        opening,
        opening if controlled else None,
        host=settings.host,
        read_only=read_only,
        confirm=settings.confirm == "ask",
        new_script=new_script_of(settings),
        clock=now,
        keymap=settings.keys,
    )
    return _run(app)


def run_demo(scenario: str, speed: float) -> int:
    """Open the console on a demo host that comes up behind the first frame."""
    from remote.demo import DemoHost  # noqa: PLC0415 - only the demo needs it

    return _run(demo_app(DemoHost(scenario=scenario, speed=speed)))


def demo_app(host: DemoHost) -> LongwaitApp:
    """The console on a demo host, which it brings up and ends."""
    from console.demo import FAREWELL, HOST, NOTICE, RUNNER, open_demo  # noqa: PLC0415 - only the demo needs it

    opening = Opening(
        lambda: open_demo(host),
        plan=Plan(host=HOST),
        waiting_for="bringing up the demo host",
        clock=now,
        close=host.close,
    )
    return LongwaitApp(opening, opening, host=HOST, new_script=RUNNER, clock=now, notice=NOTICE, farewell=FAREWELL)


def _run(app: LongwaitApp) -> int:
    if not sys.stdout.isatty():
        click.echo("The console needs a terminal; `longwait status` and `longwait watch` do without.", err=True)
        return USAGE
    asyncio.run(_run_until_told(app))
    return app.return_code or 0


async def _run_until_told(app: LongwaitApp) -> None:
    """Run; TERM, and HUP from a closed terminal, end it as ``q`` does: the screen is put back, the history saved."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, app.exit)
    try:
        await app.run_async()
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
