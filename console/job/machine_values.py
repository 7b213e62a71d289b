"""The host itself as plain values of the reading, and as a line for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from console.job.units import UNKNOWN, ahead, percent, size

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.machine_facts import GpuReading
    from console.job.machine_view import MachineView


def machine_values(view: MachineView) -> dict[str, Any]:
    """The host, ready for ``json.dumps``: bytes, degrees Celsius, watts; the unknown is None."""
    return {
        "at": _iso(view.at),
        "missing": view.missing,
        "load": None if view.load is None else list(view.load),
        "cores": view.cores,
        "memory_total_bytes": _whole(view.memory_total),
        "memory_available_bytes": _whole(view.memory_available),
        "disk": view.disk,
        "disk_size_bytes": _whole(view.disk_size),
        "disk_free_bytes": _whole(view.disk_free),
        "disk_full_at": _iso(view.disk_full_at),
        "disk_fault": view.disk_fault,
        "gpus": [_gpu(gpu) for gpu in view.gpus],
        "gpus_at": _iso(view.gpus_at),
        "gpu_fault": view.gpu_fault,
    }


def _gpu(gpu: GpuReading) -> dict[str, Any]:
    return {
        "index": gpu.index,
        "name": gpu.name,
        "busy": gpu.busy,
        "memory_used_bytes": _whole(gpu.memory_used),
        "memory_total_bytes": _whole(gpu.memory_total),
        "temperature_c": gpu.temperature_c,
        "power_w": gpu.power_w,
        "power_limit_w": gpu.power_limit_w,
        "mig": gpu.mig,
        "lost": gpu.lost,
    }


def _iso(at: datetime | None) -> str | None:
    return at.isoformat(timespec="seconds") if at is not None else None


def _whole(figure: float | None) -> int | None:
    return None if figure is None else round(figure)


def machine_line(view: MachineView, now: datetime) -> str:
    """One line for people: disk, memory and load; empty when the host was not asked."""
    if view.at is None:
        return ""
    full = f", full {ahead(view.disk_full_at, now)} at this pace" if view.disk_full_at else ""
    load = UNKNOWN if view.load is None else f"{view.load[0]:.1f}"
    disk = f"{size(view.disk_free)} free on {view.disk or 'its disk'}{full}"
    return f"Host: {disk}; memory {percent(view.memory_share)} used; load {load} on {view.cores or UNKNOWN} cores."
