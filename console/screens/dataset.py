"""One dataset over the screen: its lengths, its way so far with what was said of its end, and all its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.reactive import var

from console.job import units
from console.panels import words
from console.panels.dataset_charts import course, course_title, histogram, length_marks, lengths_title, no_lengths
from console.panels.dataset_columns import SIGNS, counts, ends_between
from console.panels.dataset_words import figures
from console.panels.figure_list import laid_out
from console.panels.verdict import signed
from console.screens.copying import CopiedList
from console.screens.own_keys import follows, key_of
from widgets.band import RangeBand
from widgets.histogram import Histogram, reach_of
from widgets.moves import Scrolling
from widgets.plain import clean
from widgets.reach import widened
from widgets.still import Still

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime, tzinfo

    from textual.app import ComposeResult
    from textual.screen import Screen

    from console.job.dataset_detail import DatasetDetail
    from console.job.snapshot import DatasetView, Snapshot
    from widgets.histogram import Bin, Mark
    from widgets.reach import Reach

GONE = "This dataset is not among those of the run any more."


class DatasetScreen(CopiedList[None]):
    """A dataset seen closely, as of the newest snapshot; the neighbours are one key away."""

    COPIED = "#page"
    HELP: ClassVar[str] = """\
### One dataset

- **Lengths**: how many completions have which length, on a scale of logarithms (tokens). Solid bars are finished, the
  open part `░` is what is in flight, by what it has made so far. `┃` is the cap (`max_tokens`), `▼` the mean of the
  finished, `▽` the mean that is expected of all: the finished ones alone are the short ones.
- **Done over time**: dots are the share done, of prompts or budget, whichever ends it. In each row `░` is the range in
  which the end was expected when so much was done, `│` its middle; rows above the dots have what is said now. A band
  that keeps its place was right; one that bends to the right says that the end has slipped.
