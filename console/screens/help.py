"""Help, made from the commands and the panels' own words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from console import commands
from console.glossary import glossary_help
from console.panels.log_field import LogField
from console.panels.log_search import as_pattern
from console.panels.logs import LogsPanel
from console.panels.machine import MachinePanel
from console.panels.panel import Panel
from console.panels.progress import ProgressPanel
from console.panels.server import ServerPanel
from console.panels.status import StatusPanel
from console.panels.timeline import TimelinePanel
from console.panels.verdict import VerdictPanel
from console.screens.copying import CopiedList
from console.screens.own_keys import follows, key_of
from widgets.moves import Scrolling
from widgets.page import Page

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from textual.app import App, ComposeResult
    from textual.widget import Widget

PANELS: tuple[type[Panel], ...] = (
    VerdictPanel,
    ProgressPanel,
    TimelinePanel,
    ServerPanel,
    MachinePanel,
    StatusPanel,
    LogsPanel,
)
"""In the order of the screen."""

MOVING = """\
### Moving

- **Panes**. A digit goes to a pane, the same digit again fills the screen with it, once more or `Esc` brings all back.
  A pane that has no room at this size opens filled. Tab and Shift+Tab go from pane to pane; a click does the same.
- **Lines**. Arrows or `j` and `k`; page keys, or `ctrl+d` and `ctrl+u` for half a page; `g` and `G`, Home and End for
  top and end; the wheel of the mouse.
- **Back**. `Esc` goes back one step and never closes the console; `{quit}` closes it, and the job goes on.
- **Anything by name**. `ctrl+p` opens the palette. Keys in the last row can be clicked. `{filter}` searches this page.
"""
"""What holds for all panes; ids of commands stand for their keys."""


def moving(keymap: Mapping[str, str]) -> str:
    """Give what holds for all panes.

    Args:
        keymap: The operator's own keys, by command id.
    """
    return MOVING.format_map({name: commands.words_of(name, keymap) for name in ("quit", "filter")})


def key_rows(
    keymap: Mapping[str, str],
    situation: commands.Situation,
    known: Iterable[commands.OperatorCommand] = commands.COMMANDS,
) -> str:
    """Give the list of keys; a command that can't run now says why.

    Args:
        keymap: The operator's own keys, by command id.
        situation: What the guards look at.
        known: The commands of the screen.
    """
    rows = (
        f"- `{commands.key_words(command, keymap)}` **{command.name}**. {command.refusal(situation) or command.help}"
        for command in known
    )
    return "\n".join(rows)


def near_first(
    known: Iterable[commands.OperatorCommand], *, beside_logs: bool
) -> tuple[tuple[commands.OperatorCommand, ...], tuple[commands.OperatorCommand, ...]]:
    """Part the commands into those of the place where the focus is, and all others.

    Args:
        known: The commands of the screen.
        beside_logs: Whether a log has the focus.
    """
    place = "logs" if beside_logs else "elsewhere"
    all_of_them = tuple(known)
    near = [one for one in all_of_them if one.only == place or (one.beside_logs if beside_logs else one.shown)]
    return tuple(near), tuple(one for one in all_of_them if one not in near)


def help_text(
    focused: Widget | None,
    keymap: Mapping[str, str],
    situation: commands.Situation,
    known: Iterable[commands.OperatorCommand] = commands.COMMANDS,
    panels: Iterable[type[Panel]] = PANELS,
) -> str:
    """Give the whole help: the focused pane's own words, its keys, then the other keys, panes and words."""
    near = focused.ancestors_with_self if focused is not None else []
    first = [type(node) for node in near if isinstance(node, Panel)]
    rest = [panel for panel in panels if panel not in first]
    here, others = near_first(known, beside_logs=LogsPanel in first)
    return "\n\n".join(
        (
            *(panel.HELP for panel in first),
            "### Keys here",
            key_rows(keymap, situation, here),
            "### Other keys",
            key_rows(keymap, situation, others),
            moving(keymap),
            *(panel.HELP for panel in rest),
            glossary_help(),
        )
    )


KEPT_AS = "help"
"""The name under which the app keeps the help's screen."""


