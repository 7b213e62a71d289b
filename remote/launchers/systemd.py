"""The job as a transient unit of systemd, or as a unit that the operator has written."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import remote.process as steps
from remote.launchers.base import Outlook
from remote.process import START_TIMEOUT_S, WATCH_S, Found, found_process, started_process, stop_steps, where
from remote.step import ask

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from remote.host import Host
    from remote.probe import Logout
    from remote.process import FoundProcess, JobSpec, StopStep

UnitOf = Literal["auto", "user", "system"]
"""Whose unit it is: the user's, the host's, or the user's if there is one of that name."""


@dataclass(frozen=True, slots=True)
class SystemdLauncher:
    """Runs the job as a transient unit (``systemd-run --user --collect``); a ``Launcher``.

    For root it is a unit of the host's own systemd. Its process is recorded, found and stopped by identity like any
    other. When its main process ends, systemd ends what is left of the unit.

    Attributes:
        spec: The job.
        watch_s: Seconds that a new job is watched.
    """

    spec: JobSpec
    watch_s: float = WATCH_S

    @property
    def name(self) -> str:
        """Always ``systemd``."""
        return "systemd"

    def outlook(self, logout: Logout) -> Outlook:
        """Whether the user's systemd outlives the logout; the host refuses a start where it does not, root's aside."""
        if logout.lingering is None:
            return Outlook(refusal="This host is not run by systemd; set another `launcher`.")
        return Outlook(("It runs as a unit of systemd; `systemctl --user list-units 'longwait-*'` lists it.",))

    async def find(self, host: Host) -> Found:
        """Look for the job by its record, else by its command line."""
        return await steps.find(host, self.spec)

    async def start(self, host: Host) -> FoundProcess:
        """Start the job unless one runs; refused where a logout would end it."""
        return await steps.start(host, self.spec, watch_s=self.watch_s, launcher=self.name, scope="never")

    def stop(self, host: Host, process: FoundProcess, grace_s: float) -> AsyncGenerator[StopStep]:
        """Stop the very process that was found, and all that belongs to it."""
        return steps.stop(host, process.identity, grace_s, python=self.spec.python, of=self.spec)


@dataclass(frozen=True, slots=True)
class UnitLauncher:
    """The job is a unit that exists; systemd starts and stops it by its name; a ``Launcher``.

    What it runs, its environment, folder and log are the unit's own; the spec's command is not used.

    Attributes:
        spec: The job; its script and folder are what a restart puts a new script into.
        unit: The unit's name.
        unit_of: Whose unit it is.
        watch_s: Seconds that a new job is watched.
    """

    spec: JobSpec
    unit: str
    unit_of: UnitOf = "auto"
    watch_s: float = WATCH_S

    @property
    def name(self) -> str:
        """Always ``systemd``."""
        return "systemd"

    def outlook(self, logout: Logout) -> Outlook:
        """That the unit's own settings count."""
        if logout.lingering is None:
            return Outlook(refusal=f"This host is not run by systemd, so there is no unit {self.unit}.")
        return Outlook((f"systemd starts the unit {self.unit}, with the unit's own command, environment and log.",))

    async def find(self, host: Host) -> Found:
        """Ask systemd for the unit's main process."""
        answer = await ask(host, self.spec.python, "unit_find", self._request())
        return Found(tuple(found_process(fields) for fields in answer["processes"]), answer["script_sha256"])

    async def start(self, host: Host) -> FoundProcess:
        """Have systemd start it unless it is active."""
        request = {**self._request(), "watch_s": self.watch_s}
        return started_process(await ask(host, self.spec.python, "unit_start", request, timeout_s=START_TIMEOUT_S))

    async def stop(self, host: Host, process: FoundProcess, grace_s: float) -> AsyncGenerator[StopStep]:
        """Have systemd stop it when its main process still is the one that was found; KILL after the grace."""
        request = {**self._request(), **asdict(process.identity), "grace_s": grace_s}
        async with aclosing(stop_steps(host, self.spec.python, "unit_stop", request)) as told:
            async for step in told:
                yield step

    def _request(self) -> dict[str, object]:
        return {**where(self.spec), "unit": self.unit, "unit_of": self.unit_of}
