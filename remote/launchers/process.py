"""The job as a plain process of the host, in a session of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import remote.process as steps
from remote.process import WATCH_S

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from remote.host import Host
    from remote.process import Found, FoundProcess, JobSpec, StopStep


@dataclass(frozen=True, slots=True)
class ProcessLauncher:
    """Runs the job as a detached process; a ``Launcher``.

    Attributes:
        spec: The job.
        watch_s: Seconds that a new job is watched.
    """

    spec: JobSpec
    watch_s: float = WATCH_S

    async def find(self, host: Host) -> Found:
        """Look for the job by its record, else by its command line."""
        return await steps.find(host, self.spec)

    async def start(self, host: Host) -> FoundProcess:
        """Start the job unless one runs."""
        return await steps.start(host, self.spec, watch_s=self.watch_s)

    def stop(self, host: Host, process: FoundProcess, grace_s: float) -> AsyncGenerator[StopStep]:
        """Stop the very process that was found, and all that belongs to it."""
        return steps.stop(host, process.identity, grace_s, python=self.spec.python)
