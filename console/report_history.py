"""What a run's history on this machine tells for a report. It is only looked at: a console may be writing it."""

from __future__ import annotations

import re
import sqlite3
import zlib
from ast import literal_eval
from bisect import bisect_right
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, timedelta, timezone
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from console.history_rows import time_of
from console.history_samples import EtaSample, ServerSample, VerdictSample
from console.job.decision import Lengths
from console.job.frozen import NotOurs, key_of
from console.job.snapshot import Eta, Judgement, LinkView, ServerView, Snapshot, Verdict
from console.job.tracker import Tracker
from console.job.units import age
from console.job.user_patterns import pattern_format
from console.planned import plan_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo
    from pathlib import Path

    from console.config import Settings
    from console.job.forecasts import Forecasts


_FIXED = re.compile(r"UTC(?P<sign>[+-])(?P<hours>\d\d):(?P<minutes>\d\d)")
"""How a zone that is only an offset names itself."""


class NoHistory(Exception):  # noqa: N818 - what is missing, for a sentence
    """There is nothing to report from; the message says why, for a person."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A run as its history has it.

    Attributes:
        saved_at: Its newest moment.
        state: All that was known then, for ``Tracker.thaw``.
        verdicts: Changes of the verdict, oldest first.
        etas: Ends told.
        server: The server's figures.
    """

    saved_at: datetime
    state: bytes
    verdicts: tuple[VerdictSample, ...]
    etas: tuple[EtaSample, ...]
    server: tuple[ServerSample, ...]

    @property
    def first(self) -> datetime:
        """Its first moment."""
        kept: tuple[Sequence[VerdictSample | EtaSample | ServerSample], ...] = (self.verdicts, self.etas, self.server)
        return min((samples[0].at for samples in kept if samples), default=self.saved_at)


def kept(path: Path) -> Kept:
    """Read a history.

    Raises:
        NoHistory: There is none, or it can't be read.
    """
    if not path.exists():
        raise NoHistory("No console has kept a history of this run on this machine; give --server-log and --job-log.")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as base:
            return _read(base)
    except (sqlite3.Error, zlib.error, ValueError, OverflowError) as error:
        raise NoHistory(f"The history {path} can't be read ({error}).") from error


def _read(base: sqlite3.Connection) -> Kept:
    row = base.execute("SELECT saved_at, packed FROM state").fetchone()
    if row is None:
        raise NoHistory("The history of this run holds nothing yet; a console saves it every few seconds.")
    verdicts = base.execute("SELECT at, verdict, cause FROM verdicts ORDER BY at").fetchall()
    etas = base.execute("SELECT at, eta, low, high FROM etas ORDER BY at").fetchall()
    server = base.execute("SELECT at, running, queue, usage, throughput FROM server ORDER BY at").fetchall()
    return Kept(
        time_of(row[0]),
        zlib.decompress(row[1]),
        tuple(VerdictSample(time_of(at), verdict, cause) for at, verdict, cause in verdicts),
        tuple(
            EtaSample(time_of(at), time_of(eta), *(None if end is None else time_of(end) for end in ends))
            for at, eta, *ends in etas
        ),
        tuple(ServerSample(time_of(at), *figures) for at, *figures in server),
    )


def outline(history: Kept, at: datetime) -> Snapshot:
    """What the history still knows of a moment before its newest: the verdict, the end told, the server's figures.

    Datasets, lengths and reasons of that moment are not kept; they are left out, not guessed.
    """
    verdict, eta, server = (_newest(samples, at) for samples in (history.verdicts, history.etas, history.server))
    judged = Verdict(Judgement.BLIND, "logs_unreadable", "Nothing was kept of this moment.")
    if isinstance(verdict, VerdictSample):
        words = f"Judged so at the time; of its reasons only the cause was kept: {verdict.cause.replace('_', ' ')}."
        judged = Verdict(Judgement(verdict.verdict), verdict.cause, words, since=verdict.at)
    told = Eta(basis="The end as it was told then.")
    if isinstance(eta, EtaSample):
        told = Eta(eta.eta, eta.low, eta.high, basis=f"Told {age(eta.at, at)}.")
    view = ServerView()
    if isinstance(server, ServerSample):
        view = ServerView(
            running=server.running,
            queue=server.queue,
            token_usage=server.usage,
            gen_throughput=server.throughput,
            updated_at=server.at,
        )
    return Snapshot(at, judged, told, server=view, link=LinkView(state=""))


def newest(history: Kept, settings: Settings) -> tuple[Snapshot, Lengths, Forecasts]:
    """All that was known when the history was saved last, and what had been told of the ends until then.

    Raises:
        NoHistory: It was kept by another version of this program, or of another plan.
    """
    tracker = _thawed(history, settings)
    lengths = Lengths()
    lengths.take(history.saved_at, tracker.state)
    snapshot = tracker.snapshot(history.saved_at)
    return snapshot, lengths, tracker.forecasts


def _thawed(history: Kept, settings: Settings) -> Tracker:
    formats = tuple(pattern_format(each.name, each.regex, each.sample or "") for each in settings.job.patterns)
    try:
        zone = zone_named(str(literal_eval(key_of(history.state))[0]))
    except (NotOurs, ValueError, SyntaxError) as error:
        raise NoHistory(f"The history can't be read: {error}.") from error
    parts = settings.server.log_paths if len(settings.server.log_paths) > 1 else ()
    tracker = Tracker(replace(plan_of(settings), zone=zone), formats=formats, parts=parts)
    if not tracker.thaw(history.state):
        raise NoHistory("The history was kept by another version of longwait; open the console once to renew it.")
    return tracker


def zone_named(name: str) -> tzinfo:
    """A zone by its own name: ``Asia/Tokyo``, ``UTC``, ``UTC+09:00``.

    Raises:
        ValueError: It is none.
    """
    fixed = _FIXED.fullmatch(name)
    if fixed is None:
        return UTC if name == "UTC" else ZoneInfo(name)
    offset = timedelta(hours=int(fixed["hours"]), minutes=int(fixed["minutes"]))
    return timezone(-offset if fixed["sign"] == "-" else offset)


def _newest(samples: Sequence[VerdictSample | EtaSample | ServerSample], at: datetime) -> object:
    """The newest of them at a moment; None when there is none."""
    place = bisect_right(samples, at, key=lambda sample: sample.at)
    return samples[place - 1] if place else None
