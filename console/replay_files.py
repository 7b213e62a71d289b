"""Recorded logs, read from files and dated: what a replay plays."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta, timezone
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from console.job.events import JobZone, Source
from console.job.limits import Limits
from console.job.lines import clean
from console.job.plan import Plan
from console.job.runner_log import RunnerLog
from console.job.timeline import Recorded, record
from console.job.tracker import Tracker
from console.job.user_patterns import pattern_format
from console.replay_bytes import bytes_of
from console.session import now

if TYPE_CHECKING:
    from datetime import tzinfo
    from pathlib import Path

    from console.config import Settings
    from console.job.formats import Format

HEAD_BYTES = 65_536
"""Bytes of the job's log in which its zone is looked for: it is said at the start."""


@dataclass(frozen=True, slots=True)
class Given:
    """What is replayed.

    Attributes:
        server_log: The server's log; None when there is none.
        job_log: The job's.
        progress: The job's ``progress.jsonl``.
        zone: Of stamps that name none; None takes what the job's log says, else UTC.
    """

    server_log: Path | None
    job_log: Path | None
    progress: Path | None
    zone: tzinfo | None

    @property
    def names(self) -> str:
        """The files' names, for people."""
        paths = (self.server_log, self.job_log, self.progress)
        return ", ".join(path.name for path in paths if path is not None)


@dataclass(frozen=True, slots=True)
class Recording:
    """A run's logs, dated, with what is needed to read them.

    Attributes:
        logs: Those that hold a line.
        plan: The run as planned, with the zone that was found.
        formats: The user's own.
        limits: The thresholds of advice.
    """

    logs: tuple[Recorded, ...]
    plan: Plan
    formats: tuple[Format, ...] = ()
    limits: Limits = field(default_factory=Limits)

    @property
    def guessed(self) -> bool:
        """Whether a log has no stamps, so that its times are guessed."""
        return any(log.guessed for log in self.logs)

    def fresh(self) -> Tracker:
        """A tracker that has read nothing."""
        return Tracker(self.plan, limits=self.limits, formats=self.formats)


def load(given: Given, settings: Settings | None) -> Recording:
    """Read and date the logs.

    Raises:
        OSError: A file can't be read.
    """
    # Imported when it runs: `replay` of two files needs no host.
    from console.planned import limits_of, plan_of  # noqa: PLC0415

    present = now()
    plan = plan_of(settings) if settings is not None else Plan()
    zone = zone_of(given, settings)
    server = record(Source.SERVER, bytes_of(given.server_log), zone, present)
    begun = server.times[0] if server.times else None
    logs = [server, record(Source.JOB, bytes_of(given.job_log), zone, present, begun)]
    logs.append(record(Source.PROGRESS, bytes_of(given.progress), zone, present))
    patterns = () if settings is None else settings.job.patterns
    formats = tuple(pattern_format(each.name, each.regex, each.sample or "") for each in patterns)
    return Recording(tuple(log for log in logs if log.times), replace(plan, zone=zone), formats, limits_of(settings))


def zone_of(given: Given, settings: Settings | None) -> tzinfo:
    """The zone of stamps that name none: what was given, else the config's, else what the job's log says, else UTC.

    Reads no more than the beginning of the job's log.

    Raises:
        OSError: A log can't be read.
    """
    head = b""
    for path in filter(None, (given.server_log, given.job_log, given.progress)):
        with path.open("rb") as log:
            begin = log.read(HEAD_BYTES)
        head = begin if path == given.job_log else head
    configured = None if settings is None or settings.timezone is None else ZoneInfo(settings.timezone)
    return given.zone or configured or _said_zone(head) or UTC


def _said_zone(head: bytes) -> tzinfo | None:
    """The zone that the job's log says it stamps its lines in."""
    log = RunnerLog(UTC)
    for line in head.splitlines():
        for stamped in log.parse(clean(line.decode("utf-8", "replace")), now()):
            if isinstance(stamped.event, JobZone):
                return _zone_of(stamped.event)
    return None


def _zone_of(said: JobZone) -> tzinfo:
    try:
        return ZoneInfo(said.name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return timezone(timedelta(seconds=said.utc_offset_s))
