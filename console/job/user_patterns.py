r"""Progress lines in the user's own words: a regular expression of the config becomes a format like the known ones.

Named groups say what a figure is: ``done`` (must be there), ``total``, ``errors``, ``tokens``, ``mean``, ``eta_s``,
``dataset``. Figures may have thousands separators (``10,000``, ``10_000``) and units (``1.2M``, ``12k``); a time left
may be seconds (``90``), ``1h30m`` or a clock (``1:30:00``). A total that is not printed is left as it was known.

An expression can take for ever on an unlucky line, and Python can't stop a search. So only the first 2,000 characters
of a line are searched, and a repeat within a repeat, such as ``(\d+,?)+``, whose time doubles with each character, is
refused at once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.job.endless import may_never_end
from console.job.figures import clock, magnitude, real, seconds
from console.job.formats import Format
from console.job.job_events import Progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from console.job.events import Event

LONGEST = 2_000
"""Characters of a line that are searched."""
GROUPS = frozenset({"dataset", "done", "total", "errors", "tokens", "mean", "eta_s"})
"""Named groups that a pattern may have."""
_SEPARATORS = str.maketrans("", "", ",_' \u00a0\u202f")
"""Marks that people put between thousands."""
_NAME = 200
"""Characters of a dataset's name."""


def pattern_format(name: str, regex: str, sample: str) -> Format:
    """A format that reads progress from lines of the user's own.

    Args:
        name: What it is called in reports.
        regex: A regular expression with named groups; searched in a line without its stamp.
        sample: A line that it finds; empty when none is known.

    Raises:
        ValueError: It is no regular expression, or lacks ``done``, or has a group of another name.
    """
    try:
        pattern = re.compile(regex)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"pattern {name} is no regular expression: {error}") from error
    if "done" not in pattern.groupindex:
        raise ValueError(f"pattern {name} has no group named done: (?P<done>...)")
    if unknown := sorted(set(pattern.groupindex) - GROUPS):
        raise ValueError(f"pattern {name} has unknown groups {', '.join(unknown)}; known: {', '.join(sorted(GROUPS))}")
    if may_never_end(regex):
        raise ValueError(
            f"pattern {name} repeats a part that repeats or chooses itself, as in (a+)+ or (a|b)*, or has .* three"
            " times; such a search may never end"
        )
    return UserFormat(name, "", pattern, _progress, (sample,) if sample else ())


class UserFormat(Format):
    """A format whose pattern is not to be trusted with a whole line."""

    __slots__ = ()

    def read(self, text: str) -> tuple[Event, ...] | None:
        """The progress that a line tells of; None for any other line."""
        found = self.pattern.search(text[:LONGEST])
        return None if found is None else self.make(found)


def describe(formats: Iterable[Format], lines: Sequence[str]) -> list[tuple[str, int]]:
    """How many of some lines each format finds, in the order of the formats.

    Args:
        formats: As ``pattern_format`` makes them.
        lines: Of the real log, with or without their stamps.
    """
    return [(known.name, sum(known.read(line) is not None for line in lines)) for known in formats]


def _progress(found: re.Match[str]) -> tuple[Event, ...] | None:
    """The progress of a line; None when what is done is no figure."""
    groups = found.groupdict()
    done, total = _count(groups["done"]), _count(groups.get("total"))
    if done is None or (total is not None and done > total):
        return None
    return (
        Progress(
            (groups.get("dataset") or "").strip()[:_NAME],
            done,
            total or 0,
            _count(groups.get("errors")) or 0,
            mean_completion_tokens=_figure(groups.get("mean")),
            tokens=_count(groups.get("tokens")),
            eta_s=_time_left(groups.get("eta_s")),
        ),
    )


def _figure(text: str | None) -> float | None:
    return magnitude((text or "").translate(_SEPARATORS))


def _count(text: str | None) -> int | None:
    value = _figure(text)
    return None if value is None else round(value)


def _time_left(text: str | None) -> float | None:
    """``90``, ``1.5h``, ``1h30m`` or ``1:30:00`` in seconds."""
    text = (text or "").strip()
    if ":" in text:
        return clock(text)
    left = real(text)
    return left if left is not None and left >= 0 else seconds(text)
