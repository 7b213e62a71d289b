"""When each line of a recorded log was written: what a replay goes by.

A line without a stamp is as old as the one before it. A job's log without any stamps says at least how long things
took: a progress line after ``done`` requests at ``r`` a second came ``done / r`` seconds after its dataset began, and
a dataset's end says how long it took; so its lines are dated from the moment at which the job is taken to have begun.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import timedelta
from itertools import accumulate
from typing import TYPE_CHECKING

from console.job.events import DatasetAnnounced, DatasetFinished, Progress, Source
from console.job.lines import clean
from console.job.progress_log import parse_progress
from console.job.runner_log import RunnerLog
from console.job.stamps import StampReader

if TYPE_CHECKING:
    from datetime import datetime, tzinfo


@dataclass(frozen=True, slots=True)
class Recorded:
    """A whole log, with the time of each of its lines.

    Attributes:
        source: Which log.
        data: Its bytes.
        ends: Offset after each line.
        times: When each line was written, never falling.
        guessed: True when the log itself holds no stamp.
    """

    source: Source
    data: bytes
    ends: tuple[int, ...]
    times: tuple[datetime, ...]
    guessed: bool = False

    def lines_until(self, at: datetime) -> int:
        """How many of its lines were written until ``at``."""
        return bisect_right(self.times, at)

    def between(self, begin: int, at: datetime) -> tuple[int, bytes]:
        """The lines from number ``begin`` on that were written until ``at``: the next number, and their bytes."""
        end = bisect_right(self.times, at, lo=begin)
        first = self.ends[begin - 1] if begin else 0
        last = self.ends[end - 1] if end else 0
        return end, self.data[first:last]


def record(source: Source, data: bytes, zone: tzinfo, now: datetime, begun: datetime | None = None) -> Recorded:
    """Date the lines of a log.

    Args:
        source: Which log.
        data: Its bytes.
        zone: Of stamps that name none.
        now: Resolves stamps without a year.
        begun: When a job whose log has no stamps is taken to have begun; None for ``now``.
    """
    lines = data.splitlines(keepends=True)
    ends = tuple(accumulate(map(len, lines)))
    texts = [clean(line.decode("utf-8", "replace")) for line in lines]
    times = _progress(texts, now) if source is Source.PROGRESS else _stamped(texts, zone, now)
    guessed = source is Source.JOB and all(at is None for at in times)
    if guessed:
        times = _by_durations(texts, zone, begun or now)
    return Recorded(source, data, ends, _never_falling(times, now), guessed)


def _stamped(texts: list[str], zone: tzinfo, now: datetime) -> list[datetime | None]:
    reader = StampReader(zone)
    reader.look_ahead(texts, now)
    return [reader.read(text, now).at for text in texts]


def _progress(texts: list[str], now: datetime) -> list[datetime | None]:
    told = (parse_progress(text, now) for text in texts)
    return [events[0].at if events and not events[0].guessed else None for events in told]


def _by_durations(texts: list[str], zone: tzinfo, begun: datetime) -> list[datetime | None]:
    log = RunnerLog(zone)
    base = at = begun
    times: list[datetime | None] = []
    for text in texts:
        for _, event, *_ in log.parse(text, begun):
            if isinstance(event, DatasetAnnounced):
                base = at
            elif isinstance(event, Progress) and event.requests_per_s:
                at = max(at, base + timedelta(seconds=event.done / event.requests_per_s))
            elif isinstance(event, DatasetFinished) and event.seconds is not None:
                at = max(at, base + timedelta(seconds=event.seconds))
        times.append(at)
    return times


def _never_falling(times: list[datetime | None], now: datetime) -> tuple[datetime, ...]:
    """Each line's time, or that of the line before; those before the first stamp are as old as it."""
    newest = next((at for at in times if at is not None), now)
    steady: list[datetime] = []
    for at in times:
        newest = newest if at is None else max(newest, at)
        steady.append(newest)
    return tuple(steady)
