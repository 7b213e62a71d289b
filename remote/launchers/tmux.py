"""The job in a tmux session of its own, for people who want to attach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import remote.process as steps
from remote.launchers.base import Outlook
from remote.launchers.process import fate
from remote.process import WATCH_S

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from remote.host import Host
    from remote.probe import Logout
    from remote.process import Found, FoundProcess, JobSpec, Scope, StopStep


@dataclass(frozen=True, slots=True)
class TmuxLauncher:
    """Runs the job in the tmux session ``longwait-KEY``; a ``Launcher``.

    The job's output goes into its log, as with every launcher. The session has two panes: the job's, which is empty
    unless the job writes to the terminal itself, and below it the log as it grows. It ends with the job. HUP is
    ignored: a session that is closed by mistake does not end the job, which is found and stopped by its identity all
    the same.

    Attributes:
        spec: The job.
        watch_s: Seconds that a new job is watched.
        scope: Whether a tmux server that must be started for it is put into a scope of the user's systemd.
    """

    spec: JobSpec
    watch_s: float = WATCH_S
    scope: Scope = "auto"

    @property
    def name(self) -> str:
        """Always ``tmux``."""
        return "tmux"

    def outlook(self, logout: Logout) -> Outlook:
        """How to attach; and what a logout does to the tmux server, and the job with it."""
        line = "It runs in a tmux session of its own; the start says its name, and `tmux ls` lists it."
        scoped = self.scope == "always" or logout.scope_helps
        return Outlook((line,), () if scoped else fate(logout))

    async def find(self, host: Host) -> Found:
        """Look for the job by its record, else by its command line."""
        return await steps.find(host, self.spec)

    async def start(self, host: Host) -> FoundProcess:
        """Start the job unless one runs; ``place`` of what is given is the session to attach to."""
        return await steps.start(host, self.spec, watch_s=self.watch_s, launcher=self.name, scope=self.scope)

    def stop(self, host: Host, process: FoundProcess, grace_s: float) -> AsyncGenerator[StopStep]:
        """Stop the very process that was found, and all that belongs to it; its session ends with it."""
        return steps.stop(host, process.identity, grace_s, python=self.spec.python, of=self.spec)
