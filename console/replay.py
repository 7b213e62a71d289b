"""``longwait replay``: recorded logs through the same core as the live console, honest in time.

Only what was logged at or before a moment may count at it: lines are fed in the order in which they were written, and
the reading is taken before the next one. No link, process or health was asked, so nothing of these is known.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from console.job.events import JobZone, Source
from console.job.lines import clean
from console.job.plan import Plan
from console.job.reading import reading, text
from console.job.runner_log import RunnerLog
from console.job.timeline import Recorded, record
from console.job.tracker import Tracker
from console.job.user_patterns import pattern_format
from console.session import now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from console.config import Settings
    from console.job.formats import Format
    from console.job.snapshot import Snapshot

STEP = timedelta(seconds=60)
"""Log time that is fed at once, on a grid from the first line on: what was written within a minute counts as seen at
its end, and is judged then, whichever moments are asked for."""

AFTERMATH = timedelta(days=1)
"""How long silence is judged minute by minute after the last line."""

HEAD_LINES = 500
"""Lines of the job's log in which its zone is looked for: it is said at the start."""

_DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[smhd])")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


class BadMoment(ValueError):  # noqa: N818 - what is wrong, for a sentence
    """A ``--at`` that is no moment."""


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


def run_replay(given: Given, settings: Settings | None, moments: str, *, as_json: bool) -> int:
    """Print the reading at each moment, in the order in which they were given."""
    try:
        logs, plan, formats = load(given, settings)
        times = moments_of(moments, logs)
    except (OSError, BadMoment) as error:
        click.echo(f"The replay can't be made: {_why(error)}", err=True)
        return 2
    if any(log.guessed for log in logs):
        click.echo("The job's log has no stamps: its times are guessed from the durations that it tells.", err=True)
    replay = Replay(logs, lambda: Tracker(plan, formats=formats))
    taken = {at: replay.at(at) for at in sorted(set(times))}
    for at in times:
        click.echo(json.dumps(reading(taken[at])) if as_json else text(taken[at]) + "\n")
    return 0


def _why(error: OSError | BadMoment) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}."
    return str(error)


def load(given: Given, settings: Settings | None) -> tuple[list[Recorded], Plan, tuple[Format, ...]]:
    """Read and date the logs.

    Raises:
        OSError: A file can't be read.
    """
    # Imported when it runs: `replay` of two files needs no host.
    from console.planned import plan_of  # noqa: PLC0415

    present = now()
    read = {
        source: path.read_bytes() if path is not None else b""
        for source, path in (
            (Source.SERVER, given.server_log),
            (Source.JOB, given.job_log),
            (Source.PROGRESS, given.progress),
        )
    }
    plan = plan_of(settings) if settings is not None else Plan()
    configured = settings is not None and settings.timezone is not None
    zone = given.zone or (plan.zone if configured else _said_zone(read[Source.JOB], present) or plan.zone)
    server = record(Source.SERVER, read[Source.SERVER], zone, present)
    begun = server.times[0] if server.times else None
    logs = [server, record(Source.JOB, read[Source.JOB], zone, present, begun)]
    logs.append(record(Source.PROGRESS, read[Source.PROGRESS], zone, present))
    patterns = () if settings is None else settings.job.patterns
    formats = tuple(pattern_format(each.name, each.regex, each.sample or "") for each in patterns)
    return [log for log in logs if log.times], replace(plan, zone=zone), formats


def _said_zone(data: bytes, present: datetime) -> tzinfo | None:
    """The zone that the job's log says it stamps its lines in."""
    log = RunnerLog(Plan().zone)
    for line in data.splitlines()[:HEAD_LINES]:
        for stamped in log.parse(clean(line.decode("utf-8", "replace")), present):
            if isinstance(stamped.event, JobZone):
                return _zone_of(stamped.event)
    return None


