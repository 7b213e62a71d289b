"""Asks before an act that costs much: a word must be typed, so that no key pressed by mistake is an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from widgets.plain import clean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult


class TypedConfirm(ModalScreen[bool]):
    """A dialog that answers True once the word was typed and Enter pressed, and False for Esc."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Leave it")]
    DEFAULT_CSS = """
    TypedConfirm {
        align: center middle;
        & > .typed--dialog {
            width: 90%;
            max-width: 110;
            height: auto;
            max-height: 95%;
            overflow-y: auto;
            padding: 0 2;
            background: $surface;
            border: thick $error;
        }
        & .typed--title { width: 1fr; height: auto; text-style: bold; margin-bottom: 1; }
        & .typed--body { height: auto; max-height: 50vh; scrollbar-size-vertical: 1; }
        & .typed--lines, & .typed--ask, & .typed--wrong { width: 1fr; height: auto; }
        & .typed--ask { margin-top: 1; }
        & .typed--wrong { color: $text-warning; display: none; }
        &.-wrong .typed--wrong { display: block; }
    }
    """

    def __init__(self, title: str, lines: Iterable[str], *, word: str, act: str) -> None:
        """Prepare the question.

        Args:
            title: The act and what it is done to.
            lines: What will happen and what it costs, a sentence each.
            word: What must be typed.
            act: What that does, in two words or three: ``restart the server``.
        """
        super().__init__()
        self._question = clean(title)
        self._lines = tuple(clean(line) for line in lines)
        self._word = word
        self._act = clean(act)

    def compose(self) -> ComposeResult:
        """Stack title, text, question and field."""
        with Vertical(classes="typed--dialog"):
            yield Static(Content(f"! {self._question}"), classes="typed--title")
            with VerticalScroll(classes="typed--body"):
                yield Static(Content("\n".join(self._lines)), classes="typed--lines")
            ask = f"To {self._act}, type {clean(self._word)} and press Enter. Esc leaves all as it is."
            yield Static(Content(ask), classes="typed--ask")
            yield Input(select_on_focus=False)
            yield Static(Content("That is another word: nothing was done."), classes="typed--wrong")

    def on_mount(self) -> None:
        """Let the word be typed at once."""
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _forget(self) -> None:
        self.remove_class("-wrong")

    @on(Input.Submitted)
    def _answer(self, message: Input.Submitted) -> None:
        message.stop()
        if message.value.strip() == self._word:
            self.dismiss(True)
        else:
            self.add_class("-wrong")

    def action_cancel(self) -> None:
        """Answer that nothing is to be done."""
        self.dismiss(False)
