"""vLLM's server log, V0 and V1: the periodic stats line of each engine, and what can be told of its life."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.job.cadence import Cadence
from console.job.figures import after
from console.job.formats import first
from console.job.server_events import EngineSeen, Retraction, ServerLoad, ServerStopping, ServerTrouble
from console.job.vllm_formats import FORMATS, PREEMPTION

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.events import Event
    from console.job.stamps import Stamp

_ENGINE = re.compile(r"\bEngine ([0-9]{1,6}): ")
_COUNT = re.compile(r"[0-9]{1,9}")
_SOURCE = re.compile(r"^\[?(?P<file>[\w./-]+):[0-9]+\] ?")
_STATS_FILES = frozenset({"loggers.py", "metrics.py"})
"""Where stats lines come from; an unknown line of theirs is a changed format, one of another file is chatter."""


def read_stats(text: str, rank: str = "", *, suspect: bool = False) -> ServerLoad | None:
    """A stats line; None when it does not even say how many requests run."""
    running = _requests(text, "Running: ", "RUNNING: ")
    if running is None:
        return None
    usage = after(text, " KV cache usage: ", "%")  # the first is the device's; V0 says the host's behind it
    hits = after(text, "Prefix cache hit rate: ", "%")
    return ServerLoad(
        rank,
        running,
        _requests(text, "Waiting: ", "Pending: ", "WAITING: "),
        None if usage is None else min(1.0, max(0.0, round(usage / 100, 6))),
        None,
        after(text, "Avg generation throughput: ", " "),
        suspect,
        _requests(text, "Preemptions: ") or 0,
        after(text, "Avg prompt throughput: ", " ") or 0.0,
        cache_hit_rate=None if hits is None else min(1.0, max(0.0, round(hits / 100, 6))),
    )


def _requests(text: str, *keys: str) -> int | None:
    """The count behind the first of these keys that is there, whatever unit or mark follows it."""
    for key in keys:
        _, found, rest = text.partition(key)
        if found and (number := _COUNT.match(rest)):
            return int(number[0])
    return None


class VllmLog:
    """Reads what vLLM's processes write; keeps the little that needs more than one line."""

    def __init__(self) -> None:
        self._cadence = Cadence()
        self._per_engine = False
        self._preempted = 0
        self._stopping = False

    def _forget(self) -> None:
        """A new server: nothing of the former one counts."""
        self._cadence.reset()
        self._per_engine = self._stopping = False
        self._preempted = 0

    def read(self, stamp: Stamp, at: datetime) -> tuple[Event, ...] | None:
        """The events of a line with a level and a stamp, or of a bare uvicorn line.

        Args:
            stamp: The line, its stamp read.
            at: Its time.

        Returns:
            None for a line that no shape knows.
        """
        found = _SOURCE.match(stamp.rest)
        text = stamp.rest[found.end() :] if found else stamp.rest
        if "Avg prompt throughput: " in text or text.startswith("RUNNING: "):
            return self._stats(text, at)
        if PREEMPTION.needle in text and (events := PREEMPTION.read(text)) is not None:
            return self._preemptions(events)
        known = first(FORMATS, text)
        if known is not None:
            return self._kept(known[1])
        return () if found and found["file"].rpartition("/")[2] not in _STATS_FILES else None

    def _stats(self, text: str, at: datetime) -> tuple[Event, ...] | None:
        engine = _ENGINE.search(text)
        if engine is None and "Engines Aggregated" in text and self._per_engine:
            return ()  # the sum of lines that were counted one by one
        rank = engine[1] if engine else ""
        self._per_engine = self._per_engine or engine is not None
        load = read_stats(text, rank, suspect=self._cadence.suspect(rank, at))
        return None if load is None else (load,)

    def _preemptions(self, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """V0 prints its total now and then; what is new since the last time is told."""
        total = next((event.count for event in events if isinstance(event, Retraction)), 0)
        new, self._preempted = total - self._preempted, total
        return (Retraction("", new if new > 0 else total),)

    def _kept(self, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """The events, less the engine's death throes when it was told to stop."""
        if any(isinstance(event, EngineSeen) and event.started for event in events):
            self._forget()
        if any(isinstance(event, ServerStopping) for event in events):
            self._stopping = True
        if self._stopping:
            return tuple(e for e in events if not (isinstance(e, ServerTrouble) and e.kind == "engine_dead"))
        return events
