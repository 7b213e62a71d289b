"""The host itself as the screen and the reading show it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from console.job.machine_facts import FAULTS

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.machine_facts import GpuReading
    from console.job.machine_state import MachineState

FARTHEST = timedelta(days=365)
"""A disk that is full later than this is not filling."""


@dataclass(frozen=True, slots=True)
class MachineView:
    """The host: load, memory, the disk of the output folder, GPUs. What is not known is None.

    Attributes:
        at: When it was asked; None before the first answer.
        missing: Why the newest try gave nothing; empty when it did.
        load: Processes that run or wait, the mean of 1, 5 and 15 minutes.
        cores: Processors.
        memory_total: Bytes.
        memory_available: Bytes that programs can still have.
        disk: Where the disk of the output is mounted.
        disk_size: Bytes that the user has or can have on it.
        disk_free: Bytes that can still be written.
        disk_full_at: When it will be full, if it fills as in the last hours; None while it does not.
        disk_fault: Why the disk is not known.
        gpus: The GPUs, in order.
        gpus_at: When they were asked.
        gpu_fault: Why there are none, in words; empty when there are, or when they were not asked for.
        gpu_said: The tool's own words on that.
    """

    at: datetime | None = None
    missing: str = ""
    load: tuple[float, float, float] | None = None
    cores: int | None = None
    memory_total: float | None = None
    memory_available: float | None = None
    disk: str = ""
    disk_size: float | None = None
    disk_free: float | None = None
    disk_full_at: datetime | None = None
    disk_fault: str = ""
    gpus: tuple[GpuReading, ...] = ()
    gpus_at: datetime | None = None
    gpu_fault: str = ""
    gpu_said: str = ""

    @property
    def memory_share(self) -> float | None:
        """Share of the memory in use, 0 to 1."""
        if not self.memory_total or self.memory_available is None:
            return None
        return min(1.0, max(0.0, 1.0 - self.memory_available / self.memory_total))

    @property
    def disk_share(self) -> float | None:
        """Share of the disk in use, 0 to 1."""
        if not self.disk_size or self.disk_free is None:
            return None
        return min(1.0, max(0.0, 1.0 - self.disk_free / self.disk_size))


def machine_view(state: MachineState) -> MachineView:
    """The host as it was last seen."""
    seen, gpus = state.seen, state.gpus
    if seen is None or state.at is None:
        return MachineView(missing=state.missing)
    return MachineView(
        at=state.at,
        missing=state.missing,
        load=seen.load,
        cores=seen.cores,
        memory_total=seen.memory_total,
        memory_available=seen.memory_available,
        disk=seen.disk,
        disk_size=seen.disk_size,
        disk_free=seen.disk_free,
        disk_full_at=_full_at(state),
        disk_fault=seen.disk_fault,
        gpus=gpus.gpus if gpus else (),
        gpus_at=state.gpus_at,
        gpu_fault=FAULTS[gpus.fault] if gpus else "",
        gpu_said=gpus.said if gpus else "",
    )


def _full_at(state: MachineState) -> datetime | None:
    newest = state.free.last
    if newest is None or state.at is None or state.rate is None or state.rate >= 0:
        return None
    if state.seen is None or state.seen.disk_free is None:
        return None  # it did not answer: what it held before is no word on the present
    left_s = newest.value / -state.rate
    return state.at + timedelta(seconds=left_s) if left_s <= FARTHEST.total_seconds() else None
