"""The host itself: its load, memory, the disk of the output, its GPUs; what is asked, and how to read the answer.

All of it is one command a minute. Its parts run side by side, so that a GPU that hangs, or a file system that does,
hides only itself; each line of the answer begins with ``MARK`` and its part's name, since a login script may print
something of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from console.job.figures import real, whole
from console.job.gpu import AMD, NVIDIA, read_amd, read_nvidia
from console.job.lines import clean
from console.job.machine_facts import Fault, GpuAnswer, MachineSeen

MARK = "longwait-machine"
"""Stands before each line of the answer."""

Gpus = Literal["auto", "nvidia", "amd", "none"]
"""Which GPUs are asked for."""

PART_S = 8
"""Seconds that the GPUs' tool and ``df`` may take: without persistence mode the driver wakes up for two."""

_KIB = 1024
_SCRIPT = r"""
m=$1; folder=$2; kind=$3
PATH=$PATH:/usr/local/nvidia/bin:/opt/rocm/bin
limit=
command -v timeout >/dev/null 2>&1 && limit="timeout -k 1 @PART@"
told() { sed "s/^/$m $1 /"; }
cat /proc/loadavg 2>/dev/null | told load
getconf _NPROCESSORS_ONLN 2>/dev/null | told cores
grep -E '^Mem(Total|Available):' /proc/meminfo 2>/dev/null | told memory
(
    while [ ! -e "$folder" ] && [ "$folder" != / ] && [ "$folder" != . ]; do folder=$(dirname -- "$folder"); done
    { $limit df -Pk -- "$folder" 2>&1; echo "status $?"; } | told disk
) &
case $kind in auto|nvidia) nvidia=$(command -v nvidia-smi) ;; esac
case $kind in auto|amd) amd=$(command -v rocm-smi) ;; esac
if [ -n "$nvidia" ]; then
    { $limit @NVIDIA@ 2>&1; echo "status $?"; } | told nvidia &
elif [ -n "$amd" ]; then
    { $limit @AMD@ 2>&1; echo; echo "status $?"; } | told amd &
else
    echo "$m gpus missing"
fi
wait
echo "$m end"
"""
_LINE = re.compile(rf"^{MARK} (load|cores|memory|disk|nvidia|amd|gpus|end)(?: (.*))?$", re.MULTILINE)
_DISK = re.compile(
    r"^.*?\s[0-9]{1,18}\s+(?P<used>[0-9]{1,18})\s+(?P<free>-?[0-9]{1,18})\s+(?:[0-9]{1,3}%|-)\s+(?P<on>/.*)$"
)
_LONGEST = 4096
"""Characters of a line that are looked at."""
_TIMED_OUT = frozenset({"124", "137"})
"""What ``timeout`` ends with."""


def query(folder: str, gpus: Gpus = "auto") -> tuple[str, ...]:
    """The command that asks for all of it; it changes nothing, and takes ``PART_S`` seconds at most, or hangs.

    Args:
        folder: The folder whose disk is looked at; while it is not there, the nearest above it.
        gpus: Which GPUs are asked for.
    """
    script = (
        _SCRIPT.replace("@PART@", str(PART_S)).replace("@NVIDIA@", " ".join(NVIDIA)).replace("@AMD@", " ".join(AMD))
    )
    return ("sh", "-c", script.strip(), MARK, MARK, folder or ".", gpus)


@dataclass
class _Parts:
    """The lines of each part, and how it ended."""

    lines: dict[str, list[str]] = field(default_factory=dict)
    status: dict[str, str] = field(default_factory=dict)

    def text(self, part: str) -> str:
        return "\n".join(self.lines.get(part, ()))


def read_machine(text: str, gpus: Gpus = "auto") -> MachineSeen | None:
    """What the host answered to ``query``, perhaps cut off where something hung; None when nothing of it is there.

    Args:
        text: All that came.
        gpus: Which GPUs were asked for.
    """
    parts = _Parts()
    for found in _LINE.finditer(text):
        part, said = found[1], (found[2] or "")[:_LONGEST]
        if said.startswith("status ") and part in {"disk", "nvidia", "amd"}:
            parts.status[part] = said.removeprefix("status ").strip()
        else:
            parts.lines.setdefault(part, []).append(said)
    if not parts.lines and not parts.status:
        return None
    memory = dict(_memory(parts))
    cores = whole(parts.text("cores").strip())
    disk, size, free, fault = _disk(parts)
    return MachineSeen(
        load=_load(parts),
        cores=cores or None,
        memory_total=memory.get("MemTotal"),
        memory_available=memory.get("MemAvailable"),
        disk=disk,
        disk_size=size,
        disk_free=free,
        disk_fault=fault,
        gpus=None if gpus == "none" else _gpus(parts),
    )


def _load(parts: _Parts) -> tuple[float, float, float] | None:
    said = [real(word) for word in parts.text("load").split()[:3]]
    one, five, fifteen = (*said, None, None, None)[:3]
    return None if one is None or five is None or fifteen is None else (one, five, fifteen)


def _memory(parts: _Parts) -> list[tuple[str, float]]:
    """Names and bytes: ``MemTotal:  263975936 kB``."""
    rows = [[*line.split(), "", ""][:2] for line in parts.lines.get("memory", ())]
    return [(name.rstrip(":"), float(kib) * _KIB) for name, figure in rows if (kib := whole(figure)) is not None]


def _disk(parts: _Parts) -> tuple[str, float | None, float | None, str]:
    """Where it is mounted, its size, what is free, and why that is not known."""
    for line in parts.lines.get("disk", ()):
        found = _DISK.match(line)
        if found:
            used, free = (max(0.0, float(found[part]) * _KIB) for part in ("used", "free"))
            return clean(found["on"]), used + free, free, ""
    status = parts.status.get("disk")
    if status is None or status in _TIMED_OUT:
        return "", None, None, "the disk did not answer in time"
    said = clean(" ".join(parts.lines.get("disk", ())))[:160]
    return "", None, None, said or "df said nothing"


def _gpus(parts: _Parts) -> GpuAnswer:
    if "gpus" in parts.lines:
        return GpuAnswer(fault="no_tool")
    tool = "amd" if "amd" in parts.lines or "amd" in parts.status else "nvidia"
    answer = (read_amd if tool == "amd" else read_nvidia)(parts.text(tool))
    status = parts.status.get(tool)
    if answer.gpus or (status is not None and status not in _TIMED_OUT):
        return answer
    hang: Fault = "hang"
    return GpuAnswer(fault=hang, said=answer.said)
