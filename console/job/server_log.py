"""The inference server's log, whichever engine writes it: its reader gets the stamped lines, the rest is read here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.job.access import is_access
from console.job.events import Stamped, Unparsed
from console.job.figures import whole
from console.job.formats import Format, first
from console.job.llamacpp_log import Head, LlamacppLog, head_of
from console.job.server_events import EngineSeen, ServerPhase
from console.job.sglang_formats import UNSTAMPED
from console.job.sglang_log import SglangLog
from console.job.stamps import Shape, Stamp, StampReader, records
from console.job.tracebacks import Tracebacks
from console.job.trtllm_log import TrtllmLog
from console.job.vllm_log import VllmLog
from console.job.wrappers import who_writes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta, tzinfo

    from console.job.events import Event

_BAR = re.compile(
    r"(?P<what>[Ll]oad|[Cc]aptur)[^|%]{0,120}?[0-9]{1,3}%[^|]{0,20}\|(?:[^|]{0,200}\|)?"
    r" *(?P<done>[0-9]{1,6})/(?P<total>[0-9]{1,6}) "
)
_PROCESS = re.compile(r"^\((?:[^()]{0,60} )?pid=[0-9]+(?:, ip=[^()]{1,60})?\) ?")
_UVICORN = re.compile(r"^(?:INFO|WARNING|ERROR): {2,}")
_BARE = re.compile(
    r"\s|$|-|[\w./<>-]+:[0-9]+: \w*Warning|Traceback|Process |nanobind|See http|During handling|The above exception"
    r"|(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt)\b|Thread |Current thread|Exception |\[rank"
    r"|Pyspy |Available tokens|Avaliable tokens|Try to allocate|Possible solutions|[0-9]+\. |NCCL|warnings\.warn"
    r"|\S+:[0-9]+:[0-9]+ \["
)
"""How lines without a stamp begin that both engines' processes are known to write: tracebacks, warnings, dumps."""
_QUIET_BARS = ("it/s]", "s/it]", "?it/s", "% Completed |", "%|")


def _bar(found: re.Match[str]) -> tuple[Event, ...] | None:
    done, total = whole(found["done"]), whole(found["total"])
    if not total or done is None:
        return None
    phase = "weights" if found["what"].lower() == "load" else "graphs"
    return (ServerPhase(phase, min(1.0, done / total)),)


BARS = (
    Format(
        "start bar",
        "%",
        _BAR,
        _bar,
        (
            "Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:03<00:09,  3.02s/it]",
            "Multi-thread loading shards: 100% Completed | 1/1 [00:00<00:00, 1068.61it/s]",
            "Capturing batches (bs=8 avail_mem=9.10 GB):  45%|####5     | 10/22 [00:08<00:09,  1.25it/s]",
            "Capturing CUDA graphs (decode, FULL):  64%|██████▍   | 22/35 [00:02<00:01, 10.1it/s]",
        ),
    ),
)


ENGINES = ("sglang", "vllm", "llamacpp", "trtllm")
"""Engines whose logs are understood."""
_GLOG = Shape.GLOG
_LEVEL = Shape.LEVEL
_COLLECTED = frozenset({Shape.NONE, Shape.ISO, Shape.SYSLOG})
"""Lines whose program has put no stamp of its own before them: at most a collector's."""
_TRTLLM = ("[TRT-LLM", "[TensorRT-LLM]")


