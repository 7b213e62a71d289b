"""Lines by which a server, or the libraries under it, say that something failed; shared by both engines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.job.formats import Format, quiet
from console.job.server_events import ServerTrouble

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.job.events import Event

_LONGEST = 300
"""Characters of a message that are kept; a screen shows one line of it."""


def trouble(kind: str, *, fatal: bool) -> Callable[[re.Match[str]], tuple[Event, ...]]:
    """A ``make`` that tells of a failure in the line's own words.

    Args:
        kind: See ``ServerTrouble.kind``.
        fatal: True when the server does not survive it.
    """

    def make(found: re.Match[str]) -> tuple[Event, ...]:
        return (ServerTrouble(kind, found.string.strip()[:_LONGEST], fatal),)

    return make


def plain(text: str) -> re.Pattern[str]:
    """A pattern for a fixed text; used beside a needle of the same text."""
    return re.compile(re.escape(text))


COMMON = (
    Format(
        "harmless",
        "can be ignored",
        plain("can be ignored"),
        quiet,
        ("The following error message 'operation scheduled before its operands' can be ignored.",),
    ),
    Format(
        "cuda out of memory",
        "out of memory",
        re.compile(r"OutOfMemoryError\b.*out of memory|CUDA(?: error:)? out of memory"),
        trouble("oom", fatal=True),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB. GPU 3 has a total",
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
            "RuntimeError: CUDA error: out of memory",
        ),
    ),
    Format(
        "nccl timeout",
        "ollective",
        re.compile(r"Watchdog caught collective operation timeout|dump signal due to a collective timeout"),
        trouble("nccl", fatal=True),
        (
            "[Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=812, OpType=ALLREDUCE) ran",
            "Received a dump signal due to a collective timeout from rank 3",
        ),
    ),
    Format(
        "nccl error",
        "NCCL error",
        plain("NCCL error"),
        trouble("nccl", fatal=True),
        ("RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)",),
    ),
    Format(
        "terminated by C++",
        "terminate called after",
        plain("terminate called after"),
        trouble("nccl", fatal=True),
        ("terminate called after throwing an instance of 'c10::DistBackendError'",),
    ),
    Format(
        "fatal python error",
        "Fatal Python error",
        plain("Fatal Python error"),
        trouble("crash", fatal=True),
        ("Fatal Python error: Segmentation fault",),
    ),
    Format(
        "full disk",
        "",
        re.compile(r"No space left on device|Disk quota exceeded"),
        trouble("disk", fatal=False),
        ("OSError: [Errno 28] No space left on device", "tee: server.log: No space left on device"),
    ),
    Format(
        "killed",
        "",
        re.compile(r"^\s*(?:\S+: line [0-9]+: +[0-9]+ )?(?:Killed|Segmentation fault|Bus error)\b"),
        trouble("crash", fatal=True),
        (
            "Killed",
            "start.sh: line 4: 9142 Killed    python -m sglang.launch_server",
            "Segmentation fault (core dumped)",
        ),
    ),
)
"""Stamped or not, whichever engine wrote them."""
