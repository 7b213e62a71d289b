"""The host's own figures in words; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.job import units
from console.panels import words
from widgets.gauges import GaugeRow

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.machine_facts import GpuReading
    from console.job.machine_view import MachineView
    from console.job.snapshot import Eta
    from widgets.gauges import Level

HOT_C = 85.0
"""From here on a GPU of a data centre lowers its clocks soon; degrees Celsius."""

SOON_S = 12 * 3600.0
"""A disk that is full sooner than this is worth a look, whenever the run ends."""

MEMORY_FULL = 0.92
"""Share of the host's memory in use from which on programs may be killed for it."""


def gpu_label(gpu: GpuReading) -> str:
    """Give its number."""
    return f"GPU{gpu.index}"


def of_memory(gpu: GpuReading) -> str:
    """Give its memory: ``74.2 of 80.0 GiB``."""
    if gpu.memory_used is None:
        return units.UNKNOWN
    if gpu.memory_total is None:
        return units.size(gpu.memory_used)
    gib = 1024**3
    return f"{gpu.memory_used / gib:.1f} of {gpu.memory_total / gib:.1f} GiB"


def of_power(gpu: GpuReading) -> str:
    """Give what it draws: ``641 of 700 W``."""
    if gpu.power_w is None:
        return units.UNKNOWN
    return f"{gpu.power_w:.0f} of {gpu.power_limit_w:.0f} W" if gpu.power_limit_w else f"{gpu.power_w:.0f} W"


def heat(gpu: GpuReading) -> str:
    """Give its temperature, with a sign when it is hot."""
    if gpu.temperature_c is None:
        return units.UNKNOWN
    return f"{gpu.temperature_c:.0f} °C" + (" !" if gpu.temperature_c >= HOT_C else "")


def gpu_row(gpu: GpuReading) -> GaugeRow:
    """Give one GPU as a row: busy, memory, temperature, power, name."""
    if gpu.lost:
        return GaugeRow(gpu_label(gpu), None, ("✗ does not answer", gpu.name), "danger")
    busy = "MIG" if gpu.mig and gpu.busy is None else f"{units.percent(gpu.busy)}"
    figures = (busy, of_memory(gpu), heat(gpu), of_power(gpu), gpu.name)
    hot = gpu.temperature_c is not None and gpu.temperature_c >= HOT_C
    return GaugeRow(gpu_label(gpu), gpu.busy, figures, "warn" if hot else "")


def gpu_summary(gpus: tuple[GpuReading, ...]) -> GaugeRow:
    """Give all GPUs as one row: mean of busy, memory in all, the hottest, power in all, those that are lost."""
    busy = [gpu.busy for gpu in gpus if gpu.busy is not None]
    mean = sum(busy) / len(busy) if busy else None
    used = [gpu.memory_used for gpu in gpus if gpu.memory_used is not None]
    total = [gpu.memory_total for gpu in gpus if gpu.memory_total is not None]
    hottest = max((gpu for gpu in gpus if gpu.temperature_c is not None), key=_temperature, default=None)
    watts = [gpu.power_w for gpu in gpus if gpu.power_w is not None]
    lost = sum(gpu.lost for gpu in gpus)
    memory = f"{sum(used) / 1024**3:.0f} of {sum(total) / 1024**3:.0f} GiB" if used and len(used) == len(total) else ""
    figures = (
        units.percent(mean),
        f"✗ {lost} of {len(gpus)} do not answer" if lost else "",
        heat(hottest) if hottest else "",
        memory,
        f"{sum(watts):,.0f} W" if watts else "",
    )
    hot = hottest is not None and _temperature(hottest) >= HOT_C
    level: Level = "danger" if lost else "warn" if hot else ""
    return GaugeRow(units.plural(len(gpus), "GPU"), mean, tuple(each for each in figures if each), level)


def _temperature(gpu: GpuReading) -> float:
    return gpu.temperature_c or 0.0


def disk_row(view: MachineView, eta: Eta, now: datetime) -> GaugeRow:
    """Give the disk of the output as a row: free, when it will be full, where it is."""
    if view.disk_size is None:
        return GaugeRow("disk", None, (units.UNKNOWN, view.disk_fault))
    full = view.disk_full_at
    soon = full is not None and ((full - now).total_seconds() < SOON_S or (eta.high is not None and full < eta.high))
    ends = f"{'! ' if soon else ''}full {units.ahead(full, now)}" if full is not None else f"full {units.UNKNOWN}"
    level: Level = "danger" if view.disk_free == 0 else "warn" if soon else ""
    free = f"{units.size(view.disk_free)} free"
    first = (ends, free) if soon else (free, ends)
    return GaugeRow("disk", view.disk_share, (*first, view.disk), level)


def memory_row(view: MachineView) -> GaugeRow:
    """Give the host's memory as a row."""
    share = view.memory_share
    used = None if view.memory_total is None or share is None else share * view.memory_total
    high = share is not None and share >= MEMORY_FULL
    figures = (units.percent(share) + (" !" if high else ""), f"{units.size(used)} of {units.size(view.memory_total)}")
    return GaugeRow("mem", share, figures, "warn" if high else "")


def load_row(view: MachineView) -> GaugeRow:
    """Give the host's load as a row: the mean of 1, 5 and 15 minutes, against its cores."""
    if view.load is None:
        return GaugeRow("load", None, (units.UNKNOWN,))
    share = min(1.0, view.load[0] / view.cores) if view.cores else None
    cores = f"of {units.count(view.cores)} cores" if view.cores else ""
    figures = (f"{view.load[0]:.1f} {cores}".strip(), f"{view.load[1]:.1f}, {view.load[2]:.1f} over 5, 15 min")
    return GaugeRow("load", share, figures)


def gpu_rows(view: MachineView) -> tuple[GaugeRow, ...]:
    """Give each GPU."""
    return tuple(gpu_row(gpu) for gpu in view.gpus)


def host_rows(view: MachineView, eta: Eta, now: datetime, *, whole: bool) -> tuple[GaugeRow, ...]:
    """Give the host's rows: all GPUs in one where each has none of its own, the disk, memory, load.

    Args:
        view: The host.
        eta: The run's end, which the disk must outlast.
        now: The present.
        whole: Each GPU has a row of its own.
    """
    if view.at is None:
        return ()
    gpus = (gpu_summary(view.gpus),) if view.gpus and not whole else ()
    return (*gpus, disk_row(view, eta, now), memory_row(view), load_row(view))


def note(view: MachineView, now: datetime, every_s: float = 60.0) -> str:
    """Give the age of the figures, as far as they are older than they should be; and why there are none."""
    if view.at is None:
        return view.missing or "not asked yet"
    if not words.is_stale(view.at, now, every_s):
        return ""
    return words.joined(f"{units.duration((now - view.at).total_seconds())} old", view.missing)


def gpu_note(view: MachineView, now: datetime) -> str:
    """Say why no GPU is shown, or how old what is shown of them is; empty while all is well."""
    if view.gpu_fault:
        return words.joined(f"GPU: {view.gpu_fault}", view.gpu_said)
    if view.gpus_at is not None and view.at is not None and view.gpus_at < view.at:
        return f"GPU figures: {units.age(view.gpus_at, now)}"
    return ""
