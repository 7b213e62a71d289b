"""The line below the logs in which a filter or a search is typed, with the count of what it finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from textual import on
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from widgets.plain import clean

if TYPE_CHECKING:
    from textual.app import ComposeResult

Aim = Literal["filter", "search"]
"""What is typed for: to show only some lines, or to go from one to the next."""

AIMS: tuple[Aim, ...] = ("filter", "search")


class LogField(Horizontal):
    """One field for both aims; each keeps its own text."""

    DEFAULT_CSS: ClassVar[str] = """
    LogField {
        display: none;
        height: 1;
        background: $surface;
        Input { display: none; width: 1fr; height: 1; border: none; padding: 0 1; background: $surface; }
        Static { width: 8; height: 1; padding: 0 1; color: $text-muted; }
        .count { width: 1fr; text-align: right; }
        &.-open { display: block; Input { display: block; } }
    }
    """

    class Changed(Message):
        """Another text stands for an aim."""

        def __init__(self, aim: Aim, text: str) -> None:
            super().__init__()
            self.aim = aim
            self.text = text

    class Left(Message):
        """The operator is done with the field."""

        def __init__(self, aim: Aim) -> None:
            super().__init__()
            self.aim = aim

    def __init__(self) -> None:
        super().__init__()
        self.aim: Aim = "filter"
        self.texts: dict[Aim, str] = dict.fromkeys(AIMS, "")
        self._said = ""
        self._label = Static("filter", markup=False)
        self._input = Input(placeholder="regex, or !regex; Esc: end", compact=True)
        self._count = Static("", classes="count", markup=False)

    def compose(self) -> ComposeResult:
        """Lay the aim, the text and the count side by side."""
        yield self._label
        yield self._input
        yield self._count

    @property
    def is_open(self) -> bool:
        """Whether it is on the screen."""
        return self.has_class("-open")

    def open(self, aim: Aim) -> None:
        """Let the operator type."""
        self._show(aim)
        # Now, not after it is drawn: of keys that come in one burst the next is the first letter.
        self.app.stylesheet.update_nodes((self, self._input))
        self.screen.set_focus(self._input)

    def take_up(self, aim: Aim, text: str) -> None:
        """Show a text that was typed before, without taking the focus."""
        self.texts[aim] = text
        self._show(aim)
        self.post_message(self.Changed(aim, text))

    def end(self) -> None:
        """Forget the text of the present aim; the other's is shown when there is one."""
        self.texts[self.aim] = ""
        self.post_message(self.Changed(self.aim, ""))
        other = next((aim for aim in AIMS if self.texts[aim]), None)
        if other is None:
            self._input.value = ""
            self.remove_class("-open")
        else:
            self._show(other)

    def say(self, words: str) -> None:
        """Write what was found beside the text."""
        if words != self._said:
            self._said = words
            # Its width is fixed: laying the whole screen out anew for every batch of lines would keep keys waiting.
            self._count.update(Content(clean(words)), layout=False)

    def _show(self, aim: Aim) -> None:
        self.aim = aim
        self._label.update(Content(aim))
        with self.prevent(Input.Changed):
            self._input.value = self.texts[aim]
        self.add_class("-open")

    @on(Input.Changed)
    def _take(self, event: Input.Changed) -> None:
        event.stop()
        if self.texts[self.aim] != event.value:
            self.texts[self.aim] = event.value
            self.post_message(self.Changed(self.aim, event.value))

    @on(Input.Submitted)
    def _leave(self, event: Input.Submitted) -> None:
        event.stop()
        if not event.value:
            self.end()
        self.post_message(self.Left(self.aim))
