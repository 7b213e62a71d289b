"""What any way of running a job offers: find it, start it, stop it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from remote.host import Host
    from remote.process import Found, FoundProcess, JobSpec, StopStep


class Launcher(Protocol):
    """How one job is found, started and stopped on a host."""

    @property
    def spec(self) -> JobSpec:
        """The job."""
        ...

    async def find(self, host: Host) -> Found:
        """Look for the job; changes nothing."""
        ...

    async def start(self, host: Host) -> FoundProcess:
        """Start the job unless one runs.

        Raises:
            JobAlreadyRuns: One runs.
            CommandFailed: It could not be started, or ended at once.
        """
        ...

    def stop(self, host: Host, process: FoundProcess, grace_s: float) -> AsyncGenerator[StopStep]:
        """Stop the very job that was found; see ``remote.process.stop``."""
        ...
