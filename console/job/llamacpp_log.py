"""llama.cpp's server log: what its slots do becomes reports like those of the other engines.

A line is ``0.34.354.498 I slot print_timing: id  2 | task 22 | ...``: minutes, seconds, milliseconds and microseconds
since the start, the level, the part, the function. Builds before 2026 print neither time nor level by default, and the
figures of ``print_timing`` on lines of their own; then a line's time is when it was seen.

The log never states throughput. It is reckoned every ten seconds: tokens counted since the last report over the time
since then. A count that spans more than that (a long request in a build that counts only at its end) would come as a
lump; then the sum of the busy slots' own rates is taken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from console.job.elapsed_clock import ElapsedClock
from console.job.figures import count, real
from console.job.formats import first
from console.job.llamacpp_formats import FORMATS
from console.job.server_events import EngineSeen, ServerLoad, ServerStopping

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.job.events import Event

_HEAD = re.compile(
    r"^(?:\[[0-9]{1,6}\] )?(?:(?P<minutes>[0-9]{1,7})\.(?P<seconds>[0-5][0-9])\.(?P<ms>[0-9]{3})\.(?P<us>[0-9]{3}) )?"
    r"(?:(?P<level>[IWED]) (?=\S))?(?=srv |slot |que |cmn |main: |build: )"
)
"""Time and level of a line; a router puts the port of the child before it. One of the known parts must follow."""
_STAMPED = re.compile(r"^(?:\[[0-9]{1,6}\] )?([0-9]{1,7})\.([0-5][0-9])\.([0-9]{3})\.([0-9]{3}) [IWED] ")
_SLOT = re.compile(r"^slot +(?P<did>\w+): +id +(?P<slot>[0-9]{1,6}) \| task +(?P<task>-?[0-9]{1,12}) \|(?P<rest>.*)")
_ENDED = re.compile(r"(?:^|\s)eval time = +(?P<ms>[0-9.]{1,18}) ms / +(?P<tokens>[0-9]{1,12}) (?:tokens|runs)")
_GOES_ON = re.compile(
    r"\b(?:n_gen|n_decoded) = +(?P<tokens>[0-9]{1,12}), tg = +(?P<rate>[0-9.]{1,18}) t/s"
    r"(?:, tg_3s = +(?P<now>[0-9.]{1,18}))?"
)
_TIMING = ("prompt eval time", "total time", "graphs reused", "prompt processing", "draft acceptance", "speculative")
_START = datetime(2000, 1, 1, tzinfo=UTC)
_DIGITS = frozenset("[0123456789")
"""How a line begins that is stamped with the time since the start; few others do."""
_EVERY_S = 10.0
"""Seconds between reports, as vLLM's."""
_SETTLED_S = 0.5
"""Seconds after which requests that came together have all been launched."""


class Head(NamedTuple):
    """A line's beginning.

    Attributes:
        elapsed_s: Time since the start, seconds; None when the line has none.
        text: What stands behind it.
    """

    elapsed_s: float | None
    text: str

    @property
    def since_start(self) -> datetime | None:
        """Its time on a clock that shows ``_START`` as the process begins: distances are true, also in a backlog."""
        return None if self.elapsed_s is None else _START + timedelta(seconds=self.elapsed_s)


def head_of(line: str) -> Head | None:
    """The head of a line that bears llama.cpp's marks; None for any other."""
    found = _HEAD.match(line) or _STAMPED.match(line)
    if found is None:
        return None
    figures = found.groups()[:4]
    return Head(None if figures[0] is None else _seconds(figures), line[found.end() :])


def elapsed_of(line: str) -> float | None:
    """The time since the start that a line is stamped with, seconds."""
    found = _STAMPED.match(line)
    return _seconds(found.groups()) if found else None


def _seconds(figures: tuple[str | None, ...]) -> float:
    minutes, seconds, ms, us = (count(figure) for figure in figures)
    return minutes * 60 + seconds + ms / 1e3 + us / 1e6


@dataclass(slots=True)
class _Slot:
    """One slot at work: tokens of its task that were counted, when, and its rate, tok/s."""

    counted: int = 0
    counted_at: datetime | None = None
    rate: float | None = None
    busy: bool = False


