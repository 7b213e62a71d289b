"""The two logs, followed; on a narrow screen one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal

from console.job.events import Source
from console.kept import LOG
from console.panels import words
from console.panels.log_field import AIMS, LogField
from console.panels.log_search import as_pattern, too_slow
from console.panels.log_taking import LogTaking
from console.panels.log_text import KINDS, LEVELS, as_text, in_order
from console.panels.log_words import NAMES, SHOWN, reading_notes, state_note

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, tzinfo

    from textual.app import ComposeResult

    from console.job.snapshot import Snapshot
    from console.kept import Kept
    from widgets.log_view import LogText, LogView

__all__ = ["LEVELS", "NAMES", "SHOWN", "LogsPanel", "as_pattern", "as_text", "state_note"]


class LogsPanel(LogTaking, can_focus=False):
    """The server's and the job's log."""

    HELP: ClassVar[str] = """\
### Logs

The server's log and the job's, as their lines come, with times in your zone. Lines with ✗ are errors, those with !
warnings, dim ones access lines and separators. A line between two `--` is the console's own: bytes are gone there.

- **Reading**. Arrows, `j` and `k`, page keys, `g` and the mouse go to a line and hold the log there; the title counts
  the lines that wait below. `f` or End goes back to the newest line.
- **Filter** `/` shows only lines in which a regular expression is found, **search** `s` shows all and marks what is
  found; upper and lower case alike, and `!` before it means the lines without it. Both can stand at once. `n` and `N`
  go to the next and the former match, `e` and `E` to the next and the former error. Esc in the field ends it.
- **Choice**. `d` shows one rank after the other, `t` all lines, figures only, or warnings and errors.
- **Copying**. `y` copies the line you are at, `Y` the marked lines, else those in sight: `v` or Shift with an arrow
  marks. It goes to the clipboard of terminals that allow it (OSC 52), and into the file that is then named.
- `w` breaks long lines, `l` goes to the other log, `z` fills the screen with the logs.
- **Understood** is the share of lines that longwait can read. A fall means that a format has changed: `u` lists the
  lines that it can't read, with their numbers masked.
