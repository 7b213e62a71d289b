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
    from datetime import datetime, tzinfo

    from console.config import Settings
    from console.replay_files import Given as Recorded

USAGE = 2
SCENARIOS = ("kv-limited", "old-script", "server-hang", "error-storm", "slow-gpu", "link-cut", "first-checkpoint")

READ_ONLY = "This is read-only (read_only in the config, or --read-only); nothing was done."

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
        quiet_screen: Little is written to the terminal.
    """

    config: Path | None
    read_only: bool
    quiet_screen: bool = False


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="longwait")
@click.option("--config", "config", type=click.Path(path_type=Path), help="The config file (YAML).")
@click.option("--read-only", is_flag=True, help="Remove start, stop and restart.")
@click.option("--quiet-screen", is_flag=True, help="At most 2 kB/s to the terminal: for a slow line.")
@click.pass_context
def cli(context: click.Context, config: Path | None, *, read_only: bool, quiet_screen: bool) -> None:
    """Watch an LLM batch run on a GPU host over SSH: is it alive, how far, when done, touch it or not.

    Without a command, opens the console for the config found: --config, ./longwait.yaml, then the user's config folder.
    """
    context.obj = Given(config, read_only, quiet_screen)
    if context.invoked_subcommand is None:
        settings = _settings(context)
        from console.screen_runs import run_console  # noqa: PLC0415

        opened = config or _found()
        sys.exit(run_console(settings, read_only=settings.read_only, quiet_screen=quiet_screen, config=opened))


@cli.command()
@click.option("--scenario", type=click.Choice(SCENARIOS), default=SCENARIOS[0], show_default=True)
@click.option(
    "--speed", type=click.FloatRange(0.1, 200), default=1.0, show_default=True, help="How much faster the server is."
)
@click.option("--headless", is_flag=True, help="Without a screen; with --for.")
@click.option("--for", "for_s", type=click.FloatRange(1), help="Seconds to run without a screen.")
@click.option("--json", "as_json", is_flag=True, help="Without a screen: the last reading as JSON.")
@click.pass_context
def demo(
    context: click.Context, scenario: str, speed: float, for_s: float | None, *, headless: bool, as_json: bool
) -> None:
    """Show the whole product with no GPU and no config: a simulated server, a real job, a real SSH connection."""
    if headless or as_json or for_s is not None:
        from console.demo import run_headless  # noqa: PLC0415

        sys.exit(run_headless(scenario, speed, for_s or 30.0, as_json=as_json))
    from console.screen_runs import run_demo  # noqa: PLC0415

    given: Given = context.find_root().obj
    sys.exit(run_demo(scenario, speed, read_only=given.read_only, quiet_screen=given.quiet_screen))


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
@click.option("--answer", is_flag=True, help="Have the server generate one token, too; at most once a minute.")
@click.option("--json", "as_json", is_flag=True, help="The proofs as JSON.")
@click.pass_context
def ping(context: click.Context, *, answer: bool, as_json: bool) -> None:
    """Ask for every sign of life now: each with its latency, its age, and what it was before."""
    from console.oneshot import run_ping  # noqa: PLC0415

    sys.exit(run_ping(_settings(context), answer=answer, as_json=as_json))


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
    for option in (
        click.option("--why", default="", help="Your reason, for the journal."),
        click.option("--yes", is_flag=True, help="Do not ask."),
        click.option("--dry-run", is_flag=True, help="Print the plan and do nothing."),
    ):
        command = option(command)
    return command


def _proving(command: Callable[..., None]) -> Callable[..., None]:
    """The options of every command that starts the job."""
    return click.option("--proof", is_flag=True, help="Wait for the proof that it worked; exit code 1 when not.")(
        _acting(command)
    )


@cli.command()
@_proving
@click.pass_context
def start(context: click.Context, /, **how: bool | str) -> None:
    """Start the job, detached from this session."""
    _act(context, "start", None, how)


@cli.command()
@_acting
@click.pass_context
def stop(context: click.Context, /, **how: bool | str) -> None:
    """Stop the job: TERM, the grace of the config, then KILL, the whole process group."""
    _act(context, "stop", None, how)


@cli.command()
@click.option("--script", type=click.Path(path_type=Path), help="A local script to put in place of the host's.")
@_proving
@click.pass_context
def restart(context: click.Context, /, script: Path | None, **how: bool | str) -> None:
    """Stop the job, put the updated script in place, start it again."""
    _act(context, "restart", script, how)


@cli.command()
@_proving
@click.pass_context
def rollback(context: click.Context, /, **how: bool | str) -> None:
    """Put back the script and the command that the last restart has replaced, and start the job with them."""
    _act(context, "rollback", None, how)


@cli.command()
@_proving
@click.pass_context
def finish(context: click.Context, /, **how: bool | str) -> None:
    """Finish an act that was broken off: its console was killed between two steps."""
    _act(context, "finish", None, how)


@cli.command()
@click.argument("pid", type=click.IntRange(2))
@_acting
@click.pass_context
def adopt(context: click.Context, /, pid: int, **given: bool | str) -> None:
    """Take the process PID, which somebody has started by hand, for the job: stop and restart then mean it."""
    from console.act_commands import How  # noqa: PLC0415
    from console.adopt_commands import run_adopt  # noqa: PLC0415

    how = How(dry_run=bool(given["dry_run"]), yes=bool(given["yes"]))
    sys.exit(run_adopt(_may_act(context, f"Adopt process {pid}", dry_run=how.dry_run), pid, how))


@cli.command()
@click.argument("verb", type=click.Choice(["start", "stop", "restart"]))
@_acting
@click.pass_context
def server(context: click.Context, /, verb: str, **given: bool | str) -> None:
    """Start, stop or restart the inference server, by the way that the config gives; asks for the host's name."""
    from console.act_commands import How  # noqa: PLC0415
    from console.server_commands import run_server  # noqa: PLC0415

    how = How(dry_run=bool(given["dry_run"]), yes=bool(given["yes"]), why=str(given["why"]))
    sys.exit(run_server(_may_act(context, f"{verb.capitalize()} the server", dry_run=how.dry_run), verb, how))


