"""The one door of all meaning: text and facts in, ``Snapshot`` out. No I/O and no clock inside."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from console.job.access import others
from console.job.chunk_reading import Reading
from console.job.dataset_detail import detail_of
from console.job.events import HostClock, MetricsMissing, Source, SourceFact, Stamped
from console.job.fold import fold
from console.job.forecasts import Forecasts
from console.job.frozen import NotOurs, freeze, thaw
from console.job.host_state import HostState
from console.job.host_views import SourceCount
from console.job.job_merge import merged
from console.job.limits import Limits
from console.job.lines import LineSplitter
from console.job.log_lines import LogLines
from console.job.metrics import parse_metrics
from console.job.part_order import PATIENCE, PartOrder
from console.job.progress_log import parse_progress
from console.job.runner_log import RunnerLog
from console.job.server_log import ServerLog
from console.job.shapes import Shapes
from console.job.source_clock import SourceClock
from console.job.state import State, apply, set_back
from console.job.unread import Unread
from console.job.verdict_memory import VerdictMemory
from console.job.views import Seen, judged, kept, reckoned_of, snapshot_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from console.job.dataset_detail import DatasetDetail
    from console.job.events import Event, LogLine
    from console.job.formats import Format
    from console.job.plan import Plan
    from console.job.reckon import Reckoned
    from console.job.snapshot import Snapshot, Verdict


_GIVEN = ("_plan", "_limits", "_formats", "_kept")
"""What a tracker is given rather than has learned, or reckons anew."""

_RECKONED_FOR = timedelta(seconds=10)
"""How long an end that was reckoned is shown while the same dataset is at work. Less than the step of a replay."""


class Tracker:
    """Follows one run.

    Every line is to be fed once, in order; where a reconnection reads one twice, nothing changes.

    Args:
        plan: The run as planned.
        limits: The thresholds of advice.
        formats: Formats of the user's own for the job's log, tried before the known ones.
        parts: Names of the server's log files, where each node or rank writes its own.
    """

    PATIENCE: ClassVar[timedelta | None] = PATIENCE
    """How long one file of the server's log waits for another."""

    def __init__(
        self,
        plan: Plan,
        *,
        limits: Limits | None = None,
        formats: tuple[Format, ...] = (),
        parts: tuple[str, ...] = (),
    ) -> None:
        self._plan = plan
        self._limits = limits or Limits()
        self._formats = formats
        self._state = State()
        servers = [_key_of(Source.SERVER, part) for part in ("", *parts)]
        self._splitters = {key: LineSplitter() for key in (*servers, Source.JOB.value, Source.PROGRESS.value)}
        self._logs: dict[str, ServerLog | RunnerLog] = {
            **{key: ServerLog(plan.zone, plan.engine or "auto") for key in servers},
            Source.JOB.value: RunnerLog(plan.zone, formats),
        }
        self._unread = {key: Unread() for key in self._logs}
        self._order = PartOrder(parts, self.PATIENCE)
        self._counts: dict[Source, SourceCount] = {}
        self._shapes = {source: Shapes() for source in Source}
        self.past_missing = False
        """Whether the server's log was read from its middle on: what lies before it is still to be filled in."""
        self._memory = VerdictMemory()
        self._forecasts = Forecasts()
        self._kept: tuple[tuple[str, ...], datetime, Reckoned] | None = None

    @property
    def state(self) -> State:
        """All that was told so far."""
        return self._state

    def feed(
        self, source: Source, data: bytes, seen_at: datetime, *, part: str = "", more: bool = False
    ) -> Sequence[LogLine]:
        """Read more of a log.

        Args:
            source: Which log.
            data: Its next bytes, cut anywhere.
            seen_at: When they came; stands in for stamps that are missing.
            part: Which of the files of this log, where each node or rank writes its own.
            more: These are of a backlog of which more follows. Where stamps say neither day nor start, lines then wait
                for its end: a call without this, with its last bytes or none. What another file says then waits until
                this one has come so far.

        Returns:
            The lines that are complete now, for a log pane: the newest ``KEPT`` of them, older ones of a backlog are
            counted and folded but not given. None for ``progress.jsonl``, which is for machines.
        """
        return self._read(source, part, self._splitters[_key_of(source, part)].read(data), seen_at, more=more)

    def flush(self, source: Source, seen_at: datetime, *, part: str = "") -> Sequence[LogLine]:
        """Read the last line of a log that has ended without a newline."""
        return self._read(source, part, self._splitters[_key_of(source, part)].flush(), seen_at)

    def trust_stamps(self) -> None:
        """Take the logs' own times for the time: in a replay there is no other, and pieces come late as a whole."""
        clock = SourceClock(trusted=True)
        self._state = replace(self._state, server_clock=clock, job_clock=clock)

    def note(self, event: Event, at: datetime) -> None:
        """Take in a fact of the host, or any event that is not a log's line."""
        if isinstance(event, SourceFact) and event.lost_bytes:
            known = self._counts.get(event.source, SourceCount())
            self._counts[event.source] = replace(known, lost_bytes=known.lost_bytes + event.lost_bytes)
        if isinstance(event, HostClock):
            for log in self._logs.values():
                log.host_is_ahead(timedelta(seconds=event.offset_s))
        self._state = apply(self._state, Stamped(at, event))

    def metrics_page(self, text: str, at: datetime) -> None:
        """Take in the server's ``/metrics`` page."""
        page = parse_metrics(text)
        self.note(page or MetricsMissing("The page holds no series of an engine that is known."), at)

    def reset_source(self, source: Source, *, part: str = "") -> None:
        """A followed file was replaced or truncated: the half line that waits will never be completed."""
        self._splitters[_key_of(source, part)] = LineSplitter()

    def adopt_server(self, whole: Tracker) -> None:
        """Take over what another tracker read of the server's log, from its beginning to the very byte reached here.

        Of a log of several files, the other has read each of them so far.

        What was seen with the console's own eyes, and when, stays this tracker's: the other saw only the past.
        """
        live, past = self._state.server, whole._state.server
        server = replace(
            past,
            metrics=live.metrics,
            reported_seen_at=live.reported_seen_at,
            progressed_seen_at=live.progressed_seen_at,
            trouble_seen_at=live.trouble_seen_at if past.trouble else None,
        )
        self._state = replace(self._state, server=server)
        self.past_missing = False
        for key in set(self._logs) - {Source.JOB.value}:
            self._splitters[key], self._logs[key] = whole._splitters[key], whole._logs[key]
            self._unread[key] = whole._unread[key]
        self._order.begin_at(whole._order)
        lost = self._counts.get(Source.SERVER, SourceCount()).lost_bytes
        self._counts[Source.SERVER] = replace(whole._counts.get(Source.SERVER, SourceCount()), lost_bytes=lost)
        self._shapes[Source.SERVER] = whole._shapes[Source.SERVER]

    def snapshot(self, now: datetime) -> Snapshot:
        """Everything that is known and concluded at ``now``."""
        seen = self._seen()
        reckoned = self._reckoned(seen, now)
        self._forecasts = kept(self._state, seen, reckoned, now)
        taken = snapshot_of(self._state, replace(seen, forecasts=self._forecasts), reckoned, now)
        self._memory = self._memory.after(taken.verdict, now, self._limits)
        return replace(taken, verdict=self._memory.verdict(taken.verdict, now))

    def detail(self, name: str, now: datetime) -> DatasetDetail | None:
        """One dataset seen closely at ``now``; None when there is none of that name. Changes nothing that is known."""
        seen = self._seen()
        return detail_of(
            self._state, seen.runs, name, now, reckoned=self._reckoned(seen, now), forecasts=self._forecasts
        )

    def judge(self, now: datetime) -> Verdict:
        """The verdict of ``snapshot``, without its figures and at a fraction of its time.

        Its ``next_look`` may rest on ends that were reckoned up to a quarter of an hour ago.
        """
        seen = self._seen()
        if self._forecasts.due(now):
            self._forecasts = kept(self._state, seen, self._reckoned(seen, now), now)
            seen = replace(seen, forecasts=self._forecasts)
        found = judged(self._state, seen, now)
        self._memory = self._memory.after(found, now, self._limits)
        return self._memory.verdict(found, now)

    def _reckoned(self, seen: Seen, now: datetime) -> Reckoned:
        """When it will be done. It takes longer than all else, and what it says moves by the minute."""
        at_work = (self._state.log.current, self._state.log.finished, self._state.progress.current)
        if self._kept is None or self._kept[0] != at_work or not timedelta() <= now - self._kept[1] < _RECKONED_FOR:
            self._kept = (at_work, now, reckoned_of(self._state, seen, now))
        return self._kept[2]

    @property
    def forecasts(self) -> Forecasts:
        """What was said of the ends, and when."""
        return self._forecasts

    def _seen(self) -> Seen:
        """What a snapshot needs beside the state; the two logs of the job are laid side by side once for it."""
        runs = merged(self._state.log, self._state.progress, self._plan)
        return Seen(runs, self._plan, self._counts, self._limits, self._forecasts)

    def unparsed(self, source: Source) -> tuple[tuple[str, int], ...]:
        """Shapes of lines that no format understood and their counts, most frequent first, at most 20."""
        return self._shapes[source].top()

    def freeze(self, shared: list[object] | None = None) -> bytes:
        """All that was learned, half lines and the parsers' memory included, for ``thaw``. Not compressed.

        Args:
            shared: Takes what successive states have in common, for who stays in this process.
        """
        return freeze(self, _GIVEN, self._key(), shared)

    def thaw(self, frozen: bytes, shared: Sequence[object] = ()) -> bool:
        """Become what another tracker of the same run was; only a fresh one may.

        What the host had answered (link, process, health) is left out: it is asked anew in a moment.

        Args:
            frozen: By ``freeze``.
            shared: What it put there.

        Returns:
            False when the bytes are damaged, or come from another version or another plan; nothing was taken then,
            and the logs are to be read anew.
        """
        try:
            thaw(self, frozen, _GIVEN, self._key(), shared)
        except NotOurs:
            return False
        self._state = replace(self._state, host=HostState())
        return True

    def _key(self) -> str:
        """What the reading of a line depends on besides the line: when it changes, all must be read anew."""
        own = [(known.name, known.pattern.pattern) for known in self._formats]
        return repr((str(self._plan.zone), self._plan.engine, own))

    def _read(
        self, source: Source, part: str, lines: Sequence[str], seen_at: datetime, *, more: bool = False
    ) -> Sequence[LogLine]:
        """Read the lines of one chunk; where several files are one log, fold what is ready of all of them."""
        given = self._parsed(source, part, lines, seen_at, more=more)
        if part:
            self._order.mark(part, behind=more)
            self._state = fold(self._state, self._order.ready(seen_at), source, seen_at)
        return given

    def _parsed(
        self, source: Source, part: str, lines: Sequence[str], seen_at: datetime, *, more: bool
    ) -> Sequence[LogLine]:
        """Parse, count and fold the lines of one chunk."""
        key = _key_of(source, part)
        log = self._logs.get(key)
        if log is not None:
            lines = self._unread[key].take(lines, hold=log.needs_rest(lines, seen_at) and more)
        if not lines:
            return ()
        known = self._counts.get(source, SourceCount())
        read = Reading(known.last_at or seen_at)
        if log is not None:
            log.look_ahead(lines, seen_at)
        wanted = others(lines) if source is Source.SERVER else enumerate(lines)
        read.lines(wanted, log.parse if log else parse_progress, seen_at)
        for text in read.unknown:
            self._shapes[source].add(text)
        count, unparsed = known.lines + len(lines) - read.blank, known.unparsed + read.unread
        self._counts[source] = SourceCount(count, unparsed, known.lost_bytes, read.at)
        if part:
            self._order.add(part, read.told)
        else:
            self._state = fold(self._state, read.told, source, seen_at)
        if log is not None and log.set_back is not None:
            self._state = set_back(self._state, source, *log.set_back)
        return () if source is Source.PROGRESS else LogLines(source, lines, read.places, read.times)


def _key_of(source: Source, part: str) -> str:
    """A name for one file of a log."""
    return f"{source.value}:{part}" if part else source.value
