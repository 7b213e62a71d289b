"""The job as a plain process of the host, in a session of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import remote.process as steps
from remote.launchers.base import Outlook
from remote.process import WATCH_S

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from remote.host import Host
    from remote.probe import Logout
    from remote.process import Found, FoundProcess, JobSpec, Scope, StopStep


@dataclass(frozen=True, slots=True)
class ProcessLauncher:
    """Runs the job as a detached process; a ``Launcher``.

    Attributes:
        spec: The job.
        watch_s: Seconds that a new job is watched.
        scope: Whether it is put into a scope of the user's systemd; by itself where a logout would end it otherwise.
    """

    spec: JobSpec
    watch_s: float = WATCH_S
    scope: Scope = "auto"

    @property
    def name(self) -> str:
        """Always ``process``."""
        return "process"

    def outlook(self, logout: Logout) -> Outlook:
        """Whether it outlives a logout."""
        scoped = self.scope == "always" or (self.scope == "auto" and logout.kills is True and logout.scope_helps)
        if scoped:
            return Outlook(
                ("It runs in a scope of your systemd (systemd-run --user --scope): a logout does not end it.",)
            )
        return Outlook(
            ("It runs detached (setsid), and goes on after a logout.",) * (logout.kills is False), fate(logout)
        )

    async def find(self, host: Host) -> Found:
        """Look for the job by its record, else by its command line."""
        return await steps.find(host, self.spec)

    async def start(self, host: Host) -> FoundProcess:
        """Start the job unless one runs."""
        return await steps.start(host, self.spec, watch_s=self.watch_s, scope=self.scope)

    def stop(self, host: Host, process: FoundProcess, grace_s: float) -> AsyncGenerator[StopStep]:
        """Stop the very process that was found, and all that belongs to it."""
        return steps.stop(host, process.identity, grace_s, python=self.spec.python, of=self.spec)


def fate(logout: Logout) -> tuple[str, ...]:
    """What a logout does to a process that is in no scope of the user's systemd: a warning, or none."""
    mend = "An administrator can allow it once: `loginctl enable-linger USER`, and systemd-run must be there."
    if logout.kills is True:
        return (f"This host ends your processes when you log out (KillUserProcesses=yes), the job too. {mend}",)
    if logout.in_session and logout.kills is None:
        return ("Whether this host ends your processes when you log out could not be asked (logind).",)
    return ()
