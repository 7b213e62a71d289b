"""The server's work over the whole run, half a minute a bin: what its speed is learned from and judged by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.job.minutes_bin import STEP_S, Bin, Totals, steps_of, totals_of
from console.job.step_cells import Reference

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from console.job.rank_report import RankReport
    from console.job.server_events import ServerCapacity, ServerLoad, ServerPrefill

CHUNK = 16
"""Bins per chunk, eight minutes: adding one copies a chunk, not the whole history."""

_LATE_S = 900
"""A report older than the newest bin by up to this came late; one older still means that the log's clock was set back,
by an hour of daylight saving for instance, and what lies ahead of it is dropped."""

_GAP_S = 600.0
"""A report that comes this long after its rank's last one says nothing of the time between."""

_FASTEST = 1e9
"""Prompt tokens a second beyond which a figure is no speed."""

_NEWS = 0.1
"""The model is learned anew when the reference has grown by this share, or has seen a new load for four minutes: not
each eight minutes, for that takes milliseconds."""

_MEMORABLE = 40
"""Bins at work after which a server process is worth remembering when another one follows it."""


@dataclass(frozen=True, slots=True)
class Minutes:
    """The bins, oldest first, and the reference that was learned from the first of them.

    Attributes:
        limit: Bins kept, 68 hours; the oldest go, a chunk at a time.
        chunks: Full chunks, oldest first.
        tail: Closed bins behind them, fewer than a chunk.
        open: The newest bin, which still grows; None before the first report.
        reference: What steps took at first, since the server's newest start; the closed chunks are in it.
        learned: The reference as it was when it was last worth learning from.
        former: The reference of the server process before; None without one.
        renewed_s: When the newest process began, seconds since the epoch; None before a restart was seen.
        pending: Rank to the prompt tokens computed since its newest report: they belong to the next one, which spans
            the time that they took.
        totals: The sums of each full chunk.
    """

    limit: int = 8192
    chunks: tuple[tuple[Bin, ...], ...] = ()
    tail: tuple[Bin, ...] = ()
    open: Bin | None = None
    reference: Reference = field(default_factory=Reference)
    learned: Reference = field(default_factory=Reference)
    former: Reference | None = None
    renewed_s: float | None = None
    pending: tuple[tuple[str, int], ...] = ()
    totals: tuple[Totals, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.chunks)) + len(self.tail) + (self.open is not None)

    def bins(self, since_s: float = float("-inf")) -> list[Bin]:
        """The bins that begin at ``since_s`` or later, oldest first, the open one included."""
        newest = (*self.tail, self.open) if self.open else self.tail
        parts = [newest]
        if not newest or newest[0].time_s > since_s:
            for chunk in reversed(self.chunks):
                if chunk[-1].time_s < since_s:
                    break
                parts.append(chunk)
        return [each for part in reversed(parts) for each in part if each.time_s >= since_s]

    def restarted(self, at: datetime) -> Minutes:
        """A new server process: a new reference begins; the former one is remembered if it had time to be learned."""
        draft = MinutesDraft(self)
        draft.restarted(at)
        return draft.freeze()


