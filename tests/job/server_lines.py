"""Lines as servers print them, and what the parser makes of them; for the tests of the server's log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from console.job.server_events import (
    EngineSeen,
    ServerLoad,
)
from console.job.server_log import ServerLog

if TYPE_CHECKING:
    from console.job.events import Event

SEEN = datetime(2026, 12, 1, tzinfo=UTC)
DECODE = "Decode batch, #running-req: 50, #token: 114822, token usage: 0.82, cuda graph: True, gen throughput (token/s): 846.33, #queue-req: 98"
STATS = (
    "Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 313.5 tokens/s, Running: 22 reqs, "
    "Waiting: 8 reqs, GPU KV cache usage: 96.6%, Prefix cache hit rate: 2.2%"
)


def sg(second: int, text: str, ranks: str = "") -> str:
    minutes, seconds = divmod(second, 60)
    return f"[2026-11-30 03:{minutes:02}:{seconds:02}{ranks and ' ' + ranks}] {text}"


def vl(second: int, text: str, process: str = "(APIServer pid=7) ") -> str:
    minutes, seconds = divmod(second, 60)
    return f"{process}INFO 11-30 03:{minutes:02}:{seconds:02} [loggers.py:335] {text}"


def parse(*lines: str, log: ServerLog | None = None) -> list[Event]:
    log = log or ServerLog(UTC)
    events = [stamped.event for line in lines for stamped in log.parse(line, SEEN)]
    return [event for event in events if not (isinstance(event, EngineSeen) and not event.started)]


def loads(*lines: str, log: ServerLog | None = None) -> list[ServerLoad]:
    return [event for event in parse(*lines, log=log) if isinstance(event, ServerLoad)]
