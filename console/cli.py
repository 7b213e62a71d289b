"""The commands: arguments, config and exit codes. What a command needs is imported when it runs.

Exit codes: 0 wait (or done as asked), 10 watch, 20 intervene, 30 not known since the host can't be seen, 2 for usage or
config, 1 when what was asked could not be done.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from console import __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

    from console.config import Settings

USAGE = 2
SCENARIOS = ("kv-limited", "old-script", "server-hang", "error-storm", "slow-gpu", "link-cut", "first-checkpoint")

NO_CONFIG = """\
No config was found. Looked for: {looked}

  longwait demo     shows everything with no GPU and no config, on this machine
  longwait init     writes a commented longwait.yaml to start from
"""


@dataclass(frozen=True, slots=True)
class Given:
    """What stood before the command.

    Attributes:
        config: The config file; None to look for one.
        read_only: Nothing on the host may be changed.
    """

    config: Path | None
    read_only: bool


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="longwait")
@click.option("--config", "config", type=click.Path(path_type=Path), help="The config file (YAML).")
@click.option("--read-only", is_flag=True, help="Remove start, stop and restart.")
@click.pass_context
def cli(context: click.Context, config: Path | None, *, read_only: bool) -> None:
    """Watch an LLM batch run on a GPU host over SSH: is it alive, how far, when done, touch it or not.

    Without a command, opens the console for the config found: --config, ./longwait.yaml, then the user's config folder.
    """
    context.obj = Given(config, read_only)
    if context.invoked_subcommand is None:
        settings = _settings(context)
        from console.screen_runs import run_console  # noqa: PLC0415

        sys.exit(run_console(settings, read_only=settings.read_only))


@cli.command()
@click.option("--scenario", type=click.Choice(SCENARIOS), default=SCENARIOS[0], show_default=True)
@click.option(
    "--speed", type=click.FloatRange(0.1, 200), default=1.0, show_default=True, help="How much faster the server is."
)
@click.option("--headless", is_flag=True, help="Without a screen; with --for.")
@click.option("--for", "for_s", type=click.FloatRange(1), help="Seconds to run without a screen.")
@click.option("--json", "as_json", is_flag=True, help="Without a screen: the last reading as JSON.")
def demo(scenario: str, speed: float, for_s: float | None, *, headless: bool, as_json: bool) -> None:
    """Show the whole product with no GPU and no config: a simulated server, a real job, a real SSH connection."""
    if headless or as_json or for_s is not None:
        from console.demo import run_headless  # noqa: PLC0415

        sys.exit(run_headless(scenario, speed, for_s or 30.0, as_json=as_json))
    from console.screen_runs import run_demo  # noqa: PLC0415

    sys.exit(run_demo(scenario, speed))


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="The reading as JSON.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(1), default=30.0, show_default=True, help="Seconds.")
@click.pass_context
def status(context: click.Context, timeout_s: float, *, as_json: bool) -> None:
    """Give one reading and end. Exit code: 0 wait, 10 watch, 20 intervene, 30 not known."""
    from console.oneshot import run_status  # noqa: PLC0415

    sys.exit(run_status(_settings(context), timeout_s, as_json=as_json))


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON reading a line.")
@click.pass_context
def watch(context: click.Context, *, as_json: bool) -> None:
    """Follow without a screen until the job ends: a line for each change of verdict."""
    from console.oneshot import run_watch  # noqa: PLC0415

    sys.exit(run_watch(_settings(context), as_json=as_json))


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="The proofs as JSON.")
@click.pass_context
def ping(context: click.Context, *, as_json: bool) -> None:
    """Check the server's health once, now: each proof of life with its latency."""
    from console.oneshot import run_ping  # noqa: PLC0415

    sys.exit(run_ping(_settings(context), as_json=as_json))


@cli.command()
@click.pass_context
def doctor(context: click.Context) -> None:
    """Try each thing that the config needs, and say what is wrong and how to mend it."""
    from console.doctor import run_doctor  # noqa: PLC0415

    sys.exit(run_doctor(_settings(context)))


@cli.command()
@click.argument("which", type=click.Choice(["server", "job"]))
@click.option("-f", "--follow", is_flag=True, help="Go on until interrupted.")
@click.option("--grep", "pattern", help="Only lines that this regular expression finds.")
@click.pass_context
def logs(context: click.Context, which: str, pattern: str | None, *, follow: bool) -> None:
    """Print a log, cleaned of escape sequences."""
    from console.oneshot import run_logs  # noqa: PLC0415

    sys.exit(run_logs(_settings(context), which, _regex(pattern), follow=follow))


def _acting(command: Callable[..., None]) -> Callable[..., None]:
    """The options of every command that acts."""
    command = click.option("--yes", is_flag=True, help="Do not ask.")(command)
    return click.option("--dry-run", is_flag=True, help="Print the plan and do nothing.")(command)