def open_help(app: App[Any], text: str) -> None:
    """Open the help; its screen is made once, for that takes longer than to draw it.

    Args:
        app: Where.
        text: The help, as Markdown.
    """
    if not app.is_screen_installed(KEPT_AS):
        app.install_screen(HelpScreen(), KEPT_AS)
    screen = app.get_screen(KEPT_AS, HelpScreen)
    screen.show(text)
    if screen not in app.screen_stack:
        app.push_screen(screen)


class HelpScreen(CopiedList[None]):
    """The help over the screen that it explains; it hides that screen, which need not be drawn below it."""

    COPIED = "#page"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "go_back", "Close"),
        follows("quit", "close", "Close"),
        follows("help", "close", "Close"),
        follows("filter", "search", "Search", shown=True),
        follows("next-match", "go_to_match(1)", "Next"),
        follows("former-match", "go_to_match(-1)", "Former"),
    ]
    DEFAULT_CSS = """
    HelpScreen {
        background: $background;
        align: center middle;
        #help {
            width: 100%;
            max-width: 120;
            height: 100%;
            border: round $primary;
            border-title-style: bold;
            border-subtitle-color: $text-muted;
            background: $surface;
        }
        #page { height: 1fr; padding: 0 1; overflow-y: scroll; scrollbar-size-vertical: 1; }
    }
    """

    def __init__(self) -> None:
        """Be empty until there is something to show."""
        super().__init__()
        self._page = Page()
        self._field = LogField()

    def compose(self) -> ComposeResult:
        """Lay the text in a box that scrolls, and the field below."""
        with Vertical(id="help") as box:
            box.border_title = "Help"
            with Scrolling(id="page"):
                # One widget: Textual's own Markdown makes one for each paragraph, and takes a second to open.
                yield self._page
            yield self._field

    def on_mount(self) -> None:
        """Let the keys scroll the text, and name those that the operator may have changed."""
        self.query_one("#help").border_subtitle = Content(f"{key_of(self, 'filter')} searches, Esc closes")
        self._box.focus()

    def show(self, text: str) -> None:
        """Show a help, given as Markdown, from its top and without a search."""
        self._page.show(text)
        if self.is_mounted:  # else it is so already
            self._field.end()
            self._box.scroll_home(animate=False)
            self._box.focus()

    @property
    def _box(self) -> Scrolling:
        return self.query_one("#page", Scrolling)

    def action_search(self) -> None:
        """Let the operator type what to look for."""
        self._field.open("search")
        self._say_count()

    def action_go_to_match(self, step: int) -> None:
        """Go to the next match or the former, round and round."""
        count = len(self._page.found)
        if self._page.search is None or not count:
            nothing = f"Nothing is looked for: {key_of(self, 'filter')} searches."
            self.notify(nothing if count else "Nothing is found.", markup=False)
            return
        here = self._page.here
        self._page.here = (here + step) % count if here >= 0 or step > 0 else count - 1
        self._box.scroll_to(y=max(0, self._page.row_of(self._page.here) - 1), animate=False)
        self._say_count()

    def action_go_back(self) -> None:
        """End the search, else close the help."""
        if self._field.is_open:
            self._field.end()
            self._box.focus()
        else:
            self.dismiss()

    def action_close(self) -> None:
        """Close the help."""
        self.dismiss()

    @on(LogField.Changed)
    def _look(self, event: LogField.Changed) -> None:
        """Show what is found while the operator types."""
        event.stop()
        self._page.search = as_pattern(event.text)
        self._box.scroll_home(animate=False)
        self._say_count()

    @on(LogField.Left)
    def _return(self, event: LogField.Left) -> None:
        """Go back to the text, to the first match."""
        event.stop()
        self._box.focus()
        if self._page.search is not None:
            self.action_go_to_match(1)

    def _say_count(self) -> None:
        """Write beside the field how much is found."""
        found, here = len(self._page.found), self._page.here
        self._field.say(
            f"match {here + 1:,} of {found:,}" if here >= 0 else f"{found:,} of {self._page.count:,} entries"
        )
