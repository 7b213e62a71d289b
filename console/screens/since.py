"""The card for who comes back: what happened since somebody last looked; any key closes it and does what it does.

Only a card too long for the screen keeps the keys that scroll it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from console.since_words import card, title
from widgets.moves import MOVING, Scrolling
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
    AUTO_FOCUS = "#since"
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
            scrollbar-size-vertical: 1;
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
        with Scrolling(id="since") as box:
            box.border_title = Content(clean(title(self._told, self._clock)))
            for word, said in card(self._told, self._clock):
                with Horizontal(classes="row"):
                    yield Static(Content(clean(word)), classes="word")
                    yield Static(Content(clean(said)), classes="said")

    def on_resize(self) -> None:
        """Say what the keys do, once it is known whether there is more than fits."""
        self.call_after_refresh(self._say_keys)

    def _say_keys(self) -> None:
        keys = "↑↓ scroll, any other key closes" if self._box.allow_vertical_scroll else "any key closes"
        self._box.border_subtitle = f"{keys}; `longwait report --since last` has all"

    @property
    def _box(self) -> Scrolling:
        return self.query_one("#since", Scrolling)

    def on_key(self, event: events.Key) -> None:
        """Close, and let the key do what it does on the screen below; a long card is scrolled instead."""
        if event.key in MOVING and self._box.allow_vertical_scroll:
            return
        event.stop()
        event.prevent_default()
        self.dismiss()
        if event.key not in ONLY_CLOSE:
            self.app.post_message(events.Key(event.key, event.character))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Close; a click's end would come here, too, when it was the click that brought the card."""
        event.stop()
        self.dismiss()
