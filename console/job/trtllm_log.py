"""TensorRT-LLM's server log (``trtllm-serve``): its iteration lines become reports like those of the other engines.

With ``print_iter_log: true`` each step prints ``iter = 12, global_rank = 0, rank = 0, num_scheduled_requests = 48,
kv_cache_util = 0.412, ..., states = {'num_ctx_requests': 0, 'num_ctx_tokens': 0, 'num_generation_tokens': 48}``, in
older versions ``num_scheduled_requests: 48`` and no ``kv_cache_util``. That is many lines a second: they are summed
up over five seconds. ``num_generation_tokens`` counts drafts of speculative decoding too, so throughput is then too
high. A log says nothing of the queue: ``currank_total_requests`` counts requests since the start.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.job.figures import after, whole
from console.job.formats import first
from console.job.server_events import EngineSeen, ServerCapacity, ServerLoad, ServerPhase, ServerStopping, ServerTrouble
from console.job.trtllm_formats import FORMATS

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.events import Event

HEAD = re.compile(
    r"^(?:\[TRT-LLM(?: AUTO-DEPLOY)?\] ?(?:\[(?:MPI_Rank|RANK) [0-9]{1,6}\] )?\[[A-Z]{1,9}\] ?(?:\[[\w /-]{1,40}\])*"
    r"|\[TensorRT-LLM\]\[[A-Z]{1,9}\]|(?=\[TensorRT-LLM\] )) ?(?P<module>(?:\[[\w ]{1,24}\])*) ?"
)
"""What stands before a message: program, level, and in newer versions module and rank."""
_RANK = re.compile(r"\brank = ([0-9]{1,6})\b")
_SCHEDULED = re.compile(r"\bnum_scheduled_requests(?: =|:) ([0-9]{1,9})")
_GENERATED = re.compile(r"'num_generation_tokens': (?:tensor\()?([0-9]{1,9})")
_EVERY_S = 5.0
"""Seconds between reports."""
_IDLE_S = 15.0
"""A step that comes this long after the one before spans idle time."""


class TrtllmLog:
    """Reads what TensorRT-LLM's processes write."""

    def __init__(self) -> None:
        self._rank = ""
        self._since: datetime | None = None
        self._last: datetime | None = None
        self._tokens = 0
        self._serving = True
        self._pool = 0

    def read(self, text: str, at: datetime) -> tuple[Event, ...] | None:
        """The events of a line without its stamp; None for one that no shape knows.

        Args:
            text: With or without ``[TRT-LLM] [I]``.
            at: When it was written.
        """
        head = HEAD.match(text)
        text = text[head.end() :] if head else text
        if text.startswith("iter = "):
            return self._step(text, at)
        known = first(FORMATS, text)
        if known is None:
            return () if head else None
        return tuple(kept for event in known[1] if (kept := self._kept(event)) is not None)

    def _kept(self, event: Event) -> Event | None:
        """The event as it is to be told, None when it was told already."""
        match event:
            case EngineSeen(started=True):
                if not self._serving:
                    return None  # each process of one server prints its version
                self._serving, self._since, self._last, self._pool = False, None, None, 0
            case ServerPhase(phase="ready") | ServerTrouble(fatal=True) | ServerStopping():
                self._serving = True
            case ServerCapacity(max_total_tokens=0):
                return ServerCapacity(self._pool, event.max_running, event.context_length) if self._pool else None
            case ServerCapacity():
                self._pool = event.max_total_tokens
            case _:
                pass
        return event

    def _step(self, text: str, at: datetime) -> tuple[Event, ...] | None:
        """One step of the scheduler; others than the first rank that prints do the same work."""
        rank, scheduled, generated = _RANK.search(text), _SCHEDULED.search(text), _GENERATED.search(text)
        if rank is None or scheduled is None:
            return None
        self._rank = self._rank or rank[1]
        if rank[1] != self._rank:
            return ()
        running, tokens = int(scheduled[1]), whole(generated[1] if generated else None)
        if self._since is None or self._last is None or (at - self._last).total_seconds() > _IDLE_S:
            self._since, self._last, self._tokens = at, at, 0  # its tokens were made before the interval begins
            return (self._load(text, running, None),)
        self._last = at
        self._tokens += tokens or 0
        passed = (at - self._since).total_seconds()
        if passed < _EVERY_S:
            return ()
        load = self._load(text, running, None if tokens is None else round(self._tokens / passed, 2))
        self._since, self._tokens = at, 0
        return (load,)

    @staticmethod
    def _load(text: str, running: int, throughput: float | None) -> ServerLoad:
        usage = after(text, "kv_cache_util = ")
        usage = None if usage is None else min(1.0, max(0.0, usage))
        return ServerLoad("", running, None, usage, None, throughput)
