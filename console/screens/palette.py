"""The palette: every command by its name, then Textual's own; one that can't run now shows why in place of its help.

It fills the screen and is kept between two openings: what lies below need not be drawn and tinted, and nothing need be
made anew, so that it is there as fast as a key is typed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.fuzzy import FuzzySearch
from textual.screen import ModalScreen
from textual.widgets import Input

from console import commands
from console.screens.commanded import CommandedScreen
from widgets.choices import Choice, Choices
from widgets.plain import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.app import App, ComposeResult
    from textual.screen import Screen

KEPT_AS = "palette"
"""The name under which the app keeps it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What can be picked.

    Attributes:
        name: What it is called, with its keys.
        help: What it does, or why it can't be done now.
        run: Does it; called when the palette is closed, and awaited when there is something to await.
    """

    name: str
    help: str
    run: Callable[[], Any]


def entries(screen: Screen[Any]) -> Iterator[Entry]:
    """Give what can be picked over a screen, in the order of the table of commands."""
    if isinstance(screen, CommandedScreen):
        for command in screen.OPERATOR:
            name = f"{command.name} ({commands.key_words(command, screen.keymap)})"
            why = command.refusal(screen.situation)
            yield Entry(clean(name), clean(why or command.help), partial(screen.run_command, command))
    for title, words, run, _ in screen.app.get_system_commands(screen):
        yield Entry(clean(title), clean(words), run)


def open_palette(app: App[Any]) -> None:
    """Open the palette over the present screen; nothing when it is open."""
    if isinstance(app.screen, PaletteScreen):
        return
    if not app.is_screen_installed(KEPT_AS):
        app.install_screen(PaletteScreen(), KEPT_AS)
    palette = app.get_screen(KEPT_AS, PaletteScreen)
    if palette in app.screen_stack:  # what was opened from it lies over it
        return
    palette.offer(tuple(entries(app.screen)))
    app.push_screen(palette)


class PaletteScreen(ModalScreen[None]):
    """A field, and below it what has such a name."""

    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close"),
        Binding("up", "step(-1)", "Former", show=False),
        Binding("down", "step(1)", "Next", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("ctrl+home,shift+home", "step(-9999)", "First", show=False),
        Binding("ctrl+end,shift+end", "step(9999)", "Last", show=False),
    ]
    DEFAULT_CSS = """
    PaletteScreen {
        background: $background;
        Input, Input:focus {
            height: 3;
            border: round $primary;
            border-title-style: bold;
            border-subtitle-color: $text-muted;
            padding: 0 1;
            background: $surface;
        }
        Choices { height: 1fr; margin: 0 1; }
    }
    """

    def __init__(self) -> None:
        """Be empty until something is offered."""
        super().__init__()
        self._offered: tuple[Entry, ...] = ()
        self._found: tuple[Entry, ...] = ()
        self._search = FuzzySearch()
        self._field = Input(placeholder="Search for commands…", select_on_focus=False)
        # A cursor that blinks is bytes twice a second, on a screen that is kept even while it is not seen.
        self._field.cursor_blink = False
        self._choices = Choices("No command has such a name.")

    def compose(self) -> ComposeResult:
        """Lay the field above the list."""
        self._field.border_title = "Commands"
        self._field.border_subtitle = "Enter runs it, Esc closes"
        yield self._field
        yield self._choices

    def offer(self, offered: tuple[Entry, ...]) -> None:
        """Begin anew with what can be picked now."""
        self._offered = offered
        with self._field.prevent(Input.Changed):
            self._field.value = ""
        self._look("")

    def action_close(self) -> None:
        """Go back without picking anything."""
        self.dismiss()

    def action_step(self, steps: int) -> None:
        """Mark another one."""
        self._choices.step(steps)

    def action_page(self, pages: int) -> None:
        """Mark one that is a page away."""
        self._choices.step(pages * self._choices.page)

    @on(Input.Changed)
    def _type(self, event: Input.Changed) -> None:
        event.stop()
        self._look(event.value.strip())

    @on(Input.Submitted)
    def _enter(self, event: Input.Submitted) -> None:
        event.stop()
        self._pick(self._choices.here)

    @on(Choices.Chosen)
    def _click(self, event: Choices.Chosen) -> None:
        event.stop()
        self._pick(event.index)

    def _pick(self, index: int) -> None:
        if 0 <= index < len(self._found):
            self.dismiss()
            self.app.call_later(self._found[index].run)

    def _look(self, wanted: str) -> None:
        """Show what has such a name, the best match first; all of it when nothing is looked for."""
        found = [(entry, *(self._search.match(wanted, entry.name) if wanted else (1.0, ()))) for entry in self._offered]
        found = sorted((one for one in found if one[1] > 0), key=lambda one: one[1], reverse=True)
        self._found = tuple(entry for entry, _, _ in found)
        self._choices.show(Choice(entry.name, entry.help, tuple(places)) for entry, _, places in found)