@cli.command()
@click.option("--since", help="Only from then on: 30m, 2h, 1d, or ISO 8601.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, with the steps of acts.")
@click.pass_context
def journal(context: click.Context, since: str | None, *, as_json: bool) -> None:
    """Print who did what to the run, when, why, and what came of it."""
    from console.journal_commands import run_journal  # noqa: PLC0415

    settings = _settings(context)
    sys.exit(run_journal(settings, _moment(since), as_json=as_json))


@cli.command()
@click.argument("words", nargs=-1, required=True)
@click.pass_context
def note(context: click.Context, words: tuple[str, ...]) -> None:
    """Add your own words to the journal."""
    from console.journal_commands import run_note  # noqa: PLC0415

    sys.exit(run_note(_settings(context), " ".join(words)))


def _recorded(command: Callable[..., None]) -> Callable[..., None]:
    """The options of every command on recorded logs."""
    for option in (
        click.option(
            "--config", "config", type=click.Path(path_type=Path), help="A config: its datasets, zone and patterns."
        ),
        click.option(
            "--tz", help="Zone of stamps that name none, such as Europe/Berlin; else what the job's log says, or UTC."
        ),
        click.option("--progress", type=click.Path(path_type=Path), help="The job's progress.jsonl, a file here."),
        click.option("--job-log", type=click.Path(path_type=Path), help="The job's log, a file here."),
        click.option("--server-log", type=click.Path(path_type=Path), help="The server's log, a file here."),
    ):
        command = option(command)
    return command


