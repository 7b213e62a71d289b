"""Lines by which SGLang says that it failed, or that its health check did."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.job.formats import Format
from console.job.server_trouble import trouble

if TYPE_CHECKING:
    from console.job.events import Event


def _watchdog(found: re.Match[str]) -> tuple[Event, ...]:
    """A soft watchdog only writes stacks down; the hard one kills the server."""
    soft = "self.soft=True" in found.string
    return trouble("watchdog", fatal=not soft)(found)


TROUBLE = (
    Format(
        "health failed",
        "Health check failed.",
        re.compile(r"^Health check failed\."),
        trouble("health", fatal=False),
        ("Health check failed. Server couldn't get a response from detokenizer for last 20 seconds. tic",),
    ),
    Format(
        "watchdog",
        "atchdog timeout (",
        re.compile(r"^(?:\w+ )?[Ww]atchdog timeout \("),
        _watchdog,
        (
            "Watchdog timeout (self.watchdog_timeout=300)",
            "Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)",
            "DetokenizerManager watchdog timeout (self.watchdog_timeout=300, self.soft=True)",
        ),
    ),
    Format(
        "hit an exception",
        " hit an exception:",
        re.compile(r"^\w+ hit an exception:|^Exception in Controller\w+:"),
        trouble("crash", fatal=True),
        ("Scheduler hit an exception: Traceback (most recent call last):",),
    ),
    Format(
        "subprocess crashed",
        "crashed with exit code",
        re.compile(r"^Subprocess .{1,80} crashed with exit code"),
        trouble("crash", fatal=True),
        ("Subprocess scheduler_0 (pid=9396) crashed with exit code -9. Triggering SIGQUIT for cleanup...",),
    ),
    Format(
        "sigquit",
        "child",
        re.compile(r"^(?:Received sigquit from a child process|SIGQUIT received)"),
        trouble("sigquit", fatal=True),
        (
            "SIGQUIT received. signum=None, frame=None. It usually means one child failed.",
            "Received sigquit from a child process. It usually means the child failed.",
        ),
    ),
    Format(
        "start failed",
        "",
        re.compile(
            r"^(?:Initialization failed\. warmup error"
            r"|Rank [0-9]+ scheduler (?:is dead|died during initialization)"
            r"|Child process unexpectedly failed"
            r"|Capture (?:cuda|cpu|npu) graph failed)"
        ),
        trouble("start_failed", fatal=True),
        (
            "Initialization failed. warmup error: Traceback (most recent call last):",
            "Rank 0 scheduler is dead. Please check if there are relevant logs.",
            "Rank 3 scheduler died during initialization (exit code: -9). If exit code is -9",
            "Child process unexpectedly failed with an exit code 9. pid=812",
            "Capture cuda graph failed: CUDA out of memory",
        ),
    ),
    Format(
        "pool exhausted",
        "out of memory. ",
        re.compile(r"\b(?:Decode|Prefill) out of memory\. "),
        trouble("oom", fatal=True),
        ("Decode out of memory. Try to lower your batch size.", "Prefill out of memory. Try to lower your batch size."),
    ),
    Format(
        "leak",
        "etected!",
        re.compile(r"\bleak detected!", re.IGNORECASE),
        trouble("crash", fatal=False),
        (
            "token_to_kv_pool_allocator memory leak detected! available_size=1, protected_size=0",
            "Full Pool Mem Leak Detected!",
        ),
    ),
)
"""Each begins its line, so that a message which quotes one is no alarm."""
