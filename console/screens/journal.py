"""The journal over the screen, and the field for a note."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from console.journal_words import headline, moment, told
from console.screens.listing import Listing
from widgets.plain import clean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from textual.app import ComposeResult

    from console.journal import Entry

SHOWN = 400
"""The newest entries that are shown: more than anybody scrolls through; `longwait journal` has all."""

MOST_WORDS = 2_000
"""Characters of a note."""


class NoteScreen(ModalScreen[str]):
    """Asks for the operator's words; empty when there are none."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave it")]
    DEFAULT_CSS = """
    NoteScreen {
        align: center middle;
        #note-box {
            width: 80%;
            max-width: 100;
            height: auto;
            border: round $primary;
            border-title-style: bold;
            border-subtitle-color: $text-muted;
            background: $surface;
            padding: 0 1;
        }
    }
    """

    def compose(self) -> ComposeResult:
        """Lay the field in a box."""
        with Vertical(id="note-box") as box:
            box.border_title = "A note for the journal"
            box.border_subtitle = "Enter keeps it, Esc leaves it"
            yield Input(max_length=MOST_WORDS, placeholder="what you saw, did or decided")

    @on(Input.Submitted)
    def _keep(self, message: Input.Submitted) -> None:
        message.stop()
        self.dismiss(message.value.strip())

    def action_leave(self) -> None:
        """Keep nothing."""
        self.dismiss("")


class JournalScreen(Listing):
    """The newest entries, the newest last; as they stood when it was opened."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,J", "close", "Close")]
    DEFAULT_CSS = """
    JournalScreen {
        .who { color: $text-muted; }
    }
    """

    def __init__(self, entries: Sequence[Entry], zone: tzinfo | None, trouble: str = "") -> None:
        """Take the entries, the operator's zone, and why there are none."""
        super().__init__()
        self._entries = told(entries)[-SHOWN:]
        self._zone = zone
        self._trouble = clean(trouble)

    def compose(self) -> ComposeResult:
        """Lay an entry below the other."""
        with VerticalScroll(id="entries", classes="listing") as box:
            box.border_title = "Journal: who did what, and what came of it"
            box.border_subtitle = "Esc closes; `longwait journal` prints all"
            for entry in self._entries:
                head = f"{moment(entry.at, self._zone)}  {clean(entry.kind)}  {clean(entry.user)}"
                yield Static(Content(head), classes="who")
                yield Static(Content(headline(entry)))
            if not self._entries:
                yield Static(Content(self._trouble or "Nothing is in the journal of this run yet."))

    def on_mount(self) -> None:
        """Show the newest, and let the keys scroll."""
        box = self.query_one("#entries", VerticalScroll)
        box.focus()
        box.scroll_end(animate=False)
