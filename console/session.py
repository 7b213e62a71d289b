"""One run under watch: the host, the feed and the control that belong together, made from the settings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.config import JobSettings, Settings
    from console.control import JobControl
    from console.feed import Feed
    from console.journal import Journal
    from remote.host import Host
    from remote.process import JobSpec


def now() -> datetime:
    """The time, UTC: the one clock that the program injects everywhere."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Session:
    """What belongs to one run.

    Attributes:
        settings: What it was made from.
        host: The machine, not yet connected.
        feed: What comes in.
        control: What goes out; None when the settings do not say how the job is found or started.
        journal: Who did what, and what came of it.
    """

    settings: Settings
    host: Host
    feed: Feed
    control: JobControl | None
    journal: Journal


def open_session(
    settings: Settings,
    *,
    clock: Callable[[], datetime] = now,
    remember: bool = False,
    every_line: bool = False,
    journal: Journal | None = None,
) -> Session:
    """Make the parts; nothing is connected or asked yet.

    Args:
        settings: The run.
        clock: The time now, UTC.
        remember: Keep a history, if the settings allow it: for what stays open, not for one look.
        every_line: Give every line of the logs: for who prints them.
        journal: Another one than that of the run that the settings name.
    """
    # Imported here: the console draws its first frame before it opens a session, and need not wait for it.
    from console.feed import Feed  # noqa: PLC0415
    from console.journal import journal_of  # noqa: PLC0415

    host = host_of(settings)
    journal = journal or journal_of(settings, clock)
    control = control_of(settings, host, journal, clock)
    look = None if control is None else control.process_fact
    feed = Feed(
        host,
        settings,
        look=look,
        clock=clock,
        remember=remember and settings.history,
        every_line=every_line,
        logs_first=remember,
    )
    return Session(settings, host, feed, control, journal)


def control_of(settings: Settings, host: Host, journal: Journal, clock: Callable[[], datetime]) -> JobControl | None:
    """What starts and stops the job; None when the settings do not say how it is found or started."""
    # Imported here, as above.
    from console.control import JobControl  # noqa: PLC0415
    from console.paths import followed_path  # noqa: PLC0415
    from remote.control_through import Through  # noqa: PLC0415
    from remote.launchers.choose import launcher_of  # noqa: PLC0415

    job, spec = settings.job, spec_of(settings.job)
    if spec is None:
        return None
    reached = host
    if job.run_as or job.container:
        reached = Through(host, user=job.run_as or "", container=job.container or "", runtime=job.container_runtime)
    return JobControl(
        reached,
        spec,
        launcher=partial(launcher_of, name=job.launcher, unit=job.unit or "", unit_of=job.unit_of),
        grace_s=job.grace_s,
        clock=clock,
        journal=journal,
        journal_on_host=settings.journal_on_host,
        outputs=(followed_path(settings, job.progress),) if job.progress else (),
    )


def host_of(settings: Settings) -> Host:
    """The host that the settings name."""
    # The two are imported here: asyncssh takes a third of a second, which `local` need not wait for.
    if settings.host == "local":
        from remote.local import LocalHost  # noqa: PLC0415

        return LocalHost()
    from remote.ssh import SshHost  # noqa: PLC0415

    ssh = settings.ssh
    return SshHost(
        settings.host,
        config_files=None if ssh.config_file is None else (_here(ssh.config_file),),
        known_hosts=None if ssh.known_hosts is None else (_here(ssh.known_hosts),),
        identity=None if ssh.identity is None else _here(ssh.identity),
        connect_timeout_s=ssh.connect_timeout_s,
        keepalive_s=ssh.keepalive_s,
    )


def _here(path: str) -> str:
    return str(Path(path).expanduser())


def is_controlled(job: JobSettings) -> bool:
    """Whether the settings say how the job is found or started."""
    return any((job.command, job.match, job.script, job.unit))


def spec_of(job: JobSettings) -> JobSpec | None:
    """How the job is found and started; None when nothing says how."""
    if not is_controlled(job):
        return None
    from remote.process import JobSpec  # noqa: PLC0415

    return JobSpec(
        python=job.python,
        run_dir=job.dir or ".",
        argv=job.command or (),
        env=dict(job.env),
        log=job.log or "",
        match=job.match or "",
        script=job.script or "",
        venv=job.venv or "",
        conda=job.conda or "",
        keep_env=job.keep_env,
    )


def new_script_of(settings: Settings) -> Path | None:
    """The local script that a restart puts on the host."""
    path = settings.job.new_script
    return None if path is None else Path(path).expanduser()
