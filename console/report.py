"""``longwait report``: the decision record of a moment, or what happened in a whole run.

From recorded logs it is made by replaying them; without, from the history that the console keeps of a run.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from console.history_past import UNWATCHED, reading_near
from console.job.decision import Decision, Lengths, decide, decision_values
from console.job.decision_words import Section, clock, sections, verdict_line
from console.job.snapshot import Judgement
from console.journal import Kind, journal_of
from console.journal_words import headline, told
from console.planned import limits_of
from console.replay import tell_guesses, why
from console.replay_files import load
from console.replay_moments import BadMoment, moment_of, span_of
from console.replay_transport import Change, Survey
from console.replay_walk import Replay
from console.report_history import NoHistory, kept, newest, outline
from console.report_pages import markdown, page
from console.report_run import Story, story_sections, story_values
from console.run_files import path_of
from console.since_values import since_values

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo
    from typing import Any

    from console.config import Settings
    from console.job.snapshot import Snapshot
    from console.journal import Entry
    from console.replay_files import Given, Recording
    from console.report_history import Kept

OPTION = "--moment"


@dataclass(frozen=True, slots=True)
class Report:
    """A report, ready to be written in any format.

    Attributes:
        title: Its heading.
        lead: What it says, in a sentence.
        sections: Its parts.
        values: The same as plain values.
    """

    title: str
    lead: str
    sections: tuple[Section, ...]
    values: dict[str, Any]

    def written(self, form: str) -> str:
        """As text: ``md``, ``html`` or ``json``."""
        if form == "json":
            return json.dumps(self.values, indent=2)
        return (page if form == "html" else markdown)(self.title, self.lead, self.sections)


def run_report(given: Given, settings: Settings | None, moment: str | None, form: str, since: str | None = None) -> int:
    """Print the record of a moment, the report of the whole run, or what happened since a moment.

    Args:
        given: Recorded logs; without any the history is read that belongs to the settings.
        settings: The run's config, when there is one.
        moment: As the operator wrote it; None for the whole run.
        form: ``md``, ``html`` or ``json``.
        since: As the operator wrote it; None for the other two.
    """
    try:
        if since is not None:
            made = _since(given, settings, since)
        else:
            made = _of_logs(given, settings, moment) if given.names else _of_history(settings, moment)
    except (OSError, BadMoment) as error:
        click.echo(f"The report can't be made: {why(error)}", err=True)
        return 2
    except NoHistory as error:
        click.echo(f"The report can't be made: {error}", err=True)
        return 2
    click.echo(made.written(form).rstrip("\n"))
    return 0


# ---------------------------------------------------------------- from recorded logs


def _of_logs(given: Given, settings: Settings | None, moment: str | None) -> Report:
    recording = load(given, settings)
    tell_guesses(recording)
    zone = recording.plan.zone
    if moment is None:
        return story_report(told_by(recording), zone)
    at = moment_of(moment, *span_of(recording.logs), OPTION)
    return record_report(decided(recording, at), zone)


def decided(recording: Recording, at: datetime) -> Decision:
    """The record of a moment of a recording."""
    replay, lengths = Replay(recording.logs, recording.fresh), Lengths()
    for passed in replay.towards(at):
        lengths.take(passed.at, passed.state)
    final = replay.read_all(at)
    lengths.take(at, final.state)
    return decide(final.snapshot, lengths.told(), recording.limits)


def told_by(recording: Recording) -> Story:
    """The story of a whole recording."""
    first, last = span_of(recording.logs)
    replay, lengths, survey = Replay(recording.logs, recording.fresh), Lengths(), Survey()
    for passed in replay.towards(last):
        lengths.take(passed.at, passed.state)
        survey.take(passed.at, passed.verdict)
    final = replay.read_all(last)
    lengths.take(last, final.state)
    survey.take(last, final.snapshot.verdict)
    decision = decide(final.snapshot, lengths.told(), recording.limits)
    return Story(first, tuple(survey.changes), final.forecasts, decision)


# ---------------------------------------------------------------- from the history


def _of_history(settings: Settings | None, moment: str | None) -> Report:
    if settings is None:
        raise NoHistory("give --server-log or --job-log, or a config whose run a console has followed.")
    history = kept(path_of(settings))
    zone = datetime.now(UTC).astimezone().tzinfo or UTC  # the operator's: the host's was not kept
    if moment is None:
        entries = told(journal_of(settings, lambda: datetime.now(UTC)).entries(history.first))
        return story_report(_kept_story(history, settings), zone, entries)
    at = moment_of(moment, history.first, history.saved_at, OPTION)
    if at >= history.saved_at:
        snapshot, lengths, _ = newest(history, settings)
        return record_report(decide(snapshot, lengths.told(), limits_of(settings)), zone)
    return record_report(decide(_kept_reading(settings, at) or outline(history, at), (), limits_of(settings)), zone)


def _kept_reading(settings: Settings, at: datetime) -> Snapshot | None:
    """The whole reading that was kept last before a moment; None when that was too long before."""
    found = reading_near(path_of(settings), at)
    return found if found is not None and timedelta() <= at - found.at <= UNWATCHED else None


def _kept_story(history: Kept, settings: Settings) -> Story:
    """The story as it was kept while it happened."""
    changes = tuple(Change(sample.at, Judgement(sample.verdict), sample.cause, "") for sample in history.verdicts)
    snapshot, lengths, forecasts = newest(history, settings)
    return Story(history.first, changes, forecasts, decide(snapshot, lengths.told(), limits_of(settings)))


# ---------------------------------------------------------------- since a moment


def _since(given: Given, settings: Settings | None, words: str) -> Report:
    from console import report_since  # noqa: PLC0415 - only this report needs it

    present: datetime | None = None
    if given.names:
        recording = load(given, settings)
        tell_guesses(recording)
        told_since, zone = report_since.since_of_logs(recording, words), recording.plan.zone
    elif settings is None:
        raise NoHistory("give --server-log or --job-log, or a config whose run a console has followed.")
    else:
        present = datetime.now(UTC)
        told_since = report_since.since_of_history(settings, words, present)
        zone = present.astimezone().tzinfo or UTC
    return Report(
        report_since.since_title(told_since, zone),
        report_since.since_lead(told_since, present),
        report_since.since_sections(told_since, zone),
        since_values(told_since),
    )


# ---------------------------------------------------------------- as reports


def record_report(decision: Decision, zone: tzinfo) -> Report:
    """The record of a moment."""
    snapshot = decision.snapshot
    title = f"Decision record, {clock(snapshot.at, zone)}"
    return Report(title, verdict_line(snapshot, zone), sections(decision, zone), decision_values(decision))


def story_report(story: Story, zone: tzinfo, entries: Sequence[Entry] = ()) -> Report:
    """The report of a whole run.

    Args:
        story: The run.
        zone: In which times are written.
        entries: What is in its journal; none for recorded logs.
    """
    snapshot = story.decision.snapshot
    title = f"Run report, {clock(story.first, zone)} to {clock(snapshot.at, zone)}"
    parts = (*story_sections(story, zone), *_journal(entries, zone))
    values = {**story_values(story), "journal": [entry.values() for entry in entries]}
    return Report(title, verdict_line(snapshot, zone), parts, values)


def _journal(entries: Sequence[Entry], zone: tzinfo) -> tuple[Section, ...]:
    """Acts, refusals, proofs and notes; the verdicts stand in a table of their own."""
    rows = tuple(
        (clock(entry.at, zone), entry.user, str(entry.kind), headline(entry))
        for entry in entries
        if entry.kind != Kind.VERDICT
    )
    return (Section("What was done", (), ("at", "by", "what", "outcome"), rows),) if rows else ()