class ServerLog:
    """Reads a server's log line by line.

    Args:
        zone: The zone of its stamps.
        engine: One of ``ENGINES``, or ``auto`` to tell by the lines themselves.
    """

    def __init__(self, zone: tzinfo, engine: str = "auto") -> None:
        self._stamps = StampReader(zone)
        self._sglang = SglangLog()
        self._vllm = VllmLog()
        self._llamacpp = LlamacppLog()
        self._trtllm = TrtllmLog()
        self._engine = engine if engine in ENGINES else ""
        self._told = ""
        self._bodies = Tracebacks()

    def look_ahead(self, lines: Sequence[str], seen_at: datetime) -> None:
        """Learn from lines that are about to be read in one go what their stamps leave out: days, a start.

        Args:
            lines: In their order.
            seen_at: When they came.
        """
        self._stamps.look_ahead(lines, seen_at)
        if self._engine in {"", "llamacpp"}:
            self._llamacpp.look_ahead(lines, self._stamps.on_host(seen_at))

    @property
    def set_back(self) -> tuple[datetime, float] | None:
        """When the log's clock was last seen to be set back, and by how many seconds."""
        return self._stamps.set_back

    def needs_rest(self, lines: Sequence[str], seen_at: datetime) -> bool:
        """Whether the times of lines depend on those that follow; see ``StampReader.needs_rest``."""
        counted = self._engine in {"", "llamacpp"} and self._llamacpp.counts_from_start(lines)
        return self._stamps.needs_rest(lines, seen_at) or counted

    def host_is_ahead(self, by: timedelta) -> None:
        """The host's clock was measured to be ahead of ours."""
        self._stamps.host_is_ahead(by)

    def parse(self, line: str, seen_at: datetime) -> list[Stamped]:
        """What one cleaned line says; empty for known lines that say nothing, ``Unparsed`` for those that nobody knows.

        Args:
            line: Without its end; may hold several records where output was glued together.
            seen_at: When it was first seen; stands in for a stamp that is missing.
        """
        if self._told == "sglang" and (report := self._sglang.quick(line, seen_at, self._stamps)):
            if self._bodies.open:
                self._bodies.passed("", "")
            return [report]
        if is_access(line):
            return []
        if line.count("[2") < 2:  # noqa: PLR2004  one stamp, one record
            return self._record(line, seen_at)
        return [stamped for record in records(line) for stamped in self._record(record, seen_at)]

    def _record(self, line: str, seen_at: datetime) -> list[Stamped]:
        stamp = self._stamps.read(line, seen_at)
        at, shape = stamp.at, stamp.shape
        if (
            self._engine in {"", "llamacpp"}
            and shape in _COLLECTED
            and (told := self._slots(stamp, seen_at)) is not None
        ):
            return told
        if at is None:
            at = self._stamps.guess(seen_at, stamp.before)
            return [Stamped(at, event, guessed=True) for event in self._bare(stamp, at)]
        events = self._bare(stamp, at) if shape is _GLOG else self._stamped(stamp, at)
        if stamp.before and "%" in stamp.before and (bar := first(BARS, stamp.before)):
            events = (*bar[1], *events)  # output glued together: the bar, then the record behind it
        return [Stamped(at, event) for event in events]

    def _slots(self, stamp: Stamp, seen_at: datetime) -> list[Stamped] | None:
        """A line of llama.cpp; None for any other."""
        head = head_of(stamp.rest) or (Head(None, stamp.rest) if self._engine else None)
        if head is None:
            return None
        at = stamp.at or self._llamacpp.time(head, self._stamps.on_host(seen_at)) or self._stamps.guess(seen_at)
        events = self._llamacpp.read(head.text, head.since_start or at)
        if events is None:
            return [] if head.elapsed_s is not None and "print_timing" not in head.text else None
        if events and self._told != "llamacpp":
            events = self._introduced("llamacpp", events)
        return [Stamped(at, event, guessed=stamp.at is None) for event in events]

    def _stamped(self, stamp: Stamp, at: datetime) -> tuple[Event, ...]:
        engine = self._writer(stamp)
        events = self._read(engine, stamp, at)
        if events is None and stamp.shape in _COLLECTED:
            return self._bare(stamp, at)  # the stamp is a collector's, and the program's line has none
        self._bodies.passed(who_writes(stamp.before) if stamp.before else "", stamp.rest)
        if events is None:
            libraries = engine == "trtllm" and stamp.shape is not Shape.SLASH
            return () if libraries else (Unparsed(stamp.rest),)
        return events if engine == self._told or not events else self._introduced(engine, events)

    def _writer(self, stamp: Stamp) -> str:
        """The engine that stamps its lines so."""
        if stamp.shape is _LEVEL:
            return "vllm"
        if stamp.shape is Shape.SLASH or self._engine == "trtllm":
            return "trtllm"
        return "sglang"

    def _read(self, engine: str, stamp: Stamp, at: datetime) -> tuple[Event, ...] | None:
        if engine == "trtllm":
            return self._trtllm.read(stamp.rest, at)
        return self._vllm.read(stamp, at) if engine == "vllm" else self._sglang.read(stamp, at)

    def _introduced(self, engine: str, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """The events, led by the engine's name where nothing has told it yet."""
        self._engine = self._told = engine
        return events if any(isinstance(event, EngineSeen) for event in events) else (EngineSeen(engine), *events)

    def _bare(self, stamp: Stamp, at: datetime) -> tuple[Event, ...]:
        """A line without a stamp: a bar, uvicorn's, a cry of the engine or a library, or the body of a traceback."""
        glog = stamp.shape is _GLOG
        text = _PROCESS.sub("", stamp.before + stamp.rest if glog else stamp.rest)
        if text.startswith(_TRTLLM):
            events = self._trtllm.read(text, at)
            return self._introduced("trtllm", events) if events and self._told != "trtllm" else events or ()
        events = self._cry(text, at)
        if events:
            return events
        body = self._bodies.holds(who_writes(stamp.before) if stamp.before else "", text)
        known = events is not None or glog or body or _BARE.match(text)
        return () if known or any(mark in text for mark in _QUIET_BARS) else (Unparsed(text),)

    def _cry(self, text: str, at: datetime) -> tuple[Event, ...] | None:
        """What a line without a stamp says all the same; None for one that no shape knows."""
        bar = first(BARS, text) if "%" in text else None
        if bar:
            return bar[1]
        if self._engine == "sglang":
            found = first(UNSTAMPED, text)
            return found[1] if found else None
        return self._trtllm.read(text, at) if self._engine == "trtllm" else self._vllm.read(Stamp(None, text), at)