def _zone_of(said: JobZone) -> tzinfo:
    try:
        return ZoneInfo(said.name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        from datetime import timezone  # noqa: PLC0415 - only where the name is none

        return timezone(timedelta(seconds=said.utc_offset_s))


def moments_of(words: str, logs: Sequence[Recorded]) -> list[datetime]:
    """The moments that ``--at`` names, in its order.

    Args:
        words: With commas between: ISO 8601 times, ``start``, ``end``, ``start+2h``, ``end-30m``, ``every=15m``.
        logs: Give the start and the end.

    Raises:
        BadMoment: A word that is none of these.
    """
    times = [at for log in logs for at in (log.times[0], log.times[-1])]
    first, last = (min(times), max(times)) if times else (now(), now())
    moments: list[datetime] = []
    for word in filter(None, (part.strip() for part in words.split(","))):
        if word.startswith("every="):
            moments += _series(first, last, _duration(word.removeprefix("every="), word))
        else:
            moments.append(_moment(word, first, last))
    if not moments:
        raise BadMoment("--at names no moment; give end, start+2h, every=15m or an ISO 8601 time.")
    return moments


def _series(first: datetime, last: datetime, step: timedelta) -> Iterator[datetime]:
    at = first + step
    while at < last:
        yield at
        at += step
    yield last


def _moment(word: str, first: datetime, last: datetime) -> datetime:
    base = {"start": first, "end": last}.get(re.split(r"[+-]", word)[0])
    if base is not None:
        rest = word[len("start") :] if word.startswith("start") else word[len("end") :]
        sign = -1 if rest.startswith("-") else 1
        return base + sign * _duration(rest[1:], word) if rest else base
    try:
        at = datetime.fromisoformat(word)
    except ValueError as error:
        raise BadMoment(f"--at {word!r} is no moment; give end, start+2h, every=15m or an ISO 8601 time.") from error
    return at if at.tzinfo is not None else at.replace(tzinfo=first.tzinfo)


def _duration(text_: str, word: str) -> timedelta:
    found = list(_DURATION.finditer(text_))
    if not found or "".join(part.group() for part in found) != text_:
        raise BadMoment(f"--at {word!r} holds no duration such as 90s, 15m, 2h or 1d12h.")
    seconds = sum(float(part["number"]) * _UNITS[part["unit"]] for part in found)
    if not seconds:
        raise BadMoment(f"--at {word!r} holds a duration of nothing.")
    return timedelta(seconds=seconds)


class Replay:
    """Plays logs into a tracker along the grid.

    Args:
        logs: What is replayed.
        fresh: Makes a tracker that has read nothing.
    """

    def __init__(self, logs: Sequence[Recorded], fresh: Callable[[], Tracker]) -> None:
        self._logs = logs
        self._fresh = fresh
        self._tracker = fresh()
        self._places = [0] * len(logs)
        self._at = min((log.times[0] for log in logs), default=None)
        self._last = max((log.times[-1] for log in logs), default=None)

    def at(self, moment: datetime) -> Snapshot:
        """What was known then; moments are to be asked for in order.

        A moment between two points of the grid is read from a copy, so that asking changes nothing of what comes later.
        """
        if self._at is None or self._last is None or moment < self._at:
            return self._fresh().snapshot(moment)
        while self._at + STEP <= min(moment, self._last + AFTERMATH):
            self._at += STEP
            self._places = self._feed(self._tracker, self._at)
            self._tracker.snapshot(self._at)
        if self._at == moment:
            return self._tracker.snapshot(moment)
        copy = self._fresh()
        copy.thaw(self._tracker.freeze())
        self._feed(copy, moment)
        return copy.snapshot(moment)

    def _feed(self, tracker: Tracker, until: datetime) -> list[int]:
        """Feed what was written until then; give the number of each log's next line."""
        places = []
        for log, place in zip(self._logs, self._places, strict=True):
            here, data = log.between(place, until)
            if data:
                tracker.feed(log.source, data, until)
            places.append(here)
        return places