@cli.command()
@_recorded
@click.option("--at", "moments", help="Moments: ISO 8601, end, start+2h, or every=15m; with commas. Without a screen.")
@click.option("--json", "as_json", is_flag=True, help="With --at: one reading a line, as JSON.")
@click.option(
    "--speed",
    type=click.FloatRange(1, 7200),
    default=600.0,
    show_default=True,
    help="Seconds of the log in one of ours: 600 plays 55 hours in five and a half minutes.",
)
@click.pass_context
def replay(
    context: click.Context, /, moments: str | None, speed: float, *, as_json: bool, **files: Path | str | None
) -> None:
    """Play recorded logs in the console, or read them at given moments; only what was logged until then counts."""
    given, settings = _recording(context, files)
    if moments is not None:
        from console.replay import run_replay  # noqa: PLC0415

        sys.exit(run_replay(given, settings, moments, as_json=as_json))
    if as_json:
        _fail("--json goes with --at, which says of which moments.", USAGE)
    if not given.names:
        _fail("Nothing to replay: give --server-log or --job-log, or both.", USAGE)
    from console.screen_runs import run_recording  # noqa: PLC0415

    sys.exit(run_recording(given, settings, speed, quiet_screen=context.find_root().obj.quiet_screen))


@cli.command()
@_recorded
@click.option("--moment", help="The record of one moment: ISO 8601, end, start+2h. Else the report of the whole run.")
@click.option("--since", help="What happened since then: last (when a console was last looked at), 2h, ISO 8601.")
@click.option(
    "--format", "form", type=click.Choice(["md", "html", "json"]), default="md", show_default=True, help="Of the text."
)
@click.pass_context
def report(
    context: click.Context, /, moment: str | None, since: str | None, form: str, **files: Path | str | None
) -> None:
    """Write down what was known and decided: at a moment, or in a whole run.

    From recorded logs (--server-log, --job-log), else from the history that the console keeps of the config's run.
    """
    from console.report import run_report  # noqa: PLC0415

    given, settings = _recording(context, files)
    if not given.names and settings is None:
        settings = _settings(context)
    if moment is not None and since is not None:
        _fail("Give --moment or --since, not both.", USAGE)
    sys.exit(run_report(given, settings, moment, form, since))