- **Over**: answers cut at the cap, and tokens beyond the budget. Both cost time and are seldom wanted.
- Each figure names its source and its age. What the logs at hand don't tell is listed last.
"""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012 - Textual declares it of an instance, so it can't be a ClassVar
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-short"), (34, "-tall"), (46, "-high")]  # noqa: RUF012 - as above
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter", "close", "Back"),
        follows("quit", "close", "Back"),
        Binding("left,h", "go(-1)", "Former dataset"),
        Binding("right,l", "go(1)", "Next dataset"),
        follows("help", "explain", "Help", shown=True),
    ]
    DEFAULT_CSS = """
    DatasetScreen {
        background: $background;
        align: left top;
        #verdict-line {
            height: 1;
            padding: 0 1;
            background: $panel;
            text-wrap: nowrap;
            text-overflow: ellipsis;
            &.-wait { color: $text-success; }
            &.-watch { color: $text-warning; }
            &.-intervene { color: $text-error; text-style: bold; }
        }
        #head { height: 1; padding: 0 1; text-style: bold; text-wrap: nowrap; text-overflow: ellipsis; }
        #keys { dock: bottom; height: 1; padding: 0 1; background: $panel; text-wrap: nowrap; text-overflow: ellipsis; }
        #page { height: 1fr; scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
        #charts { layout: vertical; height: auto; }
        #charts > * {
            border-top: solid $primary-muted;
            border-title-color: $text-muted;
            border-title-style: bold;
            padding: 0 1;
            height: 7;
        }
        #figures {
            border-top: solid $primary-muted;
            border-title-color: $text-muted;
            border-title-style: bold;
            padding: 0 1;
            height: auto;
        }
        &.-low #charts > * { height: 5; }
        &.-tall #charts > * { height: 10; }
        &.-high #charts > * { height: 14; }
        &.-bare #charts > #lengths { height: 3; }
        &.-wide #charts { layout: horizontal; }
        &.-wide #charts > * { width: 1fr; height: 9; }
        &.-wide.-tall #charts > * { height: 14; }
        &.-wide.-high #charts > * { height: 20; }
        &.-old #page { text-opacity: 80%; }
    }
    """

    snapshot: var[Snapshot | None] = var(None, init=False)
    """All that is known now; each new one is drawn."""

    dataset: var[str] = var("", init=False)
    """The dataset that is shown."""

    def __init__(
        self,
        look: Callable[[str], DatasetDetail | None],
        snapshot: Snapshot,
        dataset: str,
        *,
        clock: Callable[[], datetime],
        zone: tzinfo | None,
    ) -> None:
        """Take what looks a dataset up, and what is known now.

        Args:
            look: Looks closely at the dataset of a name, as of the newest snapshot.
            snapshot: All that is known now.
            dataset: The dataset that is shown first.
            clock: The present.
            zone: The operator's zone; None is this machine's.
        """
        super().__init__()
        self._look, self._clock, self._zone = look, clock, zone
        self.set_reactive(DatasetScreen.snapshot, snapshot)
        self.set_reactive(DatasetScreen.dataset, dataset)
        self._verdict, self._head = Still(id="verdict-line"), Still(id="head")
        self._keys = Still(id="keys")
        self._lengths, self._course = Histogram(id="lengths"), RangeBand(id="course")
        self._figures = Still(id="figures")
        self._reaches: dict[str, Reach] = {}
        """Where each dataset's scale of lengths ends."""
        self._drawn_for: tuple[int, int] | None = None
        """The widths of the parts when their words were written last."""

    def compose(self) -> ComposeResult:
        """Lay the charts above the figures."""
        yield self._verdict
        yield self._head
        with Scrolling(id="page"):
            with Container(id="charts"):
                yield self._lengths
                yield self._course
            yield self._figures
        yield self._keys

    def on_mount(self) -> None:
        """Let the keys scroll, and draw when the room is known."""
        self._lengths.unit = "tok"
        self._figures.border_title = "Figures"
        self.query_one("#page").focus()
        self.screen_layout_refresh_signal.subscribe(self, self._fit)
        self.call_after_refresh(self.draw)

    def on_resize(self) -> None:
        """Write the words anew for the room there is."""
        self.call_after_refresh(self.draw)

    def _fit(self, _screen: Screen[object]) -> None:
        """Write them anew when the parts have other widths, however many layouts it took to find them."""
        if self._drawn_for is not None and self._drawn_for != self._widths:
            self.draw()

    @property
    def _widths(self) -> tuple[int, int]:
        return self._lengths.size.width, self._figures.content_size.width

    def watch_snapshot(self) -> None:
        """Draw what is new."""
        self.draw()

    def watch_dataset(self) -> None:
        """Draw another one, from its top."""
        self.query_one("#page").scroll_home(animate=False)
        self.draw()

    def action_close(self) -> None:
        """Go back to all panes."""
        self.dismiss()

    def action_go(self, steps: int) -> None:
        """Go to the neighbour in the order of the run; behind the last comes the first."""
        names = [view.name for view in self.snapshot.datasets] if self.snapshot is not None else []
        if self.dataset in names:
            self.dataset = names[(names.index(self.dataset) + steps) % len(names)]

    def action_explain(self) -> None:
        """Explain what is shown."""
        from console.screens.help import open_help  # noqa: PLC0415 - seldom asked for, and slow to import

        open_help(self.app, self.HELP)

    def draw(self) -> None:
        """Draw all of it; a part that is as it was costs nothing."""
        known = self.snapshot
        if not self.is_mounted or known is None or not self._figures.size.width:
            return
        self._drawn_for = self._widths
        now = self._clock()
        view = next((each for each in known.datasets if each.name == self.dataset), None)
        self._verdict.write(Content(clean(f"{signed(known.verdict.verdict)}  {known.verdict.headline}")))
        for each in ("wait", "watch", "intervene"):
            self._verdict.set_class(known.verdict.verdict.value == each, f"-{each}")
        self.set_class(words.link_broken(known.link), "-old")
        self._keys.write(Content(words.first_fitting(self.size.width - 2, *self._keys_in_words())))
        if view is None:
            self._draw_nothing()
            return
        detail = self._look(view.name)
        names = [each.name for each in known.datasets]
        self._head.write(Content(clean(head(view, names, now, self._zone, self.size.width - 2))))
        self._draw_charts(view, detail, now)
        said = figures(view, detail, known.server, now, self._zone)
        self._figures.write(laid_out(said, self._figures.content_size.width))

    def _keys_in_words(self) -> tuple[str, ...]:
        """The keys, in ever fewer words."""
        explain, copy, copy_all = (key_of(self, name) for name in ("help", "copy", "copy-block"))
        return (
            f"Esc back   ←→ other datasets   ↑↓ scroll   {copy} {copy_all} copy   {explain} help",
            f"Esc back  ←→ other datasets  {explain} help",
            "Esc back  ←→ other",
            "Esc",
        )

    def _reach_of(self, name: str, bins: tuple[Bin, ...], marks: tuple[Mark, ...]) -> Reach | None:
        """Where the scale of lengths ends: it keeps still while answers come in, and only ever widens."""
        shown = reach_of(bins, marks)
        if shown is not None:
            self._reaches[name] = widened(self._reaches.get(name), *shown)
        return self._reaches.get(name)

    def _draw_nothing(self) -> None:
        """Say that it is gone, and take away its figures: they would seem to be of now."""
        self._head.write(Content(GONE))
        self._figures.write(Content())
        self._lengths.bins, self._lengths.nothing = (), ""
        self._course.curve, self._course.spans, self._course.nothing = (), (), ""

    def _draw_charts(self, view: DatasetView, detail: DatasetDetail | None, now: datetime) -> None:
        room = self._lengths.size.width - 2
        self._lengths.border_title = Content(words.first_fitting(room, *lengths_title(detail)))
        self._course.border_title = Content(words.first_fitting(room, *course_title(detail)))
        self._lengths.nothing = no_lengths(view, detail)
        self.set_class(detail is None or not detail.lengths.bins, "-bare")
        bins, marks = histogram(detail) if detail is not None else (), length_marks(view)
        self._lengths.reach = self._reach_of(view.name, bins, marks)
        self._lengths.bins, self._lengths.marks = bins, marks
        self._course.nothing = "Nothing is known of its way so far."
        if detail is None:
            self._course.curve, self._course.spans = (), ()
            return
        way = course(view, detail, now, self._zone)
        self._course.reach, self._course.ticks = way.reach, way.ticks
        self._course.curve, self._course.spans, self._course.end = way.curve, way.spans, way.end
        self._course.now = None if way.end is not None else now.timestamp()


def head(view: DatasetView, names: Sequence[str], now: datetime, zone: tzinfo | None, width: int) -> str:
    """Say which dataset it is, how far, and when it ends, in one line."""
    place = f"{names.index(view.name) + 1} of {len(names)}"
    return words.fitting(
        width,
        f"{view.name}  {SIGNS[view.state]} {view.state.value}",
        f"{counts(view)} prompts",
        ends_between(view, now, zone) if view.eta is not None else "",
        place,
        view.kind,
        units.age(view.updated_at, now) if words.is_stale(view.updated_at, now) else "",
    )
