"""What a host is like, asked in one step: its clock and user, some paths, the modules of its Python."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from remote.step import ask

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from remote.host import Host

PROBE_TIMEOUT_S = 60.0
"""Importing a module from a network file system that sleeps can take this long."""


@dataclass(frozen=True, slots=True)
class PathProbe:
    """What may be done with a path.

    Attributes:
        path: As asked.
        exists: Whether it is there.
        is_dir: Whether it is a folder.
        readable: Whether it may be read.
        writable: Whether it may be written.
        folder_writable: Whether files may be made and replaced in its folder (in itself when it is one).
        free_bytes: Free space there, bytes; None when the folder is missing.
    """

    path: str
    exists: bool
    is_dir: bool
    readable: bool
    writable: bool
    folder_writable: bool
    free_bytes: int | None


@dataclass(frozen=True, slots=True)
class Logout:
    """What becomes of what we start there when we log out (man 5 logind.conf).

    Attributes:
        in_session: Whether our steps run in a login session of systemd; without one, nothing is ended with it.
        kills: Whether logind ends the processes of the session with it (``KillUserProcesses``); None when that can't be
            asked, or is no question since there is no session.
        lingering: Whether the user's systemd outlives the logout for certain; None without systemd.
        user_manager: Whether that systemd runs and can be reached.
        systemd_run: Whether ``systemd-run`` is there.
    """

    in_session: bool
    kills: bool | None
    lingering: bool | None
    user_manager: bool
    systemd_run: bool

    @property
    def scope_helps(self) -> bool:
        """Whether a scope of the user's systemd keeps a job alive, and is allowed."""
        return bool(self.lingering) and self.user_manager and self.systemd_run

    @property
    def endangered(self) -> bool:
        """Whether a plain process is ended at logout, and nothing can be done about it without more rights."""
        return self.kills is True and not self.scope_helps


@dataclass(frozen=True, slots=True)
class HostProbe:
    """A host, at one moment.

    Attributes:
        hostname: Its own name.
        user: Who we are there.
        python: Version of the Python that answered.
        boot_id: What names its present boot.
        uptime_s: Seconds since that boot.
        now: Its clock, UTC.
        zone: Its zone's abbreviation.
        utc_offset_s: Seconds that its local time is east of UTC.
        pidfd: Whether a signal can be bound to a proven process; without, proof and signal are two steps.
        lingering: Whether systemd lets the user's processes outlive a logout for certain; None without systemd.
        logout: What becomes of what is started there at a logout.
        paths: As asked, in order.
        modules: Module to version (empty when it has none); None when it can't be imported.
    """

    hostname: str
    user: str
    python: str
    boot_id: str
    uptime_s: float
    now: datetime
    zone: str
    utc_offset_s: int
    pidfd: bool
    lingering: bool | None
    logout: Logout
    paths: tuple[PathProbe, ...]
    modules: Mapping[str, str | None]


async def probe(host: Host, python: str, *, paths: Sequence[str] = (), modules: Sequence[str] = ()) -> HostProbe:
    """Look at a host; changes nothing.

    Args:
        host: Where.
        python: The Python there whose modules are meant.
        paths: Files and folders to look at; ``~`` is the user's home.
        modules: Modules that the job will import.

    Raises:
        CommandFailed: There is no usable Python of that name.
        RemoteError: The host could not be asked.
    """
    request = {"paths": list(paths), "modules": list(modules)}
    answer = await ask(host, python, "probe", request, timeout_s=PROBE_TIMEOUT_S)
    about = {
        **answer,
        "now": datetime.fromtimestamp(answer["now"], UTC),
        "logout": Logout(**answer["logout"]),
        "paths": tuple(PathProbe(**fields) for fields in answer["paths"]),
    }
    return HostProbe(**about)
