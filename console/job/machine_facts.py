"""What the host says of itself: load, memory, the disk of the output, GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Fault = Literal["", "no_tool", "driver", "hang", "no_device", "unreadable"]
"""Why there are no figures: no tool on the host, a driver that does not answer it, no answer in time, no GPU, or words
that are none of these."""

FAULTS: dict[Fault, str] = {
    "": "",
    "no_tool": "the host has no nvidia-smi and no rocm-smi",
    "driver": "the GPU's driver does not answer",
    "hang": "the GPU query did not end in time; is a GPU stuck?",
    "no_device": "the host has no GPU",
    "unreadable": "the GPU query said something that is not understood",
}
"""Each in words."""


@dataclass(frozen=True, slots=True)
class GpuReading:
    """One GPU; what it does not tell is None.

    Attributes:
        index: Its number on the host.
        name: Its product name.
        busy: Share of the time in which it computed, 0 to 1, as the tool says.
        memory_used: Bytes.
        memory_total: Bytes.
        temperature_c: Degrees Celsius.
        power_w: Watts drawn.
        power_limit_w: Watts at most.
        mig: It is split into MIG instances: the tool then tells no utilisation.
        lost: It did not answer: it fell off the bus, or must be reset.
    """

    index: int
    name: str = ""
    busy: float | None = None
    memory_used: float | None = None
    memory_total: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    mig: bool = False
    lost: bool = False


@dataclass(frozen=True, slots=True)
class GpuAnswer:
    """What one query gave.

    Attributes:
        gpus: In the order of their numbers.
        fault: Why there are none.
        said: The tool's own words on that, shortened; may be empty.
    """

    gpus: tuple[GpuReading, ...] = ()
    fault: Fault = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class MachineSeen:
    """What the host said of itself; what it did not say is None.

    Attributes:
        load: Processes that run or wait, the mean of 1, 5 and 15 minutes.
        cores: Processors.
        memory_total: Bytes.
        memory_available: Bytes that programs can still have.
        disk: Where the disk is mounted; empty when not known.
        disk_size: Bytes that this user has or can have on it: without what is kept for root.
        disk_free: Bytes that this user can still write.
        disk_fault: Why the disk is not known; empty when it is.
        gpus: The GPUs; None when they were not asked for.
    """

    load: tuple[float, float, float] | None = None
    cores: int | None = None
    memory_total: float | None = None
    memory_available: float | None = None
    disk: str = ""
    disk_size: float | None = None
    disk_free: float | None = None
    disk_fault: str = ""
    gpus: GpuAnswer | None = None


@dataclass(frozen=True, slots=True)
class MachineMissing:
    """The host could not be asked; ``reason`` is a sentence."""

    reason: str
