"""The datasets: how far each is, and when it will be done."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import var

from console.job import units
from console.job.snapshot import DatasetState, DatasetView
from console.panels import words
from console.panels.dataset_columns import ENDED, SIGNS, STATE_CELLS, STATE_WORDS, is_seen, laid, parts
from console.panels.panel import Panel
from widgets.drawn import drawn, without_bars
from widgets.meter import Meter, Tone

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo

    from textual import events
    from textual.app import RenderResult
    from textual.geometry import Size

    from console.job.snapshot import Snapshot

AT_WORK = frozenset({DatasetState.LOADING, DatasetState.RUNNING})
"""States in which the job is at a dataset: these stay in sight."""

CURSOR = "▸"
"""Stands before the line that Enter opens."""

DOUBLE = 2
"""Clicks that open a dataset."""

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


def summary(views: Sequence[DatasetView], left: int | None = None) -> str:
    """Give how far the whole run is, in datasets and tokens.

    Args:
        views: The datasets.
        left: Tokens still to be made; None when unknown, then the budgets stand for the whole.
    """
    if not views:
        return "none known yet"
    ended = sum(view.state in ENDED for view in views)
    known = [view.tokens for view in views if view.tokens is not None]
    have = units.tokens(sum(known) if known else None)
    budgets = [view.budget for view in views if view.budget]
    whole = ""
    if left is not None and known:
        whole = f" of ~{units.tokens(sum(known) + left)}" if left else ""
    elif len(budgets) == len(views):
        whole = f" of {units.tokens(sum(budgets))}"
    tokens = f"{have}{whole} tok"
    errors = units.plural(sum(view.errors for view in views), "error") if any(map(is_seen, views)) else "-- errors"
    return words.joined(f"{ended} of {len(views)} ended", tokens, errors)


class ProgressPanel(Panel):
    """One meter for each dataset, and a cursor to open one."""

    HELP: ClassVar[str] = """\
### Datasets

One line each, in the order of the run: name, state, bar, prompts done of all, when it ends (your local time; as a range
that holds four times out of five where there is room), requests that failed for good when there are any, mean
completion, completion tokens of the budget, requests a second. On a narrow screen the last ones go first.

- The bar is all of its prompts: `═` done by former processes of the job, `━` by this one, `╍` in flight, `─` to do.
- `┃` is where the token budget will end it, by the expected mean length; the prompts behind it are left out. A dataset
  without the mark ends with its last prompt.
- Beside the mean, in tokens per request: `↗` the newest answers are longer than those before, `↘` shorter, `→` alike.
  That is of the last hour or so, and said only where it is more than chance. Falling requests a second with a growing
  mean is ordinary: answers get longer, the server is no slower.
