"""Figures of many runs as tables on stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.judgement.naive import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.judgement.score_eta import Said

_DASH = "--"


def quantile(values: Sequence[float], share: float) -> float | None:
    """Quantile by linear interpolation; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def percent(value: float | None) -> str:
    """``12.3 %``, or dashes."""
    if value is None:
        return _DASH
    return f"{100 * value:.1f} %" if value < 10 else f"{100 * value:.0f} %"  # noqa: PLR2004 - no decimals from 1000 % on


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A title, a head and rows, in columns."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    text = [title]
    for line in lines:
        first, *rest = (cell.ljust(w) if not n else cell.rjust(w) for n, (cell, w) in enumerate(zip(line, widths)))  # noqa: B905 - lengths are equal by construction
        text.append("  ".join((first, *rest)).rstrip())
    return "\n".join(text) + "\n"


def missing_as(errors: Sequence[float | None], value: float) -> list[float]:
    """Errors in which nothing said counts as so much."""
    return [value if error is None else error for error in errors]


def eta_table(title: str, said: Sequence[Said], stages: Sequence[float]) -> str:
    """Errors, ranges and simpler estimators by stage; where nothing was said, the error counts as 100 %."""
    head = ("stage", "n", "median", "90th", "none", "coverage", "width", *NAMES)
    rows = []
    for stage in stages:
        here = [each for each in said if each.stage == stage]
        errors = missing_as([each.error for each in here], 1.0)
        holds = [each.holds for each in here if each.holds is not None]
        widths = [each.width for each in here if each.width is not None]
        simpler = (
            quantile(
                [
                    abs(value - each.left_s) / each.left_s
                    for each in here
                    if (value := each.naive.get(name)) is not None
                ],
                0.5,
            )
            for name in NAMES
        )
        rows.append(
            (
                f"{100 * stage:g} %",
                str(len(here)),
                percent(quantile(errors, 0.5)),
                percent(quantile(errors, 0.9)),
                str(sum(each.said_s is None for each in here)),
                percent(sum(holds) / len(holds) if holds else None),
                percent(quantile(widths, 0.5)),
                *map(percent, simpler),
            )
        )
    return table(title, head, rows)


def worst(said: Sequence[Said], least_stage: float, count: int = 8) -> str:
    """The worst cases from a stage on, by seed."""
    known = [each for each in said if each.stage >= least_stage]
    known.sort(key=lambda each: -(each.error if each.error is not None else 1.0))
    lines = [
        f"  {each.where} at {100 * each.stage:g} %: {_hours(each.said_s)} said, {_hours(each.left_s)} true"
        f" ({percent(each.error)})"
        for each in known[:count]
    ]
    return "\n".join(["worst:", *lines, ""])


def _hours(seconds: float | None) -> str:
    return _DASH if seconds is None else f"{seconds / 3600:.2f} h"