class MinutesDraft:
    """Bins that grow in place; ``freeze`` gives the same whether events are folded one at a time or by the thousand.

    Args:
        minutes: What it begins with.
    """

    __slots__ = (
        "_chunks",
        "_former",
        "_learned",
        "_limit",
        "_next_s",
        "_pending",
        "_reference",
        "_renewed_s",
        "_sums",
        "_tail",
        "_time_s",
        "_totals",
    )

    def __init__(self, minutes: Minutes) -> None:
        self._limit, self._chunks, self._tail = minutes.limit, minutes.chunks, list(minutes.tail)
        self._totals = minutes.totals
        self._reference, self._learned = minutes.reference, minutes.learned
        self._former, self._renewed_s = minutes.former, minutes.renewed_s
        self._pending = dict(minutes.pending)
        newest = minutes.open
        self._time_s = newest.time_s if newest else 0
        self._next_s = self._time_s + STEP_S if newest else 0
        self._sums: list[float] = list(newest[1:]) if newest else _EMPTY.copy()

    def load(
        self,
        event: ServerLoad,
        at: datetime,
        former: RankReport | None,
        ranks: int,
        capacity: ServerCapacity | None,
    ) -> None:
        """One report of one scheduler.

        Args:
            event: What it said.
            at: Its time.
            former: The rank's report before; None for its first, which says nothing of how long it took.
            ranks: Ranks at work.
            capacity: What a rank can hold, when that is known.
        """
        span_s = 0.0 if former is None else (at - former.at).total_seconds()
        # A report of the same second as the last one ends no interval.
        prompts = self._pending.pop(event.rank, 0) if former is None or span_s > 0.0 else 0
        if former is None or not 0.0 < span_s <= _GAP_S or not former.load.running:
            if event.preemptions:
                self.retracted(event.preemptions, at)
            return
        held = event.tokens
        if held is None:
            held = round(event.token_usage * capacity.max_total_tokens) if event.token_usage and capacity else 0
        self._open(at)
        sums = self._sums
        sums[_SPAN] += span_s
        sums[_RANKS] += ranks * span_s
        sums[_RUNNING] += event.running * span_s
        sums[_QUEUE] += (event.queue or 0) * span_s
        sums[_USAGE] += (event.token_usage or 0.0) * span_s
        sums[_HELD] += held * span_s
        if event.gen_throughput is not None and not event.suspect_throughput:
            sums[_GOOD] += span_s
            sums[_MADE] += event.gen_throughput * span_s
            sums[_PROMPT] += prompts
        if event.preemptions:
            sums[_RETRACTED] += event.preemptions
        if 0.0 < event.prompt_tokens_s < _FASTEST and not event.suspect_throughput:
            sums[_PROMPT] += round(event.prompt_tokens_s * span_s)

    def prefill(self, event: ServerPrefill, at: datetime) -> None:
        """One chunk of prompt work; one older than the newest bin was read twice or came too late."""
        if self._open(at):
            self._pending[event.rank] = self._pending.get(event.rank, 0) + event.new_tokens
            self._sums[_ADMITTED] += event.new_requests

    def retracted(self, count: int, at: datetime) -> None:
        """Requests taken out of the running batch."""
        self._open(at)
        self._sums[_RETRACTED] += count

    def counted(self, count: int, at: datetime) -> None:
        """Requests taken out of the running batch, by the metrics page's counter."""
        self._open(at)
        self._sums[_COUNTED] += count

    def restarted(self, at: datetime) -> None:
        """A new server process: see ``Minutes.restarted``."""
        whole = self._reference.after(steps_of(self._tail))
        if self._tail:
            self._keep()
        if whole.bins >= _MEMORABLE:
            self._former = whole
        self._reference = self._learned = Reference()
        self._renewed_s = at.timestamp()
        self._pending = {}

    def freeze(self) -> Minutes:
        """The bins as they stand."""
        newest = self._bin() if self._next_s else None
        return Minutes(
            self._limit,
            self._chunks,
            tuple(self._tail),
            newest,
            self._reference,
            self._learned,
            self._former,
            self._renewed_s,
            tuple(sorted(self._pending.items())),
            self._totals,
        )

    def _bin(self) -> Bin:
        return Bin(self._time_s, *self._sums)  # type: ignore[arg-type]  # in the order of its fields, counts last

    def _open(self, at: datetime) -> bool:
        """Have the bin of that time open; False when it is older than the open one, which then stands in for it."""
        time_s = at.timestamp()
        if self._time_s <= time_s < self._next_s:
            return True
        if time_s < self._time_s:
            if self._time_s - time_s <= _LATE_S:
                return False
            self._set_back(time_s)
        elif self._next_s:
            self._close()
        self._time_s = int(time_s // STEP_S) * STEP_S
        self._next_s = self._time_s + STEP_S
        self._sums = _EMPTY.copy()
        return True

    def _close(self) -> None:
        self._tail.append(self._bin())
        if len(self._tail) >= CHUNK:
            self._reference = self._reference.after(steps_of(self._tail))
            if _is_news(self._reference, self._learned):
                self._learned = self._reference
            self._keep()

    def _keep(self) -> None:
        """File the tail as a chunk."""
        keep = max(1, self._limit // CHUNK)
        self._chunks = (*self._chunks, tuple(self._tail))[-keep:]
        self._totals = (*self._totals, totals_of(self._tail))[-keep:]
        self._tail = []

    def _set_back(self, time_s: float) -> None:
        """Drop what lies ahead of a time; what the reference learned of it stays."""
        begin_s = time_s // STEP_S * STEP_S
        chunks = [tuple(each for each in chunk if each.time_s < begin_s) for chunk in self._chunks]
        self._chunks = tuple(chunk for chunk in chunks if chunk)
        self._totals = tuple(totals_of(chunk) for chunk in self._chunks)
        self._tail = [each for each in self._tail if each.time_s < begin_s]


def _is_news(reference: Reference, learned: Reference) -> bool:
    """Whether there is enough new in a reference to learn from it again."""
    if reference.taken > (1.0 + _NEWS) * learned.taken:
        return True
    counts = {(cell.key, cell.late): cell.bins for cell in learned.cells}
    return any(counts.get((cell.key, cell.late), 0) < CHUNK // 2 <= cell.bins for cell in reference.cells)


_SPAN, _GOOD, _RANKS, _RUNNING, _QUEUE, _USAGE, _HELD, _MADE, _PROMPT, _ADMITTED, _RETRACTED, _COUNTED = range(12)
"""Places of a bin's sums behind its time, in the order of its fields."""

_EMPTY: list[float] = [0.0] * 8 + [0] * 4


def at_work(reports: Collection[RankReport], stale_s: float) -> int:
    """Ranks whose newest report is no older than ``stale_s`` beside the newest of all."""
    if len(reports) == 1:
        return 1
    newest = max([report.at for report in reports])
    return sum([(newest - report.at).total_seconds() <= stale_s for report in reports])
