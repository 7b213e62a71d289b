"""The journal over the screen, and the field for a note."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from console.journal_remote import merged
from console.journal_words import headline, moment, told
from console.screens.listing import Listing
from console.screens.own_keys import follows
from widgets.moves import Scrolling
from widgets.plain import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
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

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close"),
        follows("quit", "close", "Close"),
        follows("journal", "close", "Close"),
    ]
    DEFAULT_CSS = """
    JournalScreen {
        .who { color: $text-muted; }
    }
    """

    def __init__(self, entries: Sequence[Entry], zone: tzinfo | None, trouble: str = "") -> None:
        """Take the entries, the operator's zone, and why there are none."""
        super().__init__()
        self._entries = told(entries)[-SHOWN:]
        self._all = tuple(entries)
        self._zone = zone
        self._trouble = clean(trouble)

    def compose(self) -> ComposeResult:
        """Lay an entry below the other."""
        with Scrolling(id="entries", classes="listing") as box:
            box.border_title = "Journal: who did what, and what came of it"
            box.border_subtitle = "Esc closes; `longwait journal` prints all"
            yield from self._rows()

    def _rows(self) -> Iterator[Static]:
        for entry in self._entries:
            head = f"{moment(entry.at, self._zone)}  {clean(entry.kind)}  {clean(entry.user)}"
            yield Static(Content(head), classes="who")
            yield Static(Content(headline(entry)))
        if not self._entries:
            yield Static(Content(self._trouble or "Nothing is in the journal of this run yet."))

    async def add(self, there: Sequence[Entry]) -> None:
        """Show what the journal on the host has besides, in its place by time."""
        self._all = merged(self._all, there)
        self._entries = told(self._all)[-SHOWN:]
        box = self.query_one("#entries", Scrolling)
        at_end = box.is_vertical_scroll_end
        async with self.batch():
            await box.remove_children()
            await box.mount_all(self._rows())
        if at_end:
            box.scroll_end(animate=False)

    def on_mount(self) -> None:
        """Show the newest, and let the keys scroll."""
        box = self.query_one("#entries", Scrolling)
        box.focus()
        box.scroll_end(animate=False)
