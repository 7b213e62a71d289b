"""The commands with a screen: the console itself, and the demo."""

from __future__ import annotations

import asyncio
import importlib
import signal
import sys
from typing import TYPE_CHECKING

import click

from console.app import LongwaitApp
from console.job.plan import Plan
from console.opening import Opening
from console.planned import plan_of
from console.replay_commands import REPLAYED
from console.session import is_controlled, new_script_of, now, open_session

if TYPE_CHECKING:
    from datetime import tzinfo

    from console.config import Settings
    from console.replay_files import Given
    from console.session import Session
    from remote.demo import DemoHost

USAGE = 2


def run_console(settings: Settings, *, read_only: bool) -> int:
    """Open the console; the host is connected behind the first frame."""
    if not _keys_known(settings):
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
        journal=opening.journal,
        pinger=opening.pinger,
    )
    return _run(app)


def run_recording(given: Given, settings: Settings | None, speed: float) -> int:
    """Open the console on recorded logs, which are read behind the first frame."""
    from console.replay import why  # noqa: PLC0415 - only a replay needs it
    from console.replay_files import zone_of  # noqa: PLC0415

    if settings is not None and not _keys_known(settings):
        return USAGE
    try:
        zone = zone_of(given, settings)
    except OSError as error:
        click.echo(f"The replay can't be made: {why(error)}", err=True)
        return USAGE
    return _run(recording_app(given, settings, speed, zone))


def recording_app(given: Given, settings: Settings | None, speed: float, zone: tzinfo) -> LongwaitApp:
    """The console on recorded logs.

    Args:
        given: The logs.
        settings: The run's config, when there is one.
        speed: Seconds of the log in one of ours.
        zone: In which times are shown: that of the logs' own stamps.
    """
    from console.replay_feed import ReplayFeed  # noqa: PLC0415 - only a replay needs it
    from console.replay_files import load  # noqa: PLC0415
    from console.screens.replay import ReplayScreen  # noqa: PLC0415

    feed = ReplayFeed(lambda: load(given, settings), speed=speed)
    return LongwaitApp(
        feed,
        host=given.names,
        clock=feed.moment,
        farewell="The replay is closed.",
        zone=zone,
        keymap={} if settings is None else settings.keys,
        screen=lambda _feed, _control, setup: ReplayScreen(feed, setup),
    )


def _keys_known(settings: Settings) -> bool:
    """Whether the config's keys name commands of ours; says so when not."""
    known = [command.id for command in REPLAYED]
    unknown = sorted(set(settings.keys) - set(known))
    if unknown:
        named = ", ".join(known)
        click.echo(f"keys names no command of the console: {', '.join(unknown)}. Known: {named}.", err=True)
    return not unknown


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
    return LongwaitApp(
        opening,
        opening,
        host=HOST,
        new_script=RUNNER,
        clock=now,
        notice=NOTICE,
        farewell=FAREWELL,
        journal=opening.journal,
        pinger=opening.pinger,
    )


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
