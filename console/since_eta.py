"""The run's end as it was told then and now, and why it moved as far as the figures tell. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.job.snapshot import DatasetState
from console.job.timeline_marks import MarkKind
from console.job.units import count, plural, rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from console.job.snapshot import DatasetView, Eta, Snapshot
    from console.job.timeline_marks import Mark

_SLOWER = 0.05
"""Share by which the throughput must differ to be named as a reason of a later or an earlier end: below, it wavers."""

_LONGER = 0.03
"""Likewise the expected length of the completions."""

_MOVED_S = 300.0
"""Seconds by which the end must have moved for a reason to be sought."""

_NAMED_OUTAGE_S = 60.0
"""Seconds of a standstill that are named as a reason."""

NEWS_S = 1_800.0
"""Seconds by which the end must have moved to be news of itself: by less it wavers with every progress line."""


@dataclass(frozen=True, slots=True)
class Ended:
    """An end that was told, then and now.

    Attributes:
        then: What was told when somebody last looked; None when it is not known, or none was told.
        now: What is told now.
        reasons: Why it moved, as far as the figures tell, a phrase each.
    """

    then: Eta | None
    now: Eta
    reasons: tuple[str, ...] = ()

    @property
    def moved_s(self) -> float | None:
        """By how many seconds the middle moved, later counting above 0; None when one of the two is not known."""
        if self.then is None or self.then.at is None or self.now.at is None:
            return None
        return (self.now.at - self.then.at).total_seconds()


def ended(then: Snapshot | None, now: Snapshot, marks: Sequence[Mark]) -> Ended | None:
    """The run's end, then and now, and why it moved as far as the figures tell; None when none was ever told."""
    if now.eta.at is None and (then is None or then.eta.at is None):
        return None
    plain = Ended(None if then is None else then.eta, now.eta)
    moved_s = plain.moved_s
    if then is None or moved_s is None or abs(moved_s) < _MOVED_S or now.verdict.cause == "finished":
        return plain
    return Ended(then.eta, now.eta, tuple(_reasons(then, now, marks, later=moved_s > 0)))


def _reasons(then: Snapshot, now: Snapshot, marks: Sequence[Mark], *, later: bool) -> Iterator[str]:
    """What differs in the direction in which the end moved; none of it is a proof, and several may hold at once."""
    was, made = (view.server.usual_throughput or view.server.gen_throughput for view in (then, now))
    if was and made and abs(made - was) > _SLOWER * was and (made < was) == later:
        yield f"{rate(made)} are usual, {rate(was)} were"
    before = {view.name: view for view in then.datasets}
    for view in now.datasets:
        former = before.get(view.name)
        if former is not None and (words := _length(former, view, later=later)):
            yield words
    if later:
        starts = [mark for mark in marks if mark.kind in {MarkKind.JOB_STARTED, MarkKind.SERVER_STARTED}]
        if starts:
            yield ", ".join(dict.fromkeys(mark.what for mark in starts))
        failing_s = sum(mark.count for mark in marks if mark.kind is MarkKind.HEALTH_OK)
        if failing_s >= _NAMED_OUTAGE_S:
            yield f"the server's health failed for {plural(round(failing_s / 60), 'minute')}"


def _length(then: DatasetView, now: DatasetView, *, later: bool) -> str:
    """How the completions that are expected of a dataset changed, when that is in the direction of its end's move."""
    was, is_now = then.expected_completion_tokens, now.expected_completion_tokens
    at_work = now.state in {DatasetState.RUNNING, DatasetState.LOADING}
    if not was or not is_now or not at_work or abs(is_now - was) <= _LONGER * was or (is_now > was) != later:
        return ""
    return f"completions of {now.name} are expected to be {count(is_now)} tokens long, {count(was)} were"
