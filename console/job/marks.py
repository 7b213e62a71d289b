"""How far a dataset was at moments: what its recent pace and its recent completions are told by."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime, timedelta

_KEPT = 48
"""Marks kept: an hour and a half of progress lines of 50 completions each, three quarters of an hour of minutes."""

_APART_S = 60.0
"""Heartbeats come every few seconds; marks are this far apart at least."""


class Mark(NamedTuple):
    """A dataset's counts at one moment.

    Attributes:
        at: By the job's clock.
        done: Prompts done by the newest process.
        tokens: Completion tokens of the dataset in all; None when not known.
    """

    at: datetime
    done: int
    tokens: int | None


class Stretch(NamedTuple):
    """What was done between two marks.

    Attributes:
        seconds: Between them.
        done: Completions.
        mean: Their mean length, tokens; None when not known.
    """

    seconds: float
    done: int
    mean: float | None

    @property
    def per_s(self) -> float:
        """Completions a second."""
        return self.done / self.seconds if self.seconds > 0 else 0.0


Marks = tuple[Mark, ...]
"""Oldest first."""


def marked(marks: Marks, mark: Mark, *, apart_s: float = 0.0) -> Marks:
    """The marks with one more; one that is no news, or comes too soon after the last, changes nothing."""
    if marks:
        last = marks[-1]
        if mark.done <= last.done or (mark.at - last.at).total_seconds() <= apart_s:
            return marks
    return (*marks, mark)[-_KEPT:]


def beat(marks: Marks, mark: Mark) -> Marks:
    """Likewise for a heartbeat, of which only one a minute is kept."""
    return marked(marks, mark, apart_s=_APART_S)


def between(old: Mark, new: Mark) -> Stretch:
    """What was done from one mark to another."""
    done = new.done - old.done
    known = old.tokens is not None and new.tokens is not None and done > 0
    mean = (new.tokens - old.tokens) / done if known else None  # type: ignore[operator]  # both are known
    return Stretch((new.at - old.at).total_seconds(), done, mean)


def latest(marks: Marks, least: int) -> Stretch | None:
    """The newest stretch of at least so many completions; None when there is none."""
    return next((between(mark, marks[-1]) for mark in reversed(marks) if marks[-1].done - mark.done >= least), None)


def windows(marks: Marks, width: timedelta) -> tuple[Stretch, Stretch] | None:
    """The newest stretch of at least a width, and the one of at least the same width before it; None of fewer marks."""
    if not marks:
        return None
    middle = next((mark for mark in reversed(marks) if marks[-1].at - mark.at >= width), None)
    if middle is None:
        return None
    first = next((mark for mark in reversed(marks) if middle.at - mark.at >= width), None)
    return None if first is None else (between(first, middle), between(middle, marks[-1]))
