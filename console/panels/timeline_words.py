"""A line of time as the strip's picture and in words; pure, so that panel, replay and report say the same."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from console.job import units
from console.job.snapshot import Judgement
from console.job.timeline_marks import MarkKind
from console.panels import words
from console.panels.dataset_columns import SIGNS as STATE_SIGNS
from widgets.strip import Picture, Pin, Stretch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo

    from console.job.timeline_changes import Change
    from console.job.timeline_marks import Mark
    from console.job.timeline_view import Timeline
    from widgets.scrub import Ribbon, Tone

TONES: dict[Judgement, Tone] = {
    Judgement.WAIT: "good",
    Judgement.BLIND: "blind",
    Judgement.WATCH: "warn",
    Judgement.INTERVENE: "bad",
}
"""The ribbon's tone for each verdict."""

PINS: dict[MarkKind, tuple[str, Tone]] = {
    MarkKind.NOTE: ("n", "good"),
    MarkKind.ACT: ("a", "good"),
    MarkKind.OPENED: ("o", "unread"),
    MarkKind.JOB_STARTED: ("J", "good"),
    MarkKind.SERVER_STARTED: ("S", "good"),
    MarkKind.ERRORS: ("e", "warn"),
    MarkKind.HEALTH_FAILS: ("h", "warn"),
    MarkKind.LOG_GAP: ("g", "warn"),
    MarkKind.LINK_LOST: ("l", "blind"),
    MarkKind.JOB_GONE: ("x", "bad"),
    MarkKind.SERVER_TROUBLE: ("X", "bad"),
}
"""The sign of each mark that has one; datasets stand in the row of names, an end of trouble in the list alone."""

_KNOWN_LATE = timedelta(minutes=2)
"""When verdicts are known only from so long after the run's begin on, it is said."""

MOST_WORDS = 3
"""Marks of one moment that are told in words; of more their number is told."""


def ribbon(timeline: Timeline) -> Ribbon:
    """Give what was judged where; where nobody looked nothing was."""
    changes = [(change.at, TONES[change.verdict]) for change in timeline.changes]
    stretches: list[tuple[datetime, Tone]] = []
    for begin, end in timeline.unwatched:
        before = [tone for at, tone in changes if at <= end]
        stretches += [(begin, "unread"), (end, before[-1] if before else "unread")]
    hidden = [(begin, end) for begin, end in timeline.unwatched]
    stretches += [(at, tone) for at, tone in changes if not any(begin < at < end for begin, end in hidden)]
    stretches.sort(key=lambda each: each[0])
    return tuple((timeline.share(at), tone) for at, tone in stretches)


def picture(timeline: Timeline, zone: tzinfo | None) -> Picture:
    """Give what the strip draws of a line of time."""
    ahead = timeline.eta
    shares = (timeline.share(ahead[0]), timeline.share(ahead[1]), timeline.share(ahead[2])) if ahead else None
    pins = ((mark, PINS[mark.kind]) for mark in timeline.marks if mark.kind in PINS and mark.at >= timeline.first)
    return Picture(
        tuple(
            Stretch(timeline.share(each.begin), timeline.share(each.end), each.name, STATE_SIGNS[each.state])
            for each in timeline.segments
        ),
        ribbon(timeline),
        timeline.share(timeline.now),
        shares,
        tuple(Pin(timeline.share(mark.at), sign, tone) for mark, (sign, tone) in pins),
        words.clock(timeline.first, timeline.now, zone),
        "now" if ahead else "",
        words.clock(timeline.last, timeline.now, zone),
    )


def title(timeline: Timeline, zone: tzinfo | None, trouble: str = "") -> str:
    """Give how long the run has lasted and will last, and from when on verdicts are known when that is not all.

    Args:
        timeline: The run.
        zone: The operator's zone; None is this machine's.
        trouble: Why the past can't be read; empty while all is well.
    """
    gone = f"{units.duration((timeline.now - timeline.first).total_seconds())} gone"
    left = ""
    if timeline.eta is not None:
        low, _, high = (units.duration((end - timeline.now).total_seconds()) for end in timeline.eta)
        left = f"{low} to {high} left"
    known = timeline.changes[0].at if timeline.changes else timeline.now
    late = known - timeline.first > _KNOWN_LATE
    since = f"verdicts known since {words.clock(known, timeline.now, zone)}" if late else ""
    return words.joined(gone, left, since, trouble)


def moment_words(timeline: Timeline, at: datetime, around: timedelta, zone: tzinfo | None) -> str:
    """Give what was at a moment: the time, what was judged, which dataset was at work, and what happened near it.

    Args:
        timeline: The run.
        at: The moment.
        around: So much before and behind counts as near.
        zone: The operator's zone; None is this machine's.
    """
    near = [mark for mark in timeline.marks_between(at - around, at + around) if mark.kind is not MarkKind.OPENED]
    told = [mark_words(mark) for mark in near[:MOST_WORDS]]
    more = f"and {len(near) - MOST_WORDS} more" if len(near) > MOST_WORDS else ""
    change = timeline.change_at(at)
    looked = not any(begin < at < end for begin, end in timeline.unwatched)
    judged = change.word if change else "verdict not known" if looked else "no console looked"
    at_work = " ".join(each.name for each in timeline.segments_at(at))
    return words.joined(words.clock(at, timeline.now, zone), judged, at_work, *told, more)


def mark_words(mark: Mark) -> str:
    """Give a mark in words: ``note by me@desk: seen``."""
    if mark.kind is MarkKind.NOTE:
        return f"note by {mark.by or units.UNKNOWN}: {mark.what}"
    return f"{mark.what.rstrip('.')}, by {mark.by}" if mark.by else mark.what


def change_words(change: Change) -> str:
    """Give a change of the verdict in words."""
    return f"{change.word}: {change.headline}" if change.headline else change.word


def event_rows(timeline: Timeline, zone: tzinfo | None) -> Iterator[tuple[datetime, str]]:
    """Give all that happened, a moment and a line each, oldest first."""
    told: list[tuple[datetime, str]] = [(each.at, change_words(each)) for each in timeline.changes]
    told += [(each.at, mark_words(each)) for each in timeline.marks]
    for at, line in sorted(told, key=lambda each: each[0]):
        if timeline.first <= at <= timeline.now:
            yield at, f"{words.clock(at, timeline.now, zone):<9}  {line}"