- *skipped* means that nothing was left to do. That is what should happen after a restart.
- Errors should stay at or near 0. Source: the job's log and its `progress.jsonl`.
- Up and down go to a dataset, Enter opens it: lengths, progress, errors by kind. So does a double click.
"""
    TITLE: ClassVar[str] = "Datasets"
    DEFAULT_CSS = """
    ProgressPanel {
        max-height: 60vh;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        padding: 0 1 0 0;
        & > Meter.-cursor { text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Former dataset", show=False),
        Binding("down,j", "move(1)", "Next dataset", show=False),
        Binding("pageup,ctrl+u", "move(-8)", "Eight up", show=False),
        Binding("pagedown,ctrl+d", "move(8)", "Eight down", show=False),
        Binding("home,g", "move(-9999)", "First dataset", show=False),
        Binding("end,G", "move(9999)", "Last dataset", show=False),
    ]

    class Opened(Message):
        """The operator wants to see a dataset closely."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name
            """Which."""

    chosen: var[str] = var("")
    """The dataset at the cursor; empty for the one at work."""

    def __init__(self, zone: tzinfo | None = None, *, id: str | None = None) -> None:  # noqa: A002 -- textual's name for it
        """Take the operator's zone; None is this machine's."""
        super().__init__(zone, id=id)
        self._meters: list[Meter] = []
        self._names: tuple[str, ...] = ()
        self._at_work: tuple[int, int] | None = None
        self._kept_in_sight: object = None
        self._stand: tuple[tuple[DatasetView, ...], datetime, int] | None = None

    @property
    def dataset(self) -> str:
        """The dataset at the cursor, else the first one at work, else the first; empty when there is none."""
        place = self._place
        return self._names[place] if self._names else ""

    @property
    def _place(self) -> int:
        """Where the cursor is; without the focus there is none, and what is at work counts."""
        if self.has_focus and self.chosen in self._names:
            return self._names.index(self.chosen)
        return self._at_work[0] if self._at_work is not None else 0

    def at_hand(self) -> tuple[str, ...]:
        """Give the dataset at the cursor, else the one at work, as one line."""
        return (" ".join(without_bars(row) for row in drawn(self._meters[self._place])),) if self._meters else ()

    def render(self) -> RenderResult:
        """Draw nothing behind the meters; without one Textual would write the widget's own name there."""
        return super().render() if self._meters else Content()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """No row without a dataset: the title says that none is known."""
        return super().get_content_height(container, viewport, width) if self._meters else 0

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Draw the datasets, adding those that are new."""
        views = snapshot.datasets
        # The day of a clock time is all that changes while no figure does; hundreds of lines take long to lay.
        stand = (views, now.replace(second=0, microsecond=0), self.scrollable_content_region.width)
        if stand != self._stand:
            self._stand = stand
            self._show_lines(views, now)
        self._keep_in_sight()
        broken = words.link_broken(snapshot.link)
        newest = max((view.updated_at for view in views if view.updated_at), default=None)
        age = words.as_of(words.seen_until(newest, snapshot.link), now, self.zone)
        self.say(words.joined(age if broken else "", summary(views, snapshot.eta.tokens_left)), old=broken)

    def _show_lines(self, views: Sequence[DatasetView], now: datetime) -> None:
        """Lay the lines, one for each dataset."""
        self._fit(len(views))
        self._names = tuple(view.name for view in views)
        busy = [place for place, view in enumerate(views) if view.state in AT_WORK]
        self._at_work = (busy[0], busy[-1]) if busy else None
        lines = laid(views, now, self.zone, self.scrollable_content_region.width - 1)
        for meter, view, row in zip(self._meters, views, lines.rows, strict=True):
            meter.label, meter.label_width = view.name, lines.names
            meter.sign, meter.state = SIGNS[view.state], _word(view) if lines.worded else ""
            meter.state_width, meter.tone = STATE_CELLS if lines.worded else 1, TONES[view.state]
            bar = parts(view)
            meter.before, meter.share, meter.flight, meter.mark = bar.before, bar.done, bar.flight, bar.mark
            meter.figures = row
            meter.alert = row[lines.errors] if lines.errors is not None and view.errors else ""
        self._draw_cursor()

    def on_resize(self) -> None:
        """Choose again what there is room for."""
        self._draw()

    def watch_has_focus(self, has_focus: bool) -> None:
        """Show the cursor, or hide it."""
        super().watch_has_focus(has_focus)
        self._draw_cursor()
        self._keep_in_sight()

    def on_click(self, event: events.Click) -> None:
        """Go to the dataset under the mouse; open it at the second click."""
        meter = next((meter for meter in self._meters if meter is event.widget), None)
        if meter is None:
            return
        self.chosen = self._names[self._meters.index(meter)]
        self._draw_cursor()
        if event.chain == DOUBLE:
            event.stop()
            self.post_message(self.Opened(self.dataset))

    def action_move(self, steps: int) -> None:
        """Go some datasets up or down."""
        if not self._names:
            return
        place = min(len(self._names) - 1, max(0, self._place + steps))
        self.chosen = self._names[place]
        self._draw_cursor()
        self._keep_in_sight()

    def _draw_cursor(self) -> None:
        """Mark the line of the cursor while the pane has the focus; the cell for it stays."""
        at = self._place if self.has_focus else -1
        for place, meter in enumerate(self._meters):
            meter.lead = CURSOR if place == at else " "
            meter.set_class(place == at, "-cursor")

    def _keep_in_sight(self) -> None:
        """Scroll so that the cursor, or else what is at work, can be seen; only when one of these has changed."""
        if self.has_focus:
            wanted = (self._place, self._place)
        elif self._at_work is not None:
            wanted = self._at_work
        else:
            return
        seen = (wanted, len(self._meters), self.size.height)
        if seen == self._kept_in_sight or not self.size.height:
            return
        self._kept_in_sight = seen
        first, last = wanted
        top, height = round(self.scroll_offset.y), self.scrollable_content_region.height
        # One line above what is at work stays in sight: what has just ended.
        least, most = max(0, last + 1 - height), max(0, first - (0 if self.has_focus else 1))
        target = min(max(top, least), max(least, most)) if least <= most else first
        if target != top:
            self.scroll_to(y=target, animate=False)

    def _fit(self, count: int) -> None:
        """Have as many meters as there are datasets."""
        while len(self._meters) > count:
            self._meters.pop().remove()
        fresh = [Meter() for _ in range(count - len(self._meters))]
        if fresh:
            self._meters += fresh
            self.mount(*fresh)


def _word(view: DatasetView) -> str:
    return STATE_WORDS.get(view.state, view.state.value)