- The newest 5,000 lines of each log are kept. Control characters are taken out, very long lines are cut.
"""
    TITLE: ClassVar[str] = "Logs"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "end", "End", show=False)]
    DEFAULT_CSS = """
    LogsPanel {
        height: 1fr;
        min-height: 2;
        border: none;
        padding: 0;
        LogView {
            width: 1fr;
            height: 1fr;
            padding: 0 1;
            background: $background;
            scrollbar-background: $background;
            scrollbar-color: $primary-muted;
            border: none;
            border-top: solid $primary-muted;
            border-title-color: $text-muted;
            border-title-style: bold;
            scrollbar-size-vertical: 1;
            scrollbar-size-horizontal: 0;
            &:focus { border: none; border-top: solid $accent; border-title-color: $text-accent; }
            &.-held { border: none; border-top: solid $warning; border-title-color: $text-warning; }
        }
    }
    """

    def __init__(self, zone: tzinfo | None = None, *, id: str | None = None) -> None:  # noqa: A002 -- textual's name for it
        """Take the operator's zone; None is this machine's."""
        super().__init__(zone, id=id)
        self._views[Source.SERVER].add_class("-shown")
        self._field = LogField()
        self._kind = 0
        self._rank = ""

    def compose(self) -> ComposeResult:
        """Lay both logs side by side, and the field below."""
        with Horizontal():
            yield from self._views.values()
        yield self._field

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Say in the titles how each log is seen."""
        states = {log.source: log for log in snapshot.logs}
        for source, view in self._views.items():
            state = states.get(source.value)
            view.title = words.joined(NAMES[source], state_note(state, now))
            view.notes = reading_notes(state)

    @property
    def current(self) -> LogView:
        """The log that has the focus, else the one that is shown first."""
        views = self._views.values()
        return next(
            (view for view in views if view.has_focus),
            next(view for view in views if view.has_class("-shown")),
        )

    @property
    def name_of_current(self) -> str:
        """What the present log is called."""
        return next(NAMES[source] for source, view in self._views.items() if view is self.current)

    def focus_pane(self) -> None:
        """Focus the log that is shown."""
        self._show(self.current)

    def focus_next(self) -> None:
        """Focus the other log, or the shown one when none has the focus."""
        views = list(self._views.values())
        turn = 1 if self.current.has_focus else 0
        self._show(views[(views.index(self.current) + turn) % len(views)])

    def restore(self, kept: Kept) -> None:
        """Show the log that was shown, with the filter and the search that stood."""
        shown = kept.get(LOG, "")
        for source, view in self._views.items():
            if shown in {each.value for each in SHOWN}:
                view.set_class(source.value == shown, "-shown")
        for aim in AIMS:
            if text := kept.get(aim, ""):
                self._field.take_up(aim, text)

    def remember(self, kept: Kept) -> None:
        """Remember the log that is shown, the filter and the search."""
        kept.put(LOG, next(source.value for source, view in self._views.items() if view.has_class("-shown")))
        for aim, text in self._field.texts.items():
            kept.put(aim, text)

    def open_filter(self) -> None:
        """Let the operator type a filter."""
        self._field.open("filter")
        self._say_count()

    def open_search(self) -> None:
        """Let the operator type what to look for."""
        self._field.open("search")
        self._say_count()

    def go_to_match(self, *, back: bool) -> str:
        """Go to the next line that was found, or the former; gives a sentence when there is none."""
        view = self.current
        where = "former" if back else "next"
        if view.search is not None:
            went = view.go_to_hit(back=back)
        elif view.filter is not None:
            went = 0 <= view.cursor + (-1 if back else 1) < view.count
            view.go_to(view.cursor + (-1 if back else 1))
        else:
            return "Nothing is looked for: s searches, / filters."
        return self._arrived(f"There is no {where} match in the {self.name_of_current}.", went=went)

    def go_to_error(self, *, back: bool) -> str:
        """Go to the next error line, or the former; gives a sentence when there is none."""
        went = self.current.go_to_level("error", back=back)
        where = "above" if back else "below"
        return self._arrived(f"There is no error line {where} this one in the {self.name_of_current}.", went=went)

    def turn_rank(self) -> str:
        """Show the next rank's lines, after the last one those of all; gives a sentence when no rank is named."""
        ranks = in_order({rank for reader in self._readers.values() for rank in reader.ranks})
        if not ranks:
            return "No line has named a rank yet: DP, TP, PP or EP with a number."
        turn = ["", *ranks]
        self._rank = turn[(turn.index(self._rank) + 1) % len(turn)] if self._rank in turn else ""
        self._choose()
        return ""

    def turn_kind(self) -> None:
        """Show the next kind of lines."""
        self._kind = (self._kind + 1) % len(KINDS)
        self._choose()

    def turn_wrap(self) -> None:
        """Break long lines into rows, or cut them again."""
        for view in self._views.values():
            view.wrap = not view.wrap

    def _arrived(self, otherwise: str, *, went: bool) -> str:
        """Show where it went, or say why it did not."""
        if went and not self.current.has_focus:
            self._show(self.current)
        self._say_count()
        return "" if went else otherwise

    def _choose(self) -> None:
        """Show what was chosen by rank and kind; a log that names no rank is left as it is."""
        kind, holds = KINDS[self._kind]
        for source, view in self._views.items():
            rank = self._rank if self._readers[source].ranks else ""
            name = words.joined(rank, kind if holds else "")
            view.only = (name, _both(rank, holds)) if name else None
        self._say_count()

    def _show(self, shown: LogView) -> None:
        hidden = not shown.display  # where both stand side by side no style changes, and working it out takes a while
        for view in self._views.values():
            view.set_class(view is shown, "-shown", update=hidden)
        if hidden:
            self.call_after_refresh(shown.focus)  # it can take the focus once it is laid out
        else:
            self.screen.set_focus(shown)

    def _say_count(self) -> None:
        """Write beside the field what it finds in the present log."""
        if not self._field.is_open:
            return
        view = self.current
        plain = ", taken as plain text: it could run for hours" if too_slow(self._field.texts[self._field.aim]) else ""
        if self._field.aim == "filter":
            self._field.say(f"{view.count:,} of {view.kept:,} lines{plain}")
        else:
            self._field.say(f"match {view.hit:,} of {view.hits:,}{plain}")

    @on(LogField.Changed)
    def _look(self, event: LogField.Changed) -> None:
        """Filter or search while the operator types."""
        event.stop()
        finder = as_pattern(event.text)
        for view in self._views.values():
            if event.aim == "filter":
                view.filter = finder
            else:
                view.search = finder
        self._say_count()

    @on(LogField.Left)
    def _return(self, event: LogField.Left) -> None:
        """Go back to the log, to the newest line that was searched for."""
        event.stop()
        if event.aim == "search":
            self.current.go_to_nearest_hit()
            self._say_count()
        self.focus_pane()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Take Esc only when there is something to end here; else it is the screen's."""
        if action == "end":
            return self._field.is_open or self._is_marked
        return super().check_action(action, parameters)

    @property
    def _is_marked(self) -> bool:
        return self.current.has_focus and bool(self.current.marked)

    def action_end(self) -> None:
        """Unmark lines, else end the filter or the search."""
        if self._is_marked:
            self.current.unmark()
        else:
            self._field.end()
            self.focus_pane()


def _both(rank: str, holds: Callable[[LogText], bool] | None) -> Callable[[LogText], bool]:
    """Join a choice by rank and one by kind."""
    return lambda line: (not rank or rank in line.tags) and (holds is None or holds(line))
