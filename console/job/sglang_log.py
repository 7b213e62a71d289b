"""SGLang's server log, 0.3 to 0.5: batch lines are ``key: value`` pairs, each read by itself, for versions differ.

Each DP rank has its own scheduler and prints for itself; TP, EP and CP ranks compute the same batch; each PP stage
prints its own line about the same requests, of which the first stage's counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.job.cadence import Cadence
from console.job.events import Stamped
from console.job.figures import after, real, whole_after
from console.job.formats import first
from console.job.server_events import EngineSeen, Retraction, ServerLoad, ServerPrefill
from console.job.sglang_formats import FORMATS, RETRACTION
from console.job.sglang_quick import DECODE, LONGEST_HEAD, PREFILL, SHORTEST_HEAD

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.events import Event
    from console.job.stamps import Stamp, StampReader

_POOLS = re.compile(r"(?:full token|swa token|gpu token|mamba) usage: (-?[0-9.]{1,12})")
_REAL = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"
_WHOLE = r"([0-9]{1,15})"
_USUAL_DECODE = re.compile(
    rf"#running-req: {_WHOLE}, #token: {_WHOLE}, token usage: {_REAL}, [^#]*?"
    rf"gen throughput \(token/s\): {_REAL}, #queue-req: {_WHOLE}(?![0-9.])"
)
_USUAL_PREFILL = re.compile(
    rf"#new-seq: {_WHOLE}, #new-token: {_WHOLE}, #cached-token: {_WHOLE}, token usage: {_REAL}, "
    rf"#running-req: {_WHOLE}, #queue-req: {_WHOLE}(?![0-9.])"
)
"""Shortcuts for the commonest order of the pairs, twice as fast; whatever they miss is read pair by pair."""
_DP = re.compile(r"\bDP[0-9]+")
_TP = re.compile(r"\bTP[0-9]+")
_LATER_STAGE = re.compile(r"\bPP0*[1-9]")
_new = tuple.__new__
"""Makes a named tuple of all its fields in half the time that its name takes."""
_TWICE_S = 2.0
"""TP ranks print the same retraction within this many seconds of one another."""


def _usage(text: str) -> float | None:
    """Share of the KV pool in use, 0 to 1; of several pools (sliding window, state space, host) the fullest."""
    value = after(text, ", token usage: ")
    if value is None:
        pools = [usage for found in _POOLS.findall(text) if (usage := real(found)) is not None]
        value = max(pools, default=None)
    return None if value is None else min(1.0, max(0.0, value))


def read_decode(text: str, rank: str = "", *, suspect: bool = False) -> ServerLoad | None:
    """A ``Decode batch`` line; None when it does not even say how many requests run."""
    if usual := _USUAL_DECODE.search(text):
        now, held, usage, made, queue = usual.groups()
        share, accept = min(1.0, float(usage)), _accept(text)
        return ServerLoad(rank, int(now), int(queue), share, int(held), float(made), suspect, 0, 0.0, accept)
    running = whole_after(text, "#running-req: ")
    if running is None:
        return None
    tokens = whole_after(text, "#token: ")
    if tokens is None:
        tokens = whole_after(text, "#full token: ")
    if tokens is None:
        tokens = whole_after(text, "#gpu token: ")
    throughput = after(text, "gen throughput (token/s): ")
    queue = whole_after(text, "#queue-req: ")
    return ServerLoad(rank, running, queue, _usage(text), tokens, throughput, suspect, 0, 0.0, _accept(text))


def _accept(text: str) -> float | None:
    """Tokens per verify step, where the server decodes speculatively."""
    return after(text, "accept len: ") if "accept len: " in text else None


def read_prefill(text: str, rank: str = "") -> ServerPrefill | None:
    """A ``Prefill batch`` line; None when it does not say what is prefilled."""
    if usual := _USUAL_PREFILL.search(text):
        new, fresh, known, usage, now, waiting = usual.groups()
        return ServerPrefill(rank, int(new), int(fresh), int(known), int(now), int(waiting), min(1.0, float(usage)))
    new_requests, new_tokens = whole_after(text, "#new-seq: "), whole_after(text, "#new-token: ")
    if new_requests is None or new_tokens is None:
        return None
    cached = whole_after(text, "#cached-token: ") or 0
    running, queue = whole_after(text, "#running-req: "), whole_after(text, "#queue-req: ")
    return ServerPrefill(rank, new_requests, new_tokens, cached, running, queue, _usage(text))


class SglangLog:
    """Reads what SGLang's processes write; keeps the little that needs more than one line."""

    def __init__(self) -> None:
        self._cadence = Cadence()
        self._retracted: dict[str, tuple[datetime, str]] = {}

    def read(self, stamp: Stamp, at: datetime) -> tuple[Event, ...] | None:
        """The events of a stamped line.

        Args:
            stamp: The line, its stamp read.
            at: Its time.

        Returns:
            None for a line that no shape knows.
        """
        text = stamp.rest
        if text.startswith("Decode batch"):
            return self._decode(stamp, at)
        if text.startswith("Prefill batch"):
            return self._prefill(stamp)
        if RETRACTION.needle in text and (events := RETRACTION.read(text)) is not None:
            return self._retraction(stamp, at, events)
        found = first(FORMATS, text)
        if found is None:
            return None
        if any(isinstance(event, EngineSeen) and event.started for event in found[1]):
            self._cadence.reset()
            self._retracted.clear()
        return found[1]

    def quick(self, line: str, seen_at: datetime, stamps: StampReader) -> Stamped | None:
        """A batch line of the commonest form, read at a fraction of the time; None for any other line.

        Args:
            line: The whole line.
            seen_at: When it was first seen.
            stamps: Reads its stamp.
        """
        word = line.find(" batch", SHORTEST_HEAD, LONGEST_HEAD)
        if word < 0:
            return None
        decode = line[word - 1] == "e"
        found = (DECODE if decode else PREFILL).match(line)
        if found is None:
            return None
        if decode:
            text, ranks, now, held, usage, made, queue = found.groups()
            if (at := stamps.plain(text, seen_at)) is None:
                return None
            rank, share = _rank(ranks) if ranks else "", float(usage)
            suspect = self._cadence.suspect(rank, at)
            told = (rank, int(now), int(queue), min(1.0, share), int(held), float(made), suspect, 0, 0.0)
            load = (*told, _accept(line), None)
            return _new(Stamped, (at, _new(ServerLoad, load), False))
        text, ranks, new, fresh, known, usage, now, queue = found.groups()
        if (at := stamps.plain(text, seen_at)) is None:
            return None
        rank, running, share = _rank(ranks) if ranks else "", int(now), float(usage)
        self._computes(rank, running)
        work = (rank, int(new), int(fresh), int(known), running, int(queue), min(1.0, share))
        return _new(Stamped, (at, _new(ServerPrefill, work), False))

    def _decode(self, stamp: Stamp, at: datetime) -> tuple[Event, ...] | None:
        if stamp.ranks and _LATER_STAGE.search(stamp.ranks):
            return ()
        rank = _rank(stamp.ranks)
        load = read_decode(stamp.rest, rank, suspect=self._cadence.suspect(rank, at))
        return None if load is None else (load,)

    def _computes(self, rank: str, running: int | None) -> None:
        """A rank computes prompts, beside so many requests that it decodes."""
        if running:
            self._cadence.busy(rank)
        elif running == 0:
            self._cadence.idle(rank)

    def _prefill(self, stamp: Stamp) -> tuple[Event, ...] | None:
        if stamp.ranks and _LATER_STAGE.search(stamp.ranks):
            return ()
        prefill = read_prefill(stamp.rest, _rank(stamp.ranks))
        if prefill is None:
            return None
        self._computes(prefill.rank, prefill.running)
        return (prefill,)

    def _retraction(self, stamp: Stamp, at: datetime, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """A retraction, once per DP rank and second: every TP rank prints it, perhaps across a second's edge."""
        rank = _rank(stamp.ranks)
        found = _TP.search(stamp.ranks)
        printer = found[0] if found else ""
        last, counted = self._retracted.get(rank, (None, printer))
        if last is not None:
            apart = abs((at - last).total_seconds())
            if apart < 1.0 or (printer != counted and apart <= _TWICE_S):
                return ()
        self._retracted[rank] = (at, printer)
        return tuple(Retraction(rank, event.count) for event in events if isinstance(event, Retraction))


def _rank(ranks: str) -> str:
    """The scheduler's name: ``DP1``, or empty where there is one."""
    found = _DP.search(ranks) if ranks else None
    return found[0] if found else ""
