"""The one door of all meaning: text and facts in, ``Snapshot`` out. No I/O and no clock inside."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from console.job.events import LogLine, MetricsMissing, Source, SourceFact, Stamped, Unparsed
from console.job.host_views import SourceCount
from console.job.levels import level_of
from console.job.limits import Limits
from console.job.lines import LineSplitter
from console.job.metrics import parse_metrics
from console.job.progress_log import parse_progress
from console.job.runner_log import RunnerLog
from console.job.server_log import ServerLog
from console.job.shapes import Shapes
from console.job.state import State, apply, heard
from console.job.views import Seen, snapshot_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from console.job.events import Event
    from console.job.formats import Format
    from console.job.plan import Plan
    from console.job.snapshot import Snapshot


class Tracker:
    """Follows one run.

    Every line is to be fed once, in order; where a reconnection reads one twice, nothing changes.

    Args:
        plan: The run as planned.
        limits: The thresholds of advice.
        formats: Formats of the user's own for the job's log, tried before the known ones.
    """

    def __init__(self, plan: Plan, *, limits: Limits | None = None, formats: tuple[Format, ...] = ()) -> None:
        self._plan = plan
        self._limits = limits or Limits()
        self._state = State()
        self._splitters = {source: LineSplitter() for source in Source}
        self._parsers: dict[Source, Callable[[str, datetime], list[Stamped]]] = {
            Source.SERVER: ServerLog(plan.zone, plan.engine or "auto").parse,
            Source.JOB: RunnerLog(plan.zone, formats).parse,
            Source.PROGRESS: parse_progress,
        }
        self._counts: dict[Source, SourceCount] = {}
        self._shapes = {source: Shapes() for source in Source}
        self._judged: tuple[str, str, datetime] | None = None

    @property
    def state(self) -> State:
        """All that was told so far."""
        return self._state

    def feed(self, source: Source, data: bytes, seen_at: datetime) -> tuple[LogLine, ...]:
        """Read more of a log.

        Args:
            source: Which log.
            data: Its next bytes, cut anywhere.
            seen_at: When they came; stands in for stamps that are missing.

        Returns:
            The lines that are complete now, for a log pane; none for ``progress.jsonl``, which is for machines.
        """
        return self._read(source, self._splitters[source].feed(data), seen_at)

    def flush(self, source: Source, seen_at: datetime) -> tuple[LogLine, ...]:
        """Read the last line of a log that has ended without a newline."""
        return self._read(source, self._splitters[source].flush(), seen_at)

    def note(self, event: Event, at: datetime) -> None:
        """Take in a fact of the host, or any event that is not a log's line."""
        if isinstance(event, SourceFact) and event.lost_bytes:
            known = self._counts.get(event.source, SourceCount())
            self._counts[event.source] = replace(known, lost_bytes=known.lost_bytes + event.lost_bytes)
        self._state = apply(self._state, Stamped(at, event))

    def metrics_page(self, text: str, at: datetime) -> None:
        """Take in the server's ``/metrics`` page."""
        page = parse_metrics(text)
        self.note(page or MetricsMissing("The page holds no series of SGLang or vLLM."), at)

    def reset_source(self, source: Source) -> None:
        """A followed file was replaced or truncated: the half line that waits will never be completed."""
        self._splitters[source] = LineSplitter()

    def snapshot(self, now: datetime) -> Snapshot:
        """Everything that is known and concluded at ``now``."""
        taken = snapshot_of(self._state, Seen(self._plan, self._counts, self._limits), now)
        verdict = taken.verdict
        judged = (verdict.verdict.value, verdict.cause)
        if self._judged is None or self._judged[:2] != judged:
            self._judged = (*judged, min(now, verdict.since or now))
        return replace(taken, verdict=replace(verdict, since=self._judged[2]))

    def unparsed(self, source: Source) -> tuple[tuple[str, int], ...]:
        """Shapes of lines that no format understood and their counts, most frequent first, at most 20."""
        return self._shapes[source].top()

    def _read(self, source: Source, lines: list[str], seen_at: datetime) -> tuple[LogLine, ...]:
        stamped = [(text, self._line(source, text, seen_at)) for text in lines]
        if source is Source.PROGRESS:
            return ()
        return tuple(LogLine(source, text, at, level_of(text)) for text, at in stamped)

    def _line(self, source: Source, text: str, seen_at: datetime) -> datetime:
        """Read one line: fold what it says, and count it; gives its time."""
        told = self._parsers[source](text, seen_at)
        stamps = [stamped.at for stamped in told if not stamped.guessed]
        known = self._counts.get(source, SourceCount())
        # A line that says nothing to a parser gives no stamp: it is about as old as the one before.
        at = stamps[-1] if stamps else (seen_at if told or known.last_at is None else known.last_at)
        lost = [self._fold(source, stamped, seen_at) for stamped in told]
        read, unread = known.lines + bool(text.strip()), known.unparsed + any(lost)
        self._counts[source] = SourceCount(read, unread, known.lost_bytes, at)
        return at

    def _fold(self, source: Source, stamped: Stamped, seen_at: datetime) -> bool:
        """Fold one event; True when it is no event but a line that no format understood."""
        if not stamped.guessed:
            self._state = heard(self._state, source, stamped.at, seen_at)
        if isinstance(stamped.event, Unparsed):
            self._shapes[source].add(stamped.event.text)
            return True
        self._state = apply(self._state, stamped, source=source, seen_at=seen_at)
        return False
