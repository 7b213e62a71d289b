"""The datasets' figures side by side: which of them stand in the line, by the width there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from console.job import units
from console.job.snapshot import DatasetState, DatasetView, Trend
from console.panels import words
from widgets.plain import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime, tzinfo

SIGNS = {
    DatasetState.WAITING: "·",
    DatasetState.LOADING: "…",
    DatasetState.RUNNING: "▶",
    DatasetState.SKIPPED: "»",
    DatasetState.BUDGET_REACHED: "✓",
    DatasetState.DONE: "✓",
    DatasetState.STOPPED: "■",
}
"""A sign for each state; the word stands beside it, where there is room."""

STATE_WORDS = {DatasetState.BUDGET_REACHED: "budget"}
"""Shorter words where the state's own is too long for a column."""

STATE_CELLS = len("▶ running")
"""Cells of the state's column: the longest sign and word."""

ENDED = frozenset({DatasetState.SKIPPED, DatasetState.BUDGET_REACHED, DatasetState.DONE})
"""States in which nothing more is to come."""

ARROWS = {Trend.RISING: "↗", Trend.FLAT: "→", Trend.FALLING: "↘", Trend.UNKNOWN: ""}
"""A sign for each tendency of a figure."""


def is_seen(view: DatasetView) -> bool:
    """Tell whether anything was said of a dataset but its plan; before that its counts are unknown, not 0."""
    return view.updated_at is not None or view.state is not DatasetState.WAITING or view.done > 0


def made(tokens: int | None, budget: int | None) -> str:
    """Give tokens made of the budget: ``6.9/10.0 M tok``, or ``950/10.0 k tok``."""
    have, most = units.tokens(tokens), units.tokens(budget)
    if budget is None:
        return f"{have} tok"
    scale = most.rpartition(" ")[2]
    return f"{have.removesuffix(f' {scale}')}/{most} tok"


def counts(view: DatasetView) -> str:
    """Give the prompts done of all."""
    return f"{units.count(view.done if is_seen(view) else None)}/{units.count(view.total)}"


def done_share(view: DatasetView) -> str:
    """Give how far it is in per cent; 100 % is said of the whole only."""
    share = view.share if is_seen(view) else None
    return units.UNKNOWN if share is None else f"{int(share * 100 + 1e-9)} %"


def mean(view: DatasetView, unit: str = "tok/req") -> str:
    """Give the mean completion, and how it moves."""
    return f"{units.count(view.mean_completion_tokens)} {unit} {ARROWS[view.mean_trend]}".rstrip()


def ends(view: DatasetView, now: datetime, zone: tzinfo | None) -> str:
    """Give when it ends, the middle of the range."""
    return "ended" if view.state in ENDED else f"ends {words.clock(view.eta, now, zone)}"


def ends_between(view: DatasetView, now: datetime, zone: tzinfo | None) -> str:
    """Give when it ends, as a range: ``ends 04:05..05:20``; the day of the late end only where it is another one."""
    if view.state in ENDED or view.eta_low is None or view.eta_high is None:
        return ends(view, now, zone)
    low, high = (words.clock(at, now, zone) for at in (view.eta_low, view.eta_high))
    same_day = view.eta_low.astimezone(zone).date() == view.eta_high.astimezone(zone).date()
    late = high.rpartition(" ")[2] if same_day else high
    return f"ends {low}" if low == high else f"ends {low}..{late}"


@dataclass(frozen=True, slots=True)
class Laid:
    """The lines of the datasets, laid out.

    Attributes:
        names: Cells of the names' column.
        worded: The state's word stands beside its sign.
        rows: For each dataset its figures, padded so that each stands below its like; empty ones are left out.
        errors: The place of the errors among the figures; None where they are not shown.
    """

    names: int
    worded: bool
    rows: tuple[tuple[str, ...], ...]
    errors: int | None


