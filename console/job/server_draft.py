"""The server's commonest reports, folded by the thousand: a working copy that changes in place and is frozen once.

``console.job.server_state.apply_server`` says what each report means, one at a time. This gives the same for a run of
them, which a backlog of hours holds, at a tenth of the time; a test compares the two.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.job.flight import FlightDraft
from console.job.minutes import MinutesDraft, at_work
from console.job.rank_report import STALE_RANK, RankReport, reported
from console.job.series import SeriesDraft
from console.job.server_events import ServerLoad, ServerPrefill
from console.job.server_life import JUMP_S
from console.job.server_state import INTERVALS

if TYPE_CHECKING:
    from datetime import datetime

    from console.job.server_state import ServerState

HOT = frozenset({ServerLoad, ServerPrefill})
"""The kinds of events that a draft folds."""


class ServerDraft:
    """A server at work, changing in place.

    Args:
        state: What is known; it must be ``steady``.
        seen_at: When the console saw all that follows.
    """

    def __init__(self, state: ServerState, seen_at: datetime) -> None:
        self._state = state
        self._seen_at = seen_at
        self._ranks = dict(state.ranks)
        self._intervals = list(state.intervals_s)
        self._life = state.life
        self._throughput = SeriesDraft(state.throughput)
        self._minutes, self._capacity = MinutesDraft(state.minutes), state.capacity
        self._reported_at, self._progressed_at = state.reported_at, state.progressed_at
        self._reported = self._progressed = False
        self._last_prefill = state.last_prefill
        self._prompts, self._prompt_tokens = state.prompts, state.prompt_tokens
        self._cached_tokens = state.cached_tokens
        self._retractions = state.retractions
        self._flight = FlightDraft(state.flight)

    @staticmethod
    def steady(state: ServerState) -> bool:
        """True while a report changes nothing of the server's phase, so that only figures are to be folded."""
        return state.phase == "ready" and state.phase_share is None and state.ever_ready

    def load(self, event: ServerLoad, at: datetime) -> None:
        """One report of one scheduler."""
        former = self._ranks.get(event.rank)
        if former is not None:
            if at < former.at or (at == former.at and event == former.load):
                return
            if former.load.running:
                gap_s = (at - former.at).total_seconds()
                self._intervals.append(gap_s)
                if gap_s > JUMP_S:
                    self._life = self._life.gap(former, event, at)
        self._place(event.rank, reported(former, event, at))
        self._minutes.load(event, at, former, self._at_work(), self._capacity)
        self._reported, self._reported_at = True, at
        self._retractions += event.preemptions
        self._flight.load(event, at)
        if event.gen_throughput:
            self._progressed, self._progressed_at = True, at
        if event.gen_throughput is not None and not event.suspect_throughput:
            self._record(at)

    def prefill(self, event: ServerPrefill, at: datetime) -> None:
        """One chunk of prompt work."""
        if self._last_prefill is not None and self._last_prefill[1] == event and self._last_prefill[0] == at:
            return
        self._last_prefill = (at, event)
        self._minutes.prefill(event, at)
        self._prompts += event.new_requests
        self._prompt_tokens += event.new_tokens + event.cached_tokens
        self._cached_tokens += event.cached_tokens
        self._reported = self._progressed = True
        self._reported_at = self._progressed_at = at
        self._flight.prefill(event, at)

    def freeze(self) -> ServerState:
        """The server as it stands."""
        state = self._state
        return replace(
            state,
            ranks=tuple(self._ranks.items()),
            intervals_s=tuple(self._intervals[-INTERVALS:]),
            throughput=self._throughput.freeze(),
            reported_at=self._reported_at,
            reported_seen_at=self._seen_at if self._reported else state.reported_seen_at,
            progressed_at=self._progressed_at,
            progressed_seen_at=self._seen_at if self._progressed else state.progressed_seen_at,
            last_prefill=self._last_prefill,
            prompts=self._prompts,
            prompt_tokens=self._prompt_tokens,
            cached_tokens=self._cached_tokens,
            retractions=self._retractions,
            minutes=self._minutes.freeze(),
            flight=self._flight.freeze(),
            life=self._life,
        )

    def _place(self, name: str, report: RankReport) -> None:
        """File a rank's report; the ranks stay in the order of their names."""
        new = name not in self._ranks
        self._ranks[name] = report
        if new:
            self._ranks = dict(sorted(self._ranks.items()))

    def _at_work(self) -> int:
        ranks = self._ranks
        return 1 if len(ranks) == 1 else at_work(ranks.values(), STALE_RANK.total_seconds())

    def _record(self, at: datetime) -> None:
        """One point of throughput: the sum over the ranks that are not stale."""
        reports = list(self._ranks.values())
        if len(reports) > 1:
            newest = max([report.at for report in reports])
            reports = [report for report in reports if newest - report.at <= STALE_RANK]
        figures = [report.throughput for report in reports if report.throughput is not None]
        running = sum([report.load.running for report in reports])
        if figures and running:
            self._throughput.add(at, sum(figures), running)
