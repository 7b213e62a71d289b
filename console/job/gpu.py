"""The GPU query: what is asked of ``nvidia-smi`` or ``rocm-smi``, and how to read the answer.

``nvidia-smi --query-gpu=... --format=csv,noheader,nounits`` prints one line per GPU; a field that a GPU, a driver or a
container does not tell is a word in brackets: ``[N/A]``, ``[Not Supported]``, ``[Insufficient Permissions]``,
``[Unknown Error]``, ``[GPU requires reset]``. With MIG on, the utilisation of a whole GPU is ``[N/A]``. What went wrong
as a whole is a sentence in place of the lines. ``rocm-smi --json`` gives one object per card, its figures as text under
names that changed with versions.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from console.job.figures import real
from console.job.lines import clean
from console.job.machine_facts import Fault, GpuAnswer, GpuReading

if TYPE_CHECKING:
    from collections.abc import Iterable

_FIELDS = (
    "index",
    "name",
    "utilization.gpu",
    "memory.used",
    "memory.total",
    "temperature.gpu",
    "power.draw",
    "power.limit",
    "mig.mode.current",
)
NVIDIA = ("nvidia-smi", f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits")
"""What is asked of NVIDIA's tool: per cent, MiB, degrees Celsius, watts."""

AMD = (
    *("rocm-smi", "--showuse", "--showmeminfo", "vram", "--showtemp", "--showpower", "--showmaxpower"),
    *("--showproductname", "--json"),
)
"""What is asked of AMD's tool."""

MIB = 1_048_576
_WORD = re.compile(r"\[[^\]]{1,40}\]|N/A|ERR!")
_DRIVER = re.compile(
    r"Failed to initialize NVML|NVIDIA-SMI has failed|[Dd]river/library version mismatch|amdgpu not found"
)
_NONE = re.compile(r"No devices were found|No AMD GPUs|No supported GPUs", re.IGNORECASE)
_LOST = re.compile(r"Unable to determine the device handle for GPU ?([0-9A-Fa-f:.]{0,20})")
_LONGEST = 1_000_000
_KEPT = 160


def read_nvidia(text: str) -> GpuAnswer:
    """What ``nvidia-smi`` answered to ``NVIDIA``, its stderr included."""
    found: dict[int, GpuReading] = {}
    lost: list[str] = []
    rest: list[str] = []
    for line in text[:_LONGEST].splitlines():
        gpu = _nvidia_line(line)
        if gpu is not None:
            found.setdefault(gpu.index, gpu)
        elif gone := _LOST.search(line):
            lost.append(f"GPU {gone[1].rstrip('.: ')}".strip())
        elif line.strip():
            rest.append(line.strip())
    free = (number for number in range(len(found) + len(lost)) if number not in found)
    gone_ones = [GpuReading(number, name, lost=True) for number, name in zip(free, lost, strict=False)]
    return _answer((*found.values(), *gone_ones), rest)


def _nvidia_line(line: str) -> GpuReading | None:
    """One line; None for one that is no GPU's."""
    fields = [field.strip() for field in line.split(",")]
    if len(fields) < len(_FIELDS) or not fields[0].isdecimal() or not fields[0].isascii():
        return None
    # A product's name may hold a comma: the other fields are counted from the end.
    extra = len(fields) - len(_FIELDS)
    name, told = ", ".join(fields[1 : 2 + extra]), fields[2 + extra :]
    if not all(_WORD.fullmatch(field) or real(field) is not None for field in told[:-1]):
        return None
    busy, used, total, heat, power, limit = (_not_negative(real(field)) for field in told[:-1])
    return GpuReading(
        index=int(fields[0][:6]),
        name=clean(name)[:_KEPT],
        busy=None if busy is None else min(1.0, busy / 100),
        memory_used=None if used is None else used * MIB,
        memory_total=None if total is None else total * MIB,
        temperature_c=heat,
        power_w=power,
        power_limit_w=limit,
        mig=told[-1] == "Enabled",
        lost=any("Unknown Error" in field or "reset" in field or "is lost" in field for field in told),
    )


def read_busy(text: str) -> tuple[float, ...]:
    """Shares of the time in which the GPUs that tell it computed, 0 to 1."""
    return tuple(gpu.busy for gpu in read_nvidia(text).gpus if gpu.busy is not None)


def read_amd(text: str) -> GpuAnswer:
    """What ``rocm-smi`` answered to ``AMD``, its stderr included: the warnings before the object are passed over."""
    start, end = text.find("{"), text.rfind("}")
    lines = [line.strip() for line in text[:_KEPT].splitlines() if line.strip()]
    if start < 0 or end < start or len(text) > _LONGEST:
        return _answer((), lines)
    try:
        cards = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return _answer((), lines)
    gpus = [_card(name, fields) for name, fields in cards.items()] if isinstance(cards, dict) else []
    return _answer([gpu for gpu in gpus if gpu is not None], [])


def _card(name: str, fields: Any) -> GpuReading | None:  # noqa: ANN401 -- what JSON holds
    number = name.removeprefix("card")
    if not isinstance(fields, dict) or not number.isdecimal() or not number.isascii():
        return None
    busy = _told(fields, "GPU use (%)")
    return GpuReading(
        index=int(number[:6]),
        name=clean(str(fields.get("Card Series") or fields.get("Card series") or ""))[:_KEPT],
        busy=None if busy is None else min(1.0, busy / 100),
        memory_used=_told(fields, "VRAM Total Used Memory (B)"),
        memory_total=_told(fields, "VRAM Total Memory (B)"),
        temperature_c=_told(fields, "Temperature (Sensor junction) (C)", "Temperature (Sensor edge) (C)"),
        power_w=_told(
            fields,
            "Average Graphics Package Power (W)",
            "Current Socket Graphics Package Power (W)",
            "Average Socket Power (W)",
        ),
        power_limit_w=_told(fields, "Max Graphics Package Power (W)"),
    )


def _told(fields: dict[str, Any], *names: str) -> float | None:
    """The first of these figures that is one."""
    found = (_not_negative(real(str(fields.get(name, "")))) for name in names)
    return next((value for value in found if value is not None), None)


def _not_negative(value: float | None) -> float | None:
    return value if value is not None and value >= 0 else None


def _answer(gpus: Iterable[GpuReading], rest: list[str]) -> GpuAnswer:
    """The GPUs, or what is wrong by what was said in their place."""
    known = tuple(sorted(gpus, key=lambda gpu: gpu.index))
    said = clean(" ".join(rest))[:_KEPT]
    if known:
        return GpuAnswer(known)
    if not rest:
        return GpuAnswer(fault="no_device")
    words = " ".join(rest)
    fault: Fault = "driver" if _DRIVER.search(words) else "no_device" if _NONE.search(words) else "unreadable"
    return GpuAnswer(fault=fault, said=said)