class LlamacppLog:
    """Reads what llama.cpp's server writes."""

    def __init__(self) -> None:
        self._clock = ElapsedClock()
        self._slots: dict[int, _Slot] = {}
        self._last = -1
        self._since: datetime | None = None
        self._idle_at: datetime | None = None
        self._peak = self._shown = 0
        self._shown_at = _START
        self._tokens = 0
        self._lump = False
        self._counts = False

    def look_ahead(self, lines: Sequence[str], seen_at: datetime) -> None:
        """Learn from lines that are about to be read when their processes began.

        Args:
            lines: In their order.
            seen_at: When they came, on the host's clock.
        """
        if self.counts_from_start(lines):
            self._clock.look_ahead([s for line in lines if (s := elapsed_of(line)) is not None], seen_at)

    def counts_from_start(self, lines: Sequence[str]) -> bool:
        """Whether lines are stamped with the time since the start, as far as was seen."""
        self._counts = self._counts or any(line[:1] in _DIGITS and _STAMPED.match(line) for line in lines)
        return self._counts

    def time(self, head: Head, seen_at: datetime) -> datetime | None:
        """When a line was written, by its own head; None when that has no time."""
        return None if head.elapsed_s is None else self._clock.at(head.elapsed_s, seen_at)

    def _forget(self) -> None:
        """A new server: nothing of the former one counts."""
        self._slots.clear()
        self._last, self._since, self._idle_at, self._tokens, self._lump = -1, None, None, 0, False
        self._peak = self._shown = 0

    def read(self, text: str, at: datetime) -> tuple[Event, ...] | None:
        """The events of a line without its head; None for one that no shape knows.

        Args:
            text: From the part (``srv``, ``slot``) on.
            at: When it was written, on any clock that does not jump.
        """
        if self._since is not None and (self._since - at).total_seconds() > 1.0:
            self._forget()  # it counts from its start again
        if found := _SLOT.match(text):
            return self._slot(found, at)
        if self._last in self._slots and (ended := _ENDED.search(text)) and "prompt" not in text:
            return self._ended(self._slots[self._last], ended, at)  # older builds: on a line of its own
        if "all slots are idle" in text:
            return self._idle(at)
        known = first(FORMATS, text)
        if known is None:
            return None
        if any(isinstance(event, EngineSeen | ServerStopping) for event in known[1]):
            self._forget()
        return known[1]

    def _slot(self, found: re.Match[str], at: datetime) -> tuple[Event, ...] | None:
        number, rest = int(found["slot"]), found["rest"]
        slot = self._slots.setdefault(number, _Slot())
        match found["did"]:
            case "launch_slot_" if "processing task" in rest:
                return self._launched(slot, at)
            case "release" if "stop processing" in rest:
                slot.busy = False
                return self._report(at)
            case "print_timing":
                self._last = number
                return self._timing(slot, rest, at)
        return ()

    def _timing(self, slot: _Slot, rest: str, at: datetime) -> tuple[Event, ...] | None:
        if going := _GOES_ON.search(rest):
            self._count(slot, count(going["tokens"]), at)
            slot.rate = real(going["now"] or going["rate"])
            return self._report(at)
        if not rest.strip() or any(word in rest for word in _TIMING):
            return ()
        ended = _ENDED.search(rest)
        return self._ended(slot, ended, at) if ended else None

    def _ended(self, slot: _Slot, ended: re.Match[str], at: datetime) -> tuple[Event, ...]:
        ms, tokens = real(ended["ms"]), count(ended["tokens"])
        slot.rate = tokens / (ms / 1e3) if ms else slot.rate
        self._count(slot, tokens, at)
        return self._report(at)

    def _count(self, slot: _Slot, tokens: int, at: datetime) -> None:
        self._tokens += max(0, tokens - slot.counted)
        if slot.counted_at is not None and (at - slot.counted_at).total_seconds() > _EVERY_S:
            self._lump = True
        slot.counted, slot.counted_at = tokens, at

    def _launched(self, slot: _Slot, at: datetime) -> tuple[Event, ...]:
        was_idle = not self._running()
        slot.busy, slot.counted, slot.counted_at = True, 0, at
        self._peak = max(self._peak, self._running())
        if not was_idle:
            return self._report(at)
        self._shown, self._shown_at = 1, at
        if self._idle_at is None or (at - self._idle_at).total_seconds() > _EVERY_S:
            self._begin(at)  # an interval that spans idle time would show too little
        return (_load(1),)

    def _idle(self, at: datetime) -> tuple[Event, ...]:
        if not self._running():
            return ()
        for slot in self._slots.values():
            slot.busy = False
        return self._report(at)

    def _report(self, at: datetime) -> tuple[Event, ...]:
        """What is due: a report every ten seconds, and a word that the last slot fell idle."""
        running = self._running()
        passed = (at - self._since).total_seconds() if self._since is not None else 0.0
        events: list[Event] = []
        if passed >= _EVERY_S:
            events.append(_load(running or self._peak, self._throughput(passed)))
            self._begin(at)
            self._shown = running or self._peak or 1
        if not running and self._shown:
            self._idle_at, self._shown = at, 0
            events.append(_load(0))
        elif running > self._shown and (at - self._shown_at).total_seconds() >= _SETTLED_S:
            self._shown, self._shown_at = running, at
            events.append(_load(running))  # requests that came together are launched one by one
        return tuple(events)

    def _begin(self, at: datetime) -> None:
        """An interval begins."""
        self._since, self._peak, self._tokens, self._lump = at, self._running(), 0, False

    def _running(self) -> int:
        return sum(slot.busy for slot in self._slots.values())

    def _throughput(self, passed: float) -> float | None:
        """Tokens a second in the interval; None when none was counted."""
        if self._lump:
            rates = [slot.rate for slot in self._slots.values() if slot.busy and slot.rate is not None]
            return round(sum(rates), 2) if rates else None
        return round(self._tokens / passed, 2) if self._tokens else None


def _load(running: int, throughput: float | None = None) -> ServerLoad:
    return ServerLoad("", running, None, None, None, throughput)
