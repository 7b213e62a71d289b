"""What any way of running a job offers: find it, start it, stop it, and say what it means on a host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from remote.host import Host
    from remote.probe import Logout
    from remote.process import Found, FoundProcess, JobSpec, StopStep


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a launcher has to say before a start.

    Attributes:
        lines: How the job will run, a sentence each, for the plan.
        warnings: What may end it or go wrong, a sentence each, with what to do.
        refusal: Why it can't be started this way; None when it can.
    """

    lines: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    refusal: str | None = None


class Launcher(Protocol):
    """How one job is found, started and stopped on a host.

    A launcher of a batch system fits as well: its ``find`` gives the process that its own tool reports, and what it
    can't prove by boot, pid, start time and command line it must prove by the system's own number of the job.
    """

    @property
    def name(self) -> str:
        """What the config calls it: ``process``, ``tmux``, ``systemd``."""
        ...

    @property
    def spec(self) -> JobSpec:
        """The job."""
        ...

    def outlook(self, logout: Logout) -> Outlook:
        """What a start in this way means on a host where a logout does what is given; no I/O."""
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
