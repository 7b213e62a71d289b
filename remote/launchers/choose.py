"""The launcher that a config names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remote.launchers.process import ProcessLauncher
from remote.launchers.systemd import SystemdLauncher, UnitLauncher
from remote.launchers.tmux import TmuxLauncher

if TYPE_CHECKING:
    from remote.launchers.base import Launcher
    from remote.launchers.systemd import UnitOf
    from remote.process import JobSpec

NAMES = ("process", "tmux", "systemd")
"""What a config may name."""


def launcher_of(spec: JobSpec, name: str = "process", *, unit: str = "", unit_of: UnitOf = "auto") -> Launcher:
    """Make the launcher of a job.

    Args:
        spec: The job.
        name: One of ``NAMES``.
        unit: For ``systemd``: a unit that exists; empty for a transient one of the job's own command.
        unit_of: Whose unit that is.

    Raises:
        ValueError: There is no launcher of that name.
    """
    match name:
        case "process":
            return ProcessLauncher(spec)
        case "tmux":
            return TmuxLauncher(spec)
        case "systemd":
            return UnitLauncher(spec, unit, unit_of) if unit else SystemdLauncher(spec)
        case _:
            raise ValueError(f"there is no launcher {name!r}; one of {', '.join(NAMES)}")