@cli.command()
@click.option("--concurrency", type=click.IntRange(1), required=True, help="Requests in flight to ask about.")
@_recorded
@click.option("--moment", default="end", show_default=True, help="Of recorded logs: ISO 8601, end, start+2h.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(1), default=30.0, show_default=True, help="Seconds.")
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON.")
@click.pass_context
def whatif(
    context: click.Context,
    /,
    concurrency: int,
    moment: str,
    timeout_s: float,
    *,
    as_json: bool,
    **files: Path | str | None,
) -> None:
    """Say what another concurrency would bring, and what the restart for it would cost.

    For the config's run as it is now, or for a moment of recorded logs (--server-log, --job-log).
    """
    from console.whatif import run_live, run_recorded  # noqa: PLC0415

    given, settings = _recording(context, files)
    if given.names:
        sys.exit(run_recorded(given, settings, moment, concurrency, as_json=as_json))
    sys.exit(run_live(settings or _settings(context), concurrency, timeout_s, as_json=as_json))


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


@cli.command()
@click.argument("host")
@click.option("--port", type=click.IntRange(1, 65_535), help="The server's port, where several servers run.")
@click.option("--python", default="python3", show_default=True, help="The host's Python that looks, 3.8 or newer.")
@click.option("--write", type=click.Path(path_type=Path), help="Write what was found as a config, and open nothing.")
@click.pass_context
def attach(context: click.Context, host: str, port: int | None, python: str, write: Path | None) -> None:
    """Look for servers and jobs on HOST (or `local`), with no config; show them in the console."""
    from console.attach_commands import run_attach  # noqa: PLC0415

    given: Given = context.find_root().obj
    sys.exit(
        run_attach(
            host, port=port, python=python, write=write, read_only=given.read_only, quiet_screen=given.quiet_screen
        )
    )


@cli.command()
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Of this machine; 0, the usual, is a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on: this machine's own.")
@click.option("--control", is_flag=True, help="Let the page start, stop and restart the job; else it is read-only.")
@click.option("--demo", "as_demo", is_flag=True, help="Serve the demo, a host in a box for each page.")
@click.option("--scenario", type=click.Choice(SCENARIOS), default=SCENARIOS[0], show_default=True, help="Of the demo.")
@click.option("--speed", type=click.FloatRange(0.1, 200), default=1.0, show_default=True, help="Of the demo's server.")
@click.pass_context
def serve(
    context: click.Context, port: int, host: str, scenario: str, speed: float, *, control: bool, as_demo: bool
) -> None:
    """Show the console in a browser: for this machine only, and read-only, unless you ask otherwise."""
    from console.serve import Served, run_serve  # noqa: PLC0415

    given: Given = context.find_root().obj
    if as_demo:
        options = ("--scenario", scenario, "--speed", f"{speed:g}")
        sys.exit(run_serve(Served(None, options, host, port, control and not given.read_only), "longwait demo"))
    settings = _settings(context)
    served = Served(given.config or _found(), None, host, port, control and not settings.read_only)
    sys.exit(run_serve(served, f"longwait {settings.host}"))


# ---------------------------------------------------------------- helpers


def _recording(context: click.Context, files: dict[str, Path | str | None]) -> tuple[Recorded, Settings | None]:
    """What was given of recorded logs, and the config beside it."""
    from console.replay_files import Given as Recorded  # noqa: PLC0415

    paths = {name: Path(path) for name, path in files.items() if path is not None and name != "tz"}
    zone = None if files["tz"] is None else _zone(str(files["tz"]))
    given = Recorded(paths.get("server_log"), paths.get("job_log"), paths.get("progress"), zone)
    config = paths.get("config") or context.find_root().obj.config
    return given, None if config is None else _loaded(config)


def _act(context: click.Context, verb: str, script: Path | None, given: dict[str, bool | str]) -> NoReturn:
    from console.act_commands import How, run_act  # noqa: PLC0415

    settings = _may_act(context, f"{verb.capitalize()} the job", dry_run=bool(given["dry_run"]))
    how = How(
        dry_run=bool(given["dry_run"]),
        yes=bool(given["yes"]) or settings.confirm == "none",
        proof=bool(given.get("proof")),
        why=str(given["why"]),
    )
    sys.exit(run_act(settings, verb, script, how))


def _may_act(context: click.Context, what: str, *, dry_run: bool) -> Settings:
    """The settings; ends the program, with a line in the journal, where nothing may be changed."""
    from console.act_commands import refused_read_only  # noqa: PLC0415

    settings = _settings(context)
    if settings.read_only and not dry_run:
        refused_read_only(settings, what, READ_ONLY)
        _fail(READ_ONLY, USAGE)
    return settings


def _settings(context: click.Context) -> Settings:
    """The settings of the config found; ends the program with a report when they can't be had."""
    given: Given = context.find_root().obj
    path = given.config or _found()
    if path is None:
        _fail(NO_CONFIG.format(looked=", ".join(str(place) for place in _places())) + _opened_last(), USAGE)
    settings = _loaded(path)
    if not given.read_only:
        return settings
    from msgspec.structs import replace  # noqa: PLC0415

    return replace(settings, read_only=True)


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


def _opened_last() -> str:
    """Which runs were opened from here before, and how to open them again; empty when none were."""
    from platformdirs import user_data_path  # noqa: PLC0415

    from console.opened import opened_runs, opened_words  # noqa: PLC0415
    from console.session import now  # noqa: PLC0415

    return opened_words(opened_runs(user_data_path("longwait") / "runs", now().tzinfo), now())


def _found() -> Path | None:
    named = os.environ.get("LONGWAIT_CONFIG")
    if named:
        return Path(named)
    return next((place for place in _places() if place.exists()), None)


def _moment(since: str | None) -> datetime | None:
    from console.journal_words import since_of  # noqa: PLC0415
    from console.session import now  # noqa: PLC0415

    try:
        return None if since is None else since_of(since, now())
    except ValueError as error:
        _fail(f"--since {error}.", USAGE)


def _regex(pattern: str | None) -> re.Pattern[str] | None:
    try:
        return None if pattern is None else re.compile(pattern)
    except re.error as error:
        _fail(f"--grep {pattern!r} is no regular expression: {error}.", USAGE)


def _fail(text: str, code: int) -> NoReturn:
    click.echo(text.rstrip(), err=True)
    sys.exit(code)
