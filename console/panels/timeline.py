"""The whole run on one strip: datasets, verdicts, what happened, and what is ahead; a moment of it can be chosen."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import var

from console.panels.panel import Panel
from console.panels.timeline_words import event_rows, moment_words, picture, title
from widgets.plain import clean
from widgets.row import place_of
from widgets.still import Still
from widgets.strip import Strip

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from textual.app import ComposeResult

    from console.job.snapshot import Snapshot
    from console.job.timeline_view import Timeline

STRIP_ROWS = 3
"""Rows of the strip; what is below them in a pane that fills the screen is for the list."""

CHOSEN = "> "
"""Before the line of the list that the chosen moment is at, or behind."""

MORE = "Enter opens the reading"
"""What can be done with a chosen moment."""


class TimelinePanel(Panel):
    """A strip of the run; with the focus a moment of it is chosen, and opened."""

    HELP: ClassVar[str] = """\
### Timeline

The whole run on one line, from its begin to the late end of the range of its end; `▌` is now.

- **First row**: the datasets, each from its begin on: `✓` ended, `»` skipped, `▶` running, `·` ahead.
- **Second row**: what was judged: `━` wait, `!` watch, `✗` intervene, `?` blind, `┄` not known (no console looked).
  Behind now, `·` is ahead and `░` the range in which the run ends, `◆` its middle.
- **Third row**: what happened: `J` the job was started, `S` the server was started, `a` an act, `n` a note,
  `e` requests failed, `h` health failed, `l` the link was lost, `g` bytes of a log are gone, `x` the job's process was
  gone, `X` the server's log told of a failure, `o` a console was opened. Of two in one cell the graver one is drawn.

With the focus, left and right choose a moment, with Shift or Ctrl the last or next thing that happened, Home and End
the run's begin and now. The title says what was there; Enter opens the reading of that time. Sources: the logs, what
this console saw, the journal, and the history that consoles keep of the run. `5` twice shows all that happened as a
list.
"""
    TITLE: ClassVar[str] = "Timeline"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "choose(-1)", "Earlier", key_display="left"),
        Binding("right,l", "choose(1)", "Later", key_display="right"),
        Binding("shift+left,ctrl+left,H", "leap(-1)", "Former event", show=False),
        Binding("shift+right,ctrl+right,L", "leap(1)", "Next event", show=False),
        Binding("home,g", "go('first')", "Begin", show=False),
        Binding("end,G", "go('now')", "Now", show=False),
        Binding("enter", "open_moment", "Reading", key_display="enter"),
    ]
    DEFAULT_CSS = """
    TimelinePanel {
        #events { display: none; height: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
        &.-maximized #events { display: block; margin-top: 1; }
    }
    """

    timeline: var[Timeline | None] = var(None)
    """The run on a line of time; None before anything is known."""

    trouble: var[str] = var("")
    """Why the past can't be read; empty while all is well."""

    chosen: var[datetime | None] = var(None)
    """The chosen moment; None is now."""

    class Asked(Message):
        """The operator wants the reading of a moment."""

        def __init__(self, at: datetime) -> None:
            super().__init__()
            self.at = at
            """The moment."""

    def __init__(self, zone: tzinfo | None = None, *, id: str | None = None) -> None:  # noqa: A002 -- textual's name for it
        """Take the operator's zone; None is this machine's."""
        super().__init__(zone, id=id)
        self._strip = Strip()
        self._events = Still(id="events", markup=False)

    def compose(self) -> ComposeResult:
        """Lay the list below the strip; it is seen when the pane fills the screen."""
        yield self._strip
        yield self._events

    def at_hand(self) -> tuple[str, ...]:
        """Give what is said of the chosen moment, or of the whole: the strip itself is no sentence."""
        return ((self._said or self.TITLE).removesuffix(f" · {MORE}"),)

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Do nothing: what is drawn comes as a line of time."""

    def watch_timeline(self) -> None:
        """Draw a newer one."""
        self._draw_time()

    def watch_trouble(self) -> None:
        """Say it, or no more."""
        self._draw_time()

    def watch_chosen(self) -> None:
        """Move the place, and say what is there."""
        self._draw_time()

    def on_resize(self) -> None:
        """Lay as much of the list as there is room for."""
        self._draw_time()

    def on_focus(self) -> None:
        """Show the place."""
        self._draw_time(focused=True)

    def on_blur(self) -> None:
        """Hide it."""
        self._draw_time(focused=False)

    def on_strip_asked(self, message: Strip.Asked) -> None:
        """Choose what was clicked; the same place again opens it."""
        message.stop()
        if self.timeline is None:
            return
        at = min(self.timeline.moment(message.share), self.timeline.now)  # nothing was read of what is ahead
        width = self._strip.cells
        if self.chosen is not None and place_of(self.timeline.share(self.chosen), width) == place_of(
            self.timeline.share(at), width
        ):
            self.action_open_moment()
        else:
            self.chosen = at

    # ------------------------------------------------------------ what the keys do

    def action_choose(self, cells: int) -> None:
        """Go some cells of the strip on or back; in the cell of now it is now that is chosen."""
        line = self.timeline
        if line is None:
            return
        width = self._strip.cells
        now = place_of(line.share(line.now), width) or 0
        here = place_of(line.share(self.chosen or line.now), width) or 0
        there = here + cells
        if there < 0:
            self.chosen = line.first
        else:
            self.chosen = None if there >= now else line.moment((there + 0.5) / width)

    def action_leap(self, way: int) -> None:
        """Go to the next thing that happened, or the former."""
        line = self.timeline
        if line is None:
            return
        here = self.chosen or line.now
        events = line.events()
        if way < 0:
            self.chosen = next((at for at in reversed(events) if at < here), line.first)
        else:
            self.chosen = next((at for at in events if at > here), None)

    def action_go(self, where: str) -> None:
        """Go to the run's begin, or to now."""
        self.chosen = self.timeline.first if self.timeline is not None and where == "first" else None

    def action_open_moment(self) -> None:
        """Ask for the reading of the chosen moment."""
        if self.timeline is not None:
            self.post_message(self.Asked(self.chosen or self.timeline.now))

    # ------------------------------------------------------------ how it is drawn

    def _draw_time(self, *, focused: bool | None = None) -> None:
        line = self.timeline
        if line is None:
            self.say(self.trouble)
            return
        has_focus = self.has_focus if focused is None else focused
        at = self.chosen or line.now
        self._strip.picture = picture(line, self.zone)
        self._strip.value = line.share(at) if has_focus or self.chosen is not None else None
        if has_focus or self.chosen is not None:
            half = (line.last - line.first) / self._strip.cells / 2
            self.say(f"{moment_words(line, at, max(half, timedelta(seconds=1)), self.zone)} · {MORE}")
        else:
            self.say(title(line, self.zone, self.trouble))
        self._list(line, at)

    def _list(self, line: Timeline, at: datetime) -> None:
        """Write the events around a moment, when the list is seen."""
        room = self.size.height - STRIP_ROWS - 1
        if not self._events.display or room < 1:
            return
        rows = list(event_rows(line, self.zone))
        place = max((number for number, (when, _) in enumerate(rows) if when <= at), default=0)
        begin = max(0, min(place - room // 2, len(rows) - room))
        shown = rows[begin : begin + room]
        marked = ((CHOSEN if begin + number == place else "  ") + text for number, (_, text) in enumerate(shown))
        self._events.write(Content("\n".join(clean(text) for text in marked) or "Nothing has happened yet."))
