"""``longwait report --since``: what happened from a moment up to the newest that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.chronicle import Chronicle, known_of
from console.history_past import UNWATCHED, past_of, reading_near
from console.job.decision_words import Section, clock
from console.job.timeline_changes import told_once
from console.job.units import age, duration
from console.journal import journal_of
from console.journal_words import since_of
from console.looked import last_look
from console.replay_moments import BadMoment, moment_of, span_of
from console.replay_transport import Survey
from console.replay_walk import Replay
from console.report_history import NoHistory, kept, newest, outline
from console.run_files import path_of
from console.since import Known, since
from console.since_words import sections

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from console.config import Settings
    from console.job.snapshot import Snapshot
    from console.replay_files import Recording
    from console.report_history import Kept
    from console.since import Since

LAST = "last"
"""Since a console of the run was last looked at."""

OPTION = "--since"


def since_of_logs(recording: Recording, words: str) -> Since:
    """What happened in a recording from a moment up to its end.

    Args:
        recording: The logs.
        words: ``2h`` before the end, ``start+1h``, ``end-30m``, or ISO 8601.

    Raises:
        BadMoment: The words name no moment.
    """
    first, last = span_of(recording.logs)
    begin = _recorded_moment(words, first, last)
    replay, survey = Replay(recording.logs, recording.fresh), Survey()
    then: Snapshot | None = None
    for passed in replay.towards(last):
        if then is None and passed.at >= begin:
            then = replay.read(passed.at)
        survey.take(passed.at, passed.verdict)
    now = replay.read(last)
    survey.take(last, now.verdict)
    return since(then, now, Known(told_once(survey.changes)), begin)


def _recorded_moment(words: str, first: datetime, last: datetime) -> datetime:
    if words == LAST:
        raise BadMoment(f"{OPTION} {LAST} is for a run that consoles follow; of recorded logs give 2h or start+1h.")
    if words.startswith(("start", "end")):
        return moment_of(words, first, last, OPTION)
    return _moment(words, last)


def since_of_history(settings: Settings, words: str, present: datetime) -> Since:
    """What happened in the config's run from a moment up to the newest that its history knows.

    Args:
        settings: The run.
        words: ``last``, ``2h`` before now, or ISO 8601.
        present: The time now.

    Raises:
        BadMoment: The words name no moment.
        NoHistory: There is none, or it does not know when somebody looked last.
    """
    path = path_of(settings)
    history = kept(path)
    begin = last_look(path) if words == LAST else _moment(words, present)
    if begin is None:
        raise NoHistory("It was not kept when a console of this run was last looked at; give --since 2h, for instance.")
    now, *_ = newest(history, settings)
    chronicle = Chronicle()
    chronicle.recall(past_of(path))
    chronicle.note(journal_of(settings, lambda: present).recent())
    return since(reading_near(path, begin) or outline_of(history, begin), now, known_of(chronicle), begin)


def outline_of(history: Kept, at: datetime) -> Snapshot | None:
    """What else is known of a moment; None when that is nothing."""
    return outline(history, at) if at >= history.first else None


def _moment(words: str, now: datetime) -> datetime:
    try:
        return since_of(words, now)
    except ValueError as error:
        raise BadMoment(f"{OPTION} {error}.") from error


def since_title(told: Since, zone: tzinfo) -> str:
    """The report's heading."""
    return f"From {clock(told.begin, zone)} to {clock(told.end, zone)}"


def since_lead(told: Since, present: datetime | None) -> str:
    """What the report says, in a sentence or two.

    Args:
        told: What happened.
        present: The time now, of a run that goes on; None for a recording.
    """
    happened = "Something happened" if told.happened else "Nothing happened"
    lead = f"{happened} in {duration(told.seconds)}. Now: {told.now.word}."
    late = present is not None and present - told.end > UNWATCHED
    known = f" What is known ends {age(told.end, present)}: no console has looked since." if late and present else ""
    return f"{lead}{known}"


def since_sections(told: Since, zone: tzinfo) -> tuple[Section, ...]:
    """The report's parts."""
    return sections(told, lambda at: clock(at, zone))