@cli.command()
@_acting
@click.pass_context
def start(context: click.Context, /, **how: bool) -> None:
    """Start the job, detached from this session."""
    _act(context, "start", None, how)


@cli.command()
@_acting
@click.pass_context
def stop(context: click.Context, /, **how: bool) -> None:
    """Stop the job: TERM, the grace of the config, then KILL, the whole process group."""
    _act(context, "stop", None, how)


@cli.command()
@click.option("--script", type=click.Path(path_type=Path), help="A local script to put in place of the host's.")
@_acting
@click.pass_context
def restart(context: click.Context, /, script: Path | None, **how: bool) -> None:
    """Stop the job, put the updated script in place, start it again."""
    _act(context, "restart", script, how)


@cli.command()
@click.option("--server-log", type=click.Path(path_type=Path), help="The server's log, a file here.")
@click.option("--job-log", type=click.Path(path_type=Path), help="The job's log, a file here.")
@click.option("--progress", type=click.Path(path_type=Path), help="The job's progress.jsonl, a file here.")
@click.option("--at", "moments", required=True, help="Moments: ISO 8601, end, start+2h, or every=15m; with commas.")
@click.option(
    "--tz", help="Zone of stamps that name none, such as Europe/Berlin; else what the job's log says, or UTC."
)
@click.option("--json", "as_json", is_flag=True, help="One reading a line, as JSON.")
@click.option("--config", "config", type=click.Path(path_type=Path), help="A config: its datasets, zone and patterns.")
@click.pass_context
def replay(context: click.Context, /, moments: str, tz: str | None, *, as_json: bool, **files: Path | None) -> None:
    """Read recorded logs as the console would have at each moment; only what was logged until then counts."""
    from console.replay import Given as Replayed  # noqa: PLC0415
    from console.replay import run_replay  # noqa: PLC0415

    config = files.pop("config") or context.find_root().obj.config
    settings = None if config is None else _loaded(config)
    given = Replayed(files["server_log"], files["job_log"], files["progress"], None if tz is None else _zone(tz))
    sys.exit(run_replay(given, settings, moments, as_json=as_json))


@cli.command()
@click.option("--host", help="Alias of ~/.ssh/config, user@name, user@name:port, or local.")
@click.option("--server-url", help="The inference server, as the host sees it.")
@click.option("--server-log", help="Path of the server's log on the host.")
@click.option("--job-log", help="Path of the job's log on the host.")
@click.option("--output", type=click.Path(path_type=Path), default=Path("longwait.yaml"), show_default=True)
@click.option("--force", is_flag=True, help="Replace the file that is there.")
def init(output: Path, *, force: bool, **given: str | None) -> None:
    """Write a commented config to start from."""
    from console.init import run_init  # noqa: PLC0415

    sys.exit(run_init(output, given, force=force))


# ---------------------------------------------------------------- helpers


def _act(context: click.Context, verb: str, script: Path | None, how: dict[str, bool]) -> NoReturn:
    from console.oneshot import run_act  # noqa: PLC0415

    settings = _settings(context)
    if settings.read_only and not how["dry_run"]:
        _fail("This is read-only (read_only in the config, or --read-only); nothing was done.", USAGE)
    sys.exit(run_act(settings, verb, script, dry_run=how["dry_run"], yes=how["yes"] or settings.confirm == "none"))


def _settings(context: click.Context) -> Settings:
    """The settings of the config found; ends the program with a report when they can't be had."""
    given: Given = context.find_root().obj
    path = given.config or _found()
    if path is None:
        _fail(NO_CONFIG.format(looked=", ".join(str(place) for place in _places())), USAGE)
    settings = _loaded(path)
    return settings.model_copy(update={"read_only": True}) if given.read_only else settings


def _loaded(path: Path) -> Settings:
    from console.config_file import ConfigError, load  # noqa: PLC0415

    try:
        return load(path)
    except ConfigError as error:
        _fail(error.report(), USAGE)


def _zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # noqa: PLC0415

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        _fail(f"--tz {name!r} is no time zone of the zone database, such as Europe/Berlin or UTC.", USAGE)


def _places() -> tuple[Path, ...]:
    from platformdirs import user_config_path  # noqa: PLC0415

    return Path("longwait.yaml"), user_config_path("longwait") / "longwait.yaml"


def _found() -> Path | None:
    named = os.environ.get("LONGWAIT_CONFIG")
    if named:
        return Path(named)
    return next((place for place in _places() if place.exists()), None)


def _regex(pattern: str | None) -> re.Pattern[str] | None:
    try:
        return None if pattern is None else re.compile(pattern)
    except re.error as error:
        _fail(f"--grep {pattern!r} is no regular expression: {error}.", USAGE)


def _fail(text: str, code: int) -> NoReturn:
    click.echo(text.rstrip(), err=True)
    sys.exit(code)
