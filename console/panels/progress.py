"""The datasets: how far each is, and when it will be done."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len

from console.job import units
from console.job.snapshot import DatasetState, DatasetView
from console.panels import words
from console.panels.panel import Panel
from widgets.meter import Meter, Tone

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo

    from console.job.snapshot import Snapshot

SIGNS = {
    DatasetState.WAITING: "·",
    DatasetState.LOADING: "…",
    DatasetState.RUNNING: "▶",
    DatasetState.SKIPPED: "»",
    DatasetState.BUDGET_REACHED: "✓",
    DatasetState.DONE: "✓",
    DatasetState.STOPPED: "■",
}
"""A sign for each state; the word stands beside it."""

TONES: dict[DatasetState, Tone] = {
    DatasetState.WAITING: "quiet",
    DatasetState.LOADING: "busy",
    DatasetState.RUNNING: "busy",
    DatasetState.SKIPPED: "quiet",
    DatasetState.BUDGET_REACHED: "good",
    DatasetState.DONE: "good",
    DatasetState.STOPPED: "warn",
}
"""What each state feels like."""

STATE_CELLS = len("▶ running")
"""Cells of the state's column: the longest sign and word."""

STATE_WORDS = {DatasetState.BUDGET_REACHED: "budget"}
"""Shorter words where the state's own is too long for a column."""

ENDED = frozenset({DatasetState.SKIPPED, DatasetState.BUDGET_REACHED, DatasetState.DONE})
"""States in which nothing more is to come."""

NAME_CELLS = 20
"""Cells for names on a narrow screen: with them, bar and counts still fit into 80 columns."""


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


def figures(view: DatasetView, now: datetime, zone: tzinfo | None, *, errors: bool) -> tuple[str, ...]:
    """Give a dataset's figures, from the most to the least important; unknown ones are ``--``.

    Args:
        view: The dataset.
        now: The present.
        zone: The operator's zone; None is this machine's.
        errors: Whether there are any in the run; without one the title's 0 says enough.
    """
    ended, seen = view.state in ENDED, is_seen(view)
    return (
        f"{units.count(view.done if seen else None)}/{units.count(view.total)}",
        "ended" if ended else f"ends {words.clock(view.eta, now, zone)}",
        f"{units.count(view.errors if seen else None)} err" if errors else "",
        made(view.tokens, view.budget),
        f"{units.count(view.mean_completion_tokens)} tok/req",
        units.requests_rate(view.requests_per_s if view.state is DatasetState.RUNNING else None),
    )


def columns(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Pad figures on the left so that each stands below its like."""
    widths = [max(cell_len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        tuple(" " * (width - cell_len(cell)) + cell for cell, width in zip(row, widths, strict=True)) for row in rows
    ]


def before(view: DatasetView) -> float:
    """Give the share that former processes of the job had done, 0 to 1, on the scale of ``view.share``."""
    return (view.share or 0.0) * min(1.0, view.done_before / view.done) if view.done else 0.0


def flight(view: DatasetView) -> float:
    """Give the share that is sent and not yet answered, 0 to 1."""
    return min(1.0, view.in_flight / view.total) if view.total and view.in_flight else 0.0


def summary(views: Sequence[DatasetView]) -> str:
    """Give how far the whole run is, in datasets, prompts and tokens."""
    if not views:
        return "none known yet"
    ended = sum(view.state in ENDED for view in views)
    known = [view.tokens for view in views if view.tokens is not None]
    have = units.tokens(sum(known) if known else None)
    budgets = [view.budget for view in views if view.budget]
    tokens = f"{have} of {units.tokens(sum(budgets))} tok" if len(budgets) == len(views) else f"{have} tok"
    errors = units.plural(sum(view.errors for view in views), "error") if any(map(is_seen, views)) else "-- errors"
    return words.joined(f"{ended} of {len(views)} ended", tokens, errors)


class ProgressPanel(Panel):
    """One meter for each dataset."""

    HELP: ClassVar[str] = """\
### Datasets

One line each, in the order of the run: state, bar, prompts done of all, when it ends (your local time), completion
tokens of its budget, requests that failed for good, mean completion in tokens, requests a second.

- The bar's dim part was done by former processes of the job; then comes what this one did, then what is in flight.
- A dataset ends with its last prompt or with its token budget, whichever comes first; the bar shows the nearer end.
- *skipped* means that nothing was left to do. That is what should happen after a restart.
- Falling requests a second with a growing mean completion is ordinary: answers get longer, the server is no slower.
- Errors should stay at or near 0. Source: the job's log and its `progress.jsonl`.
"""
    TITLE: ClassVar[str] = "Datasets"
    DEFAULT_CSS = """
    ProgressPanel { max-height: 60vh; overflow-y: auto; scrollbar-size-vertical: 1; }
    """

    def __init__(self, zone: tzinfo | None = None, *, id: str | None = None) -> None:  # noqa: A002 -- textual's name for it
        """Take the operator's zone; None is this machine's."""
        super().__init__(zone, id=id)
        self._meters: list[Meter] = []

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Draw the datasets, adding those that are new."""
        views = snapshot.datasets
        errors = any(view.errors for view in views)
        self._fit(len(views))
        width = min(max(NAME_CELLS, self.size.width // 4), max((cell_len(view.name) for view in views), default=0))
        for meter, view, row in zip(
            self._meters, views, columns([figures(view, now, self.zone, errors=errors) for view in views]), strict=True
        ):
            meter.label, meter.label_width = view.name, width
            meter.sign, meter.state = SIGNS[view.state], STATE_WORDS.get(view.state, view.state.value)
            meter.state_width, meter.tone = STATE_CELLS, TONES[view.state]
            meter.before, meter.share, meter.flight = before(view), view.share, flight(view)
            meter.figures = row
        broken = words.link_broken(snapshot.link)
        newest = max((view.updated_at for view in views if view.updated_at), default=None)
        age = words.as_of(words.seen_until(newest, snapshot.link), now, self.zone)
        self.say(words.joined(age if broken else "", summary(views)), old=broken)

    def on_resize(self) -> None:
        """Choose again how much of the names is shown."""
        self._draw()

    def _fit(self, count: int) -> None:
        """Have as many meters as there are datasets."""
        while len(self._meters) > count:
            self._meters.pop().remove()
        while len(self._meters) < count:
            self._meters.append(Meter())
            self.mount(self._meters[-1])
