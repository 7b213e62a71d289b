"""One dataset's charts: what the widgets draw, from what was looked up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from console.job import units
from console.job.snapshot import DatasetState, DatasetView
from console.panels.dataset_columns import ENDED, is_seen
from widgets.band import Span
from widgets.histogram import Bin, Mark

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import tzinfo

    from console.job.dataset_detail import DatasetDetail

STEPS = (
    *(timedelta(seconds=seconds) for seconds in (10, 30)),
    *(timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 15, 30)),
    *(timedelta(hours=hours) for hours in (1, 2, 3, 6, 12, 24, 48, 120, 240)),
)
"""Times between two figures of an axis, of which the first is taken that gives no more than ``TICKS``."""

MINUTE = timedelta(minutes=1)
"""Steps below this need seconds in their figures."""

TICKS = 12
"""Figures of a time axis at most."""

FARTHEST = 1.6
"""The axis goes on to the latest end that was ever said, but no farther than so many times what is shown otherwise."""

SHORTEST_S = 60.0
"""Seconds that are shown at least."""

SLIP = 0.03
"""Free part of the axis behind the last thing on it."""


def histogram(detail: DatasetDetail) -> tuple[Bin, ...]:
    """Give the lengths as the widget counts them."""
    return tuple(Bin(one.low, one.high, one.finished, one.flying) for one in detail.lengths.bins)


def length_marks(view: DatasetView) -> tuple[Mark, ...]:
    """Give the lengths to be marked: the cap, the mean of the finished, and the mean that is expected of all."""
    marks = []
    if view.max_tokens:
        marks.append(Mark(float(view.max_tokens), "┃", f"cap {units.count(view.max_tokens)} tok"))
    if view.mean_completion_tokens:
        marks.append(Mark(view.mean_completion_tokens, "▼", f"mean {units.count(view.mean_completion_tokens)} tok"))
    if view.expected_completion_tokens and view.state not in ENDED:
        expected = units.count(view.expected_completion_tokens)
        marks.append(Mark(view.expected_completion_tokens, "▽", f"expected {expected} tok"))
    return tuple(marks)


def lengths_title(detail: DatasetDetail | None) -> tuple[str, ...]:
    """Say what the histogram shows, in ever fewer words."""
    if detail is None or not detail.lengths.bins:
        return ("Lengths",)
    lengths = detail.lengths
    source = "progress.jsonl" if lengths.source == "progress" else "server's log, reconstructed"
    count = units.plural(lengths.counted, "completion")
    whose = f" of {detail.at_work} datasets" if detail.at_work > 1 else ""
    if not lengths.ages:
        return (f"Lengths: {count} · {source}", f"Lengths: {count}", "Lengths")
    flying = f"░ {units.count(len(lengths.ages))} in flight"
    return (
        f"Lengths: {count}, {flying} so far{whose} · {source}",
        f"Lengths: {count}, {flying} so far{whose}",
        f"Lengths: {count}, {flying}{whose}",
        f"Lengths: {count}, {flying}",
        f"Lengths: {count}",
        "Lengths",
    )


def no_lengths(view: DatasetView, detail: DatasetDetail | None) -> str:
    """Say why there is no histogram."""
    if detail is None or not is_seen(view) or view.state in {DatasetState.WAITING, DatasetState.LOADING}:
        return "No completion yet."
    if detail.has_progress or detail.has_server:
        return "Single lengths can't be told: the logs at hand do not let its requests be told apart."
    return "Single lengths can't be told: neither progress.jsonl nor the server's log is read."


@dataclass(frozen=True, slots=True)
class Course:
    """What the band shows; times in seconds since the epoch.

    Attributes:
        curve: Time and share done.
        spans: Where the end was expected.
        reach: Left and right edge.
        end: When it ended; None while it has not.
        ticks: Times to be named.
    """

    curve: tuple[tuple[float, float], ...] = ()
    spans: tuple[Span, ...] = ()
    reach: tuple[float, float] = (0.0, 1.0)
    end: float | None = None
    ticks: tuple[tuple[float, str], ...] = ()


def course(view: DatasetView, detail: DatasetDetail, now: datetime, zone: tzinfo | None) -> Course:
    """Lay out how far a dataset was over time, and what was said of its end.

    Args:
        view: The dataset's line in the snapshot: where it tells no end, none is drawn for now.
        detail: What was looked up.
        now: The present.
        zone: The operator's zone; None is this machine's.
    """
    curve = tuple((point.at.timestamp(), point.share) for point in detail.path)
    untold = view.eta is None and detail.ended_at is None
    spans = tuple(
        Span(one.share, one.told.low.timestamp(), one.told.middle.timestamp(), one.told.high.timestamp())
        for one in detail.said
        if not untold or one.told.at < detail.at
    )
    if not curve and not spans:
        return Course()
    end = detail.ended_at.timestamp() if detail.ended_at is not None else None
    first = curve[0][0] if curve else min(now.timestamp(), detail.said[0].told.at.timestamp())
    last = max([now.timestamp() if end is None else end, *(at for at, _ in curve[-1:])])
    if end is None and spans:
        last = max(last, spans[-1].high)
    farthest = max([last, *(span.high for span in spans)])
    last = max(first + SHORTEST_S, min(farthest, first + FARTHEST * max(SHORTEST_S, last - first)))
    last += SLIP * (last - first)
    if untold and spans:
        spans = (*spans, Span(curve[-1][1] if curve else 0.0, *(last + 1.0,) * 3))  # nothing in the rows above
    return Course(curve, spans, (first, last), end, tuple(ticks(first, last, zone)))


def ticks(first: float, last: float, zone: tzinfo | None) -> Iterable[tuple[float, str]]:
    """Give round times of day in the operator's zone, those of midnight with their day, which come first.

    Args:
        first: Seconds since the epoch.
        last: The same, later.
        zone: The operator's zone; None is this machine's.
    """
    span = last - first
    if not span > 0:
        return
    step = next((each for each in STEPS if span / each.total_seconds() <= TICKS), None)
    if step is None:
        return
    begin = datetime.fromtimestamp(first, zone).astimezone(zone)
    midnight = begin.replace(hour=0, minute=0, second=0, microsecond=0)
    # By the clock on the wall, as all that follows: the sum of a day's first hours is another where summer time begins.
    at = midnight + max(0, (begin.replace(tzinfo=None) - midnight.replace(tzinfo=None)) // step) * step
    found = []
    while (moment := at.timestamp()) <= last:
        # Where summer time begins, the clock on the wall has no such hour.
        if moment >= first and datetime.fromtimestamp(moment, at.tzinfo).hour == at.hour:
            new_day = at.hour == 0 and at.minute == 0 and at.second == 0
            clock = f"{at:%H:%M:%S}" if step < MINUTE else f"{at:%H:%M}"
            found.append((not new_day, moment, f"{at:%a %d}" if new_day else clock))
        at += step
    edges = {found[0][1], found[-1][1]} if found else set()
    found.sort(key=lambda one: (one[0] and one[1] not in edges, one[1]))
    yield from ((moment, text) for _, moment, text in found)


def course_title(detail: DatasetDetail | None) -> tuple[str, ...]:
    """Say what the band shows, in ever fewer words."""
    if detail is None or not detail.said:
        return ("Done over time", "Done")
    if detail.ended_at is not None:
        return (
            "Done over time; ░ where its end was expected when so much was done, ┃ where it came",
            "Done over time; ░ where its end was expected, ┃ came",
            "Done over time",
        )
    return (
        "Done over time; ░ where its end was expected when so much was done, above: now",
        "Done over time; ░ where its end was expected then",
        "Done over time",
    )
