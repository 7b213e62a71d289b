"""How regularly each scheduler reports, and hence which throughput figures can't be taken at their word.

SGLang prints tokens made since its last ``Decode batch`` line over the wall time since then; vLLM averages over its log
interval, and prints nothing while idle. In both, the first figure after idle time spans that time and is falsely low.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

_LONG = 3.0
"""A gap this many times the usual one holds idle time. Steps that slow down reach it once; then the usual gap grows."""
_SHORTEST_S = 3.0
"""Gaps up to this are never called long: stamps are whole seconds, and small batches report several times a second."""


class Cadence:
    """The usual time between the reports of each rank, in seconds."""

    def __init__(self) -> None:
        self._last: dict[str, datetime] = {}
        self._usual: dict[str, float] = {}
        self._idle: set[str] = set()
        self._busy: set[str] = set()

    def reset(self) -> None:
        """A new server: nothing is known of its reports."""
        self._last.clear()
        self._usual.clear()
        self._idle.clear()
        self._busy.clear()

    def idle(self, rank: str) -> None:
        """The rank was seen with nothing to decode, so its next report spans idle time."""
        self._idle.add(rank)

    def busy(self, rank: str) -> None:
        """The rank was seen to compute prompts beside what it decodes: its next report is late for that.

        After idle time the first prompts find nothing to decode.
        """
        self._busy.add(rank)

    def suspect(self, rank: str, at: datetime) -> bool:
        """Whether the throughput reported at ``at`` is falsely low: the rank's first, or one that spans idle time."""
        last = self._last.get(rank)
        self._last[rank] = at
        idle, busy = rank in self._idle, rank in self._busy
        self._idle.discard(rank)
        self._busy.discard(rank)
        if last is None:
            return True
        gap = max(0.0, (at - last).total_seconds())
        usual = self._usual.get(rank)
        self._usual[rank] = gap if usual is None else (usual + gap) / 2
        return idle or (not busy and usual is not None and gap > max(_LONG * usual, _SHORTEST_S))