_Cell = str
_LEVELS: tuple[tuple[int, bool, int, tuple[_Cell, ...]], ...] = (
    (24, True, 24, ("counts", "range", "errors", "mean", "tokens", "rate")),
    (24, True, 16, ("counts", "range", "errors", "mean", "tokens")),
    (24, True, 12, ("counts", "range", "errors", "mean")),
    (20, True, 8, ("counts", "range", "errors", "mean_short")),
    (16, False, 8, ("counts", "range", "errors", "mean_short")),
    (20, True, 10, ("counts", "end", "errors", "mean")),
    (20, True, 8, ("counts", "end", "errors", "mean_short")),
    (16, False, 8, ("counts", "end", "errors", "mean_short")),
    (14, True, 8, ("counts", "end", "errors")),
    (14, False, 8, ("counts", "end", "errors")),
    (12, False, 8, ("percent", "end", "errors")),
    (10, False, 6, ("percent", "end", "errors")),
    (8, False, 4, ("percent", "errors")),
)
"""From the widest on: cells of a name at most, whether the state's word stands, cells of a bar at least, figures.

Requests a second go first, for they say nothing that the mean length does not explain; then the tokens, whose budget is
the mark on the bar; then the unit's second half, the word beside the sign, the range's two ends, the mean. Share, end
and errors stay.
"""


def laid(views: Sequence[DatasetView], now: datetime, zone: tzinfo | None, width: int) -> Laid:
    """Lay the datasets' lines for a width.

    Args:
        views: The datasets.
        now: The present.
        zone: The operator's zone; None is this machine's.
        width: Cells of a line.
    """
    idle = {"errors"} if not any(view.errors for view in views) else set()
    idle |= {"rate"} if not any(view.state is DatasetState.RUNNING for view in views) else set()
    longest = max((cell_len(clean(view.name)) for view in views), default=0)
    written: dict[_Cell, list[str]] = {}
    best = Laid(0, worded=False, rows=((),) * len(views), errors=None)
    for most, worded, bar, wanted in _LEVELS:
        kept = [cell for cell in wanted if cell not in idle]
        for cell in kept:
            if cell not in written:
                written[cell] = columns([_MAKERS[cell](view, now, zone) for view in views])
        table = [written[cell] for cell in kept]
        names = min(longest, most)
        best = Laid(names, worded, tuple(zip(*table, strict=True)), kept.index("errors") if "errors" in kept else None)
        taken = sum(max(map(cell_len, column), default=0) + 2 for column in table) - 1
        if names + 1 + (STATE_CELLS if worded else 1) + 1 + bar + taken <= width:
            break
    return best


def columns(cells: Sequence[str]) -> list[str]:
    """Pad the figures of a column on the left."""
    width = max(map(cell_len, cells), default=0)
    return [" " * (width - cell_len(cell)) + cell for cell in cells]


_MAKERS: dict[_Cell, Callable[[DatasetView, datetime, tzinfo | None], str]] = {
    "counts": lambda view, _now, _zone: counts(view),
    "percent": lambda view, _now, _zone: done_share(view),
    "end": ends,
    "range": ends_between,
    "errors": lambda view, _now, _zone: f"{units.count(view.errors if is_seen(view) else None)} err",
    "mean": lambda view, _now, _zone: mean(view),
    "mean_short": lambda view, _now, _zone: mean(view, "tok"),
    "tokens": lambda view, _now, _zone: made(view.tokens, view.budget),
    "rate": lambda view, _now, _zone: units.requests_rate(
        view.requests_per_s if view.state is DatasetState.RUNNING else None
    ),
}
"""How each figure is written."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a dataset's bar, shares of all its prompts, 0 to 1.

    Attributes:
        before: Done by former processes.
        done: Done in all; None when not known.
        flight: Sent and not answered.
        mark: Where the budget will end it; None where the last prompt does.
    """

    before: float
    done: float | None
    flight: float
    mark: float | None


def parts(view: DatasetView) -> Parts:
    """Give the parts of the bar.

    The whole is the number of prompts, and the budget a mark on it; where that number is not known, or was not told of
    what has ended, the whole is the budget.
    """
    if not is_seen(view):
        return Parts(0.0, None, 0.0, view.budget_share)
    ended = view.state in ENDED
    if not view.total or (ended and (view.budget_share is None or not view.done)):
        share = view.share
        earlier = min(1.0, view.done_before / view.done) if view.done else 0.0
        return Parts((share or 0.0) * earlier, share, 0.0, None)
    done = min(1.0, view.done / view.total)
    flight = min(1.0, (view.in_flight or 0) / view.total)
    return Parts(min(done, view.done_before / view.total), done, flight, view.budget_share)
