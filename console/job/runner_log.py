"""The batch runner's log: the shapes that ``run_inference.py`` prints, and the progress that other jobs print."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta, timezone
from typing import TYPE_CHECKING

from console.job.bars import BARS
from console.job.events import Stamped, Unparsed
from console.job.formats import first
from console.job.job_events import (
    BudgetLeft,
    DatasetAnnounced,
    DatasetResumed,
    DatasetStarted,
    DatasetTokenized,
    JobTrouble,
    JobZone,
    Progress,
    RunStarted,
)
from console.job.runner_formats import FORMATS
from console.job.runner_trouble import TROUBLES
from console.job.stamps import StampReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime, tzinfo

    from console.job.events import Event
    from console.job.formats import Format

_RULER = re.compile(r"\s*([=\-_*#~+])\1{2,}\s*")
_TRACEBACK = "Traceback (most recent call last):"
_BETWEEN = ("During handling of the above exception", "The above exception was the direct cause")
_LONGEST = 300
"""Characters of a trouble's message; a screen shows one line of it."""


class RunnerLog:
    """Reads the job's log line by line.

    Args:
        zone: The zone of its stamps; the job's own word for it (``Time zone: ...``) replaces this.
        extra: Formats of the user's own, tried before ours.
    """

    def __init__(self, zone: tzinfo, extra: Iterable[Format] = ()) -> None:
        self._stamps = StampReader(zone)
        self._extra = tuple(extra)
        self._name = ""
        self._ours = False
        self._in_traceback = False

    def parse(self, line: str, seen_at: datetime) -> list[Stamped]:
        """What one cleaned line says; empty for lines that say nothing, ``Unparsed`` for those that nobody knows.

        Args:
            line: Without its end.
            seen_at: When it was first seen; stands in for a stamp that is missing.
        """
        stamp = self._stamps.read(line, seen_at)
        events = self._events(stamp.rest, stamp.before)
        if any(isinstance(event, JobZone) for event in events):
            stamp = self._stamps.read(line, seen_at)  # the line's own stamp is in the zone that it names
        if stamp.at is None:
            at = self._stamps.guess(seen_at, stamp.before)
            return [Stamped(at, event, guessed=True) for event in events]
        return [Stamped(stamp.at, event) for event in events]

    def needs_rest(self, lines: Sequence[str], seen_at: datetime) -> bool:
        """Whether the times of lines depend on those that follow; see ``StampReader.needs_rest``."""
        return self._stamps.needs_rest(lines, seen_at)

    def look_ahead(self, lines: Sequence[str], seen_at: datetime) -> None:
        """Learn from lines that are about to be read in one go how many days they span, where stamps have no date."""
        self._stamps.look_ahead(lines, seen_at)

    @property
    def set_back(self) -> tuple[datetime, float] | None:
        """When the log's clock was last seen to be set back, and by how many seconds."""
        return self._stamps.set_back

    def host_is_ahead(self, by: timedelta) -> None:
        """The host's clock was measured to be ahead of ours."""
        self._stamps.host_is_ahead(by)

    def _events(self, text: str, before: str = "") -> tuple[Event, ...]:
        """What the text behind the stamp says; a user's own pattern may also tell of what looks like a prefix."""
        text = text.rstrip()
        if not text or _RULER.fullmatch(text) or text.startswith(_BETWEEN):
            return ()
        own = first(self._extra, text) or (first(self._extra, before + text) if before else None)
        found = own or first(FORMATS, text) or self._bar(text)
        if found:
            self._in_traceback = False
            return tuple(self._named(event) for event in found[1])
        return self._trouble(text)

    def _bar(self, text: str) -> tuple[Format, tuple[Event, ...]] | None:
        """Another job's bar or counter; in our own job's log only its own lines count."""
        return None if self._ours or self._in_traceback else first(BARS, text)

    def _trouble(self, text: str) -> tuple[Event, ...]:
        """A traceback's last line, or a line that says that something failed."""
        if _TRACEBACK in text:
            self._in_traceback = True
            return ()
        if self._in_traceback:
            if text[0].isspace():
                return ()
            self._in_traceback = False
            return (JobTrouble(text.strip()[:_LONGEST], ends=True),)
        found = first(TROUBLES, text)
        return found[1] if found else (Unparsed(text),)

    def _named(self, event: Event) -> Event:
        """The event with the dataset's name filled in: the one announced last."""
        match event:
            case DatasetAnnounced() | DatasetTokenized():
                self._name, self._ours = event.name, True
            case JobZone():
                self._switch(event)
            case RunStarted():
                self._name = ""
            case DatasetResumed() | DatasetStarted() | BudgetLeft() | Progress() if not event.name and self._name:
                return replace(event, name=self._name)
            case _:
                pass
        return event

    def _switch(self, said: JobZone) -> None:
        """Stamps are in the zone that the job names from here on."""
        self._stamps.adopt(timezone(timedelta(seconds=said.utc_offset_s)))
