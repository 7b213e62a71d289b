"""One state and the reason for it, on one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from rich.cells import cell_len
from textual.reactive import reactive
from textual.widget import Widget

from widgets.paint import painted
from widgets.plain import clean, fit

if TYPE_CHECKING:
    from textual.content import Content

LampState = Literal["ok", "warn", "bad", "unknown", "busy", "starting"]
"""What a lamp can say."""

SIGNS: dict[LampState, str] = {"ok": "✓", "warn": "!", "bad": "✗", "unknown": "?", "busy": "…", "starting": "↑"}
"""The sign of each state, so that none is told by its colour alone."""


class Lamp(Widget):
    """A sign, a title, the state as a word and its detail: ``✓ link ok  12 ms``."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"lamp--sign", "lamp--title", "lamp--word", "lamp--detail"}
    """Parts that CSS can reach."""

    DEFAULT_CSS = """
    Lamp {
        height: 1;
        width: 1fr;
        text-wrap: nowrap;
        & > .lamp--title { text-style: bold; }
        & > .lamp--detail { color: $foreground 80%; }
        &.-ok > .lamp--sign, &.-ok > .lamp--word { color: $text-success; }
        &.-warn > .lamp--sign, &.-warn > .lamp--word { color: $text-warning; }
        &.-bad > .lamp--sign, &.-bad > .lamp--word { color: $text-error; }
        &.-unknown > .lamp--sign, &.-unknown > .lamp--word { color: $foreground-muted; }
        &.-starting > .lamp--sign, &.-starting > .lamp--word { color: $text-accent; }
        &.-busy > .lamp--sign, &.-busy > .lamp--word { color: $text-primary; }
    }
    """

    state: reactive[LampState] = reactive[LampState]("unknown")
    """The state; sets the class ``-<state>``."""

    title: reactive[str] = reactive("")
    """What the state is of."""

    word: reactive[str] = reactive("")
    """The state in a word; when empty, the state's own name."""

    detail: reactive[str] = reactive("")
    """The reason, or figures; cut at the right when there is no room."""

    def __init__(
        self,
        title: str = "",
        state: LampState = "unknown",
        detail: str = "",
        *,
        word: str = "",
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the name that all Textual widgets have for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.title, self.word, self.detail = title, word, detail
        self.state = state

    def watch_state(self) -> None:
        """Set the state's class."""
        for state in SIGNS:
            self.set_class(self.state == state, f"-{state}")

    def render(self) -> Content:
        """Draw the line; from the right, what has no room is cut."""
        texts = [
            (SIGNS[self.state], "lamp--sign"),
            (clean(self.title), "lamp--title"),
            (clean(self.word) or self.state, "lamp--word"),
            (clean(self.detail), "lamp--detail"),
        ]
        room = self.size.width
        pieces: list[tuple[str, str]] = []
        for text, part in texts:
            gap = "" if not pieces else "  " if part == "lamp--detail" else " "
            shown = fit(text, max(0, room - len(gap)))
            if shown:
                pieces += [(gap, ""), (shown, part)]
                room -= len(gap) + cell_len(shown)
        return painted(self, pieces)
