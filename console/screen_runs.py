"""The commands with a screen: the console itself, and the demo."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING

import click

from console.app import LongwaitApp
from console.config_file import ConfigError
from console.job.plan import Plan
from console.kept import SUFFIX, Kept
from console.opened import note_opened
from console.opening import Opening
from console.panels.status import Usual
from console.planned import plan_of
from console.replay_commands import REPLAYED
from console.run_files import path_of
from console.session import is_controlled, new_script_of, now, open_session
from console.wanted_looks import NoSuchTheme, wanted_looks
from remote.loading import load

if TYPE_CHECKING:
    from datetime import tzinfo
    from pathlib import Path

    from console.config import Settings
    from console.looks import Looks
    from console.replay_files import Given
    from console.session import Session
    from remote.demo import DemoHost

USAGE = 2


def run_console(settings: Settings, *, read_only: bool, quiet_screen: bool = False, config: Path | None = None) -> int:
    """Open the console; the host is connected behind the first frame.

    Args:
        settings: The run.
        read_only: Nothing on the host may be changed from here.
        quiet_screen: Little is written to the terminal.
        config: The file that the settings are from; None when there is none.
    """
    looks = _looks_of(settings)
    if looks is None or not _keys_known(settings):
        return USAGE
    kept = _kept_of(settings)
    note_opened(kept, settings.host, "" if config is None else str(config.absolute()), now())

    async def opened() -> Session:
        if settings.host != "local":
            await load("remote.ssh")
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
        server=opening.server_control,
        usual=Usual(settings.server.health_every_s, settings.job.look_every_s),
        past=opening.past,
        quiet_screen=quiet_screen,
        looks=looks,
        kept=kept,
    )
    return _run(app)


def _kept_of(settings: Settings) -> Kept:
    """What is remembered of how the run was looked at; nothing where no history is to be kept."""
    return Kept(path_of(settings).with_suffix(SUFFIX) if settings.history else None)


def _looks_of(settings: Settings | None) -> Looks | None:
    """The looks that are wanted; says what is wrong with them, and gives None, when they can't be had."""
    try:
        return wanted_looks(settings)
    except NoSuchTheme as error:
        click.echo(str(error), err=True)
    except ConfigError as error:
        click.echo(error.report(), err=True)
    return None


def run_recording(given: Given, settings: Settings | None, speed: float, *, quiet_screen: bool = False) -> int:
    """Open the console on recorded logs, which are read behind the first frame."""
    from console.replay import why  # noqa: PLC0415 - only a replay needs it
    from console.replay_files import zone_of  # noqa: PLC0415

    looks = _looks_of(settings)
    if looks is None or (settings is not None and not _keys_known(settings)):
        return USAGE
    try:
        zone = zone_of(given, settings)
    except OSError as error:
        click.echo(f"The replay can't be made: {why(error)}", err=True)
        return USAGE
    return _run(recording_app(given, settings, speed, zone, quiet_screen=quiet_screen, looks=looks))


def recording_app(
    given: Given,
    settings: Settings | None,
    speed: float,
    zone: tzinfo,
    *,
    quiet_screen: bool = False,
    looks: Looks | None = None,
) -> LongwaitApp:
    """The console on recorded logs.

    Args:
        given: The logs.
        settings: The run's config, when there is one.
        speed: Seconds of the log in one of ours.
        zone: In which times are shown: that of the logs' own stamps.
        quiet_screen: Little is written to the terminal.
        looks: Theme and characters; None is the usual.
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
        quiet_screen=quiet_screen,
        looks=looks,
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


def run_demo(scenario: str, speed: float, *, read_only: bool = False, quiet_screen: bool = False) -> int:
    """Open the console on a demo host that comes up behind the first frame."""
    from remote.demo import DemoHost  # noqa: PLC0415 - only the demo needs it

    looks = _looks_of(None)
    if looks is None:
        return USAGE
    host = DemoHost(scenario=scenario, speed=speed)
    return _run(demo_app(host, read_only=read_only, quiet_screen=quiet_screen, looks=looks))


def demo_app(
    host: DemoHost, *, read_only: bool = False, quiet_screen: bool = False, looks: Looks | None = None
) -> LongwaitApp:
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
        None if read_only else opening,
        host=HOST,
        read_only=read_only,
        quiet_screen=quiet_screen,
        looks=looks,
        new_script=RUNNER,
        clock=now,
        notice=NOTICE,
        farewell=FAREWELL,
        journal=opening.journal,
        pinger=opening.pinger,
        server=opening.server_control,
    )


def _run(app: LongwaitApp) -> int:
    from console.serve import in_browser  # noqa: PLC0415 - its libraries for secrets are of no use to a terminal

    if not sys.stdout.isatty() and not in_browser():
        click.echo("The console needs a terminal; `longwait status` and `longwait watch` do without.", err=True)
        return USAGE
    asyncio.run(_run_until_told(app))
    return app.return_code or 0


async def _run_until_told(app: LongwaitApp) -> None:
    """Run; TERM, and HUP from a closed terminal, end it as ``q`` does: the screen is put back, the history saved."""
    from console.serve import end_with_server, in_browser  # noqa: PLC0415 - as in _run

    loop = asyncio.get_running_loop()
    if in_browser():
        end_with_server(lambda: loop.call_soon_threadsafe(app.exit))
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, app.exit)
    try:
        await app.run_async()
    finally:
        app.kept.finish()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
