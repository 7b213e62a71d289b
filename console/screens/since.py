"""The card for who comes back: what happened since somebody last looked; any key closes it and does what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from console.since_words import card, title
from widgets.plain import clean

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from console.since import Since
    from console.since_words import Clock

ONLY_CLOSE = frozenset({"escape", "enter"})
"""Keys that do nothing but close the card."""


class SinceScreen(ModalScreen[None], inherit_bindings=False):
    """What happened between two moments, over the screen."""

    BINDINGS: ClassVar[list[BindingType]] = []
    """None: every key closes it, also those that move the focus elsewhere."""
    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    SinceScreen {
        align: center middle;
        #since {
            width: 94%;
            max-width: 110;
            height: auto;
            max-height: 90%;
            border: round $primary;
            border-title-style: bold;
            border-subtitle-color: $text-muted;
            background: $surface;
            padding: 0 1;
        }
        .row { height: auto; }
        .word { width: 10; text-style: bold; }
        .said { width: 1fr; height: auto; }
    }
    """

    def __init__(self, told: Since, clock: Clock) -> None:
        """Take what happened, and what writes a moment in the operator's zone."""
        super().__init__()
        self._told, self._clock = told, clock

    def compose(self) -> ComposeResult:
        """Lay a row below the other, the word beside what is said."""
        with VerticalScroll(id="since", can_focus=False) as box:
            box.border_title = Content(clean(title(self._told, self._clock)))
            box.border_subtitle = "any key closes; `longwait report --since last` has all"
            for word, said in card(self._told, self._clock):
                with Horizontal(classes="row"):
                    yield Static(Content(clean(word)), classes="word")
                    yield Static(Content(clean(said)), classes="said")

    def on_key(self, event: events.Key) -> None:
        """Close, and let the key do what it does on the screen below."""
        event.stop()
        event.prevent_default()
        self.dismiss()
        if event.key not in ONLY_CLOSE:
            self.app.post_message(events.Key(event.key, event.character))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Close; a click's end would come here, too, when it was the click that brought the card."""
        event.stop()
        self.dismiss()
