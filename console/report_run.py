"""The report of a whole run: what happened, what was decided, and how good the ends told were."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from console.job.decision import decision_values, iso
from console.job.decision_words import Section, clock, datasets, sections, trajectory, verdict_line
from console.job.forecasts import RUN
from console.job.snapshot import Judgement
from console.job.units import duration, percent, plural

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo

    from console.job.decision import Decision
    from console.job.decision_words import Row
    from console.job.forecasts import End, Forecasts
    from console.replay_transport import Change

SHOWN_FORECASTS = 24
"""Forecasts that are written out, evenly chosen; JSON has all."""


@dataclass(frozen=True, slots=True)
class Story:
    """A run as it was judged over time.

    Attributes:
        first: Its first moment.
        changes: The verdicts, oldest first.
        forecasts: The ends told, on the quarter of an hour.
        decision: The record of its last moment.
    """

    first: datetime
    changes: tuple[Change, ...]
    forecasts: Forecasts
    decision: Decision

    @property
    def last(self) -> datetime:
        """Its last moment."""
        return self.decision.snapshot.at


def story_sections(story: Story, zone: tzinfo) -> tuple[Section, ...]:
    """The report's parts.

    Args:
        story: The run.
        zone: In which times are written.
    """
    snapshot = story.decision.snapshot
    record = {section.title: section for section in sections(story.decision, zone)}
    made = (
        Section("How it stands", (verdict_line(snapshot, zone), *snapshot.verdict.evidence)),
        datasets(snapshot.datasets, zone),
        record.get("End of the run", Section("")),
        Section("What was decided", tuple(_shares(story)), *_table(story, zone)),
        Section("Completion length", tuple(trajectory(story.decision.lengths, zone))),
        Section("How good the ends told were", tuple(_score(story.forecasts)), *_ends(story.forecasts, zone)),
        Section("What was told of the end", (), *_forecasts(story.forecasts, zone)),
    )
    return tuple(section for section in made if section.lines or section.rows)


def _spans(story: Story) -> Iterator[tuple[Change, float]]:
    """Each change, and for how many seconds it held."""
    ends = [change.at for change in story.changes[1:]] + [story.last]
    for change, end in zip(story.changes, ends, strict=True):
        yield change, (end - change.at).total_seconds()


def _shares(story: Story) -> Iterator[str]:
    spans = list(_spans(story))
    held = {each: sum(seconds for change, seconds in spans if change.verdict is each) for each in Judgement}
    words = ", ".join(f"{each.value} {duration(seconds)}" for each, seconds in held.items() if seconds)
    yield f"In {duration((story.last - story.first).total_seconds())}: {words or 'nothing'}."
    told = [change.verdict is Judgement.INTERVENE for change in story.changes]
    calls = sum(now and not before for before, now in pairwise([False, *told]))
    yield f"To intervene was called for {plural(calls, 'time')}." if calls else "Nothing called for an intervention."


def _table(story: Story, zone: tzinfo) -> tuple[Row, tuple[Row, ...]]:
    head = ("from", "for", "verdict", "cause", "said at first")
    rows = tuple(
        (clock(change.at, zone), duration(seconds), change.verdict.value, change.cause, change.headline)
        for change, seconds in _spans(story)
    )
    return (head, rows) if rows else ((), ())


def _score(forecasts: Forecasts) -> Iterator[str]:
    told = sum(len(end.told) for end in forecasts.ends)
    if not told:
        return
    words = forecasts.score().words()
    if words:
        yield f"{words[0].upper()}{words[1:]}, each told to hold in four of five."
    else:
        yield f"{plural(told, 'range')} told; no end has come yet, so none can be judged."


def _ends(forecasts: Forecasts, zone: tzinfo) -> tuple[Row, tuple[Row, ...]]:
    """The ends that came: how many ranges were told of each, how many held, and how far off their middles were."""
    head = ("end of", "came", "ranges told", "held", "middle off by (median, of the time left)")
    rows = tuple(
        (
            end.name or "the run",
            clock(end.ended_at, zone),
            str(len(end.told)),
            str(sum(told.holds(end.ended_at) for told in end.told)),
            percent(_error(end, end.ended_at)),
        )
        for end in forecasts.ends
        if end.ended_at is not None
    )
    return (head, rows) if rows else ((), ())


def _error(end: End, came: datetime) -> float | None:
    """Median over what was told: ``|middle - end| / time left``; None when nothing was told before it came."""
    errors = [abs(told.middle - came) / (came - told.at) for told in end.told if told.at < came]
    return median(errors) if errors else None


def _forecasts(forecasts: Forecasts, zone: tzinfo) -> tuple[Row, tuple[Row, ...]]:
    """What was told of the run's end, evenly chosen."""
    told = forecasts.of(RUN)
    step = max(1, -(-len(told) // SHOWN_FORECASTS))
    rows = tuple(
        (clock(each.at, zone), clock(each.middle, zone), f"{clock(each.low, zone)} to {clock(each.high, zone)}")
        for each in told[::step]
    )
    return (("told at", "end of the run", "range"), rows) if rows else ((), ())


def _end_values(end: End) -> dict[str, Any]:
    came = end.ended_at
    return {
        "of": end.name or None,
        "ended_at": iso(came),
        "told": [
            {
                "at": iso(told.at),
                "eta": iso(told.middle),
                "eta_low": iso(told.low),
                "eta_high": iso(told.high),
                "held": None if came is None else told.holds(came),
            }
            for told in end.told
        ],
    }


def story_values(story: Story) -> dict[str, Any]:
    """The report as plain values, ready for ``json.dumps``."""
    score = story.forecasts.score()
    return {
        "from": iso(story.first),
        "to": iso(story.last),
        "verdicts": [
            {
                "at": iso(change.at),
                "seconds": round(seconds),
                "verdict": change.verdict.value,
                "cause": change.cause,
                "headline": change.headline,
            }
            for change, seconds in _spans(story)
        ],
        "ends": [_end_values(end) for end in story.forecasts.ends],
        "ranges_judged": score.told,
        "ranges_held": score.held,
        "record": decision_values(story.decision),
    }
