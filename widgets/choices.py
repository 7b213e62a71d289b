"""A list to choose from: a name and a line of help each, one of them marked; keys are its owner's to send."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive

from widgets.line_view import LineView

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from textual import events

ROWS = 2
"""Rows of a choice: its name, and its help below."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the list.

    Attributes:
        name: What it is called, clean.
        help: What it does, clean.
        found: Which characters of the name were looked for, by their places.
    """

    name: str
    help: str = ""
    found: tuple[int, ...] = ()


class Choices(LineView, can_focus=False):
    """Only the rows in sight are drawn: a list of any length opens at once."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "choices--name",
        "choices--help",
        "choices--found",
        "choices--here",
    }
    """Names, help, the letters that were looked for, and the rows of the marked choice."""

    DEFAULT_CSS = """
    Choices {
        overflow-x: hidden;
        & > .choices--name { text-style: bold; }
        & > .choices--help { color: $text-muted; }
        & > .choices--found { color: $text-accent; text-style: bold underline; }
        & > .choices--here { background: $block-cursor-background; color: $block-cursor-foreground; }
        &:nocolor > .choices--here { text-style: reverse; }
    }
    """

    choices: reactive[tuple[Choice, ...]] = reactive(())
    """What there is to choose from."""

    here: reactive[int] = reactive(0)
    """The marked one, from 0; -1 for none."""

    class Chosen(Message):
        """A choice was clicked."""

        def __init__(self, index: int) -> None:
            """Take which, from 0."""
            super().__init__()
            self.index = index

    def __init__(self, nothing: str = "", *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        """Take what is said where there is nothing to choose from."""
        super().__init__(id=id)
        self._nothing = nothing

    def show(self, choices: Iterable[Choice]) -> None:
        """Show a list from its top, the first one marked."""
        self.choices = tuple(choices)
        self.here = 0 if self.choices else -1
        self.scroll_to(y=0, animate=False, immediate=True)

    def step(self, steps: int) -> None:
        """Mark another one; the list ends where it ends."""
        if self.choices:
            self.here = min(max(0, self.here + steps), len(self.choices) - 1)

    @property
    def page(self) -> int:
        """Choices that are in sight at once."""
        return max(1, self.scrollable_content_region.height // ROWS)

    def pieces(self, index: int) -> Iterator[tuple[str, str]]:
        """Give a row: of a name, or of its help."""
        number, is_help = divmod(index, ROWS)
        if number >= len(self.choices):
            if not index:
                yield f" {self._nothing}", "choices--help"
            return
        choice = self.choices[number]
        if is_help:
            yield f" {choice.help}", "choices--help"
            return
        yield " ", ""
        for place, letter in enumerate(choice.name):
            yield letter, "choices--found" if place in choice.found else "choices--name"

    def row_part(self, row: int) -> str:
        """Lay the mark over both rows of a choice."""
        return "choices--here" if row // ROWS == self.here else ""

    def watch_choices(self) -> None:
        """Tell the scrollbar how many rows there are."""
        self.virtual_size = Size(1, len(self.choices) * ROWS)

    def watch_here(self, here: int) -> None:
        """Bring it in sight."""
        height = self.scrollable_content_region.height
        top = here * ROWS
        if height and here >= 0 and not self.scroll_y <= top <= self.scroll_y + height - ROWS:
            self.scroll_to(y=top if top < self.scroll_y else top + ROWS - height, animate=False, immediate=True)

    def on_click(self, event: events.Click) -> None:
        """Choose what is clicked."""
        event.stop()
        index = (int(self.scroll_y) + event.y) // ROWS
        if index < len(self.choices):
            self.post_message(self.Chosen(index))
