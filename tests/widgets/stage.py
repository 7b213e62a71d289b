"""The smallest app that shows widgets, and what stands on its screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import App

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.widget import Widget

WIDTHS = (20, 80, 200)
"""Columns that every widget is tried at."""

NASTY = (
    "[b]bold[/b] [@click=app.quit]x[/] [/] \x1b[31mred\x1b[0m\x1b]0;title\x07 a\tb\r\n\x00\x9b\u202e\ud800 漢字 👩‍👧 é"
)
"""Markup, escape sequences, controls, a half character, wide and joined characters."""


class Stage(App[None]):
    """Shows the widgets it is given."""

    def __init__(self, *widgets: Widget) -> None:
        super().__init__()
        self._widgets = widgets
        self.animation_level = "none"

    def compose(self) -> ComposeResult:
        """Give the widgets."""
        yield from self._widgets


def line(widget: Widget, y: int = 0) -> str:
    """Give one row of a widget as text."""
    return widget.render_line(y).text


def rows(widget: Widget) -> list[str]:
    """Give all rows of a widget as text."""
    return [line(widget, y) for y in range(widget.size.height)]


def screen_text(app: App[None]) -> str:
    """Give all that is on the screen, row by row."""
    return "\n".join("".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips())


def safe(text: str) -> bool:
    """Whether a text on the screen can neither drive the terminal nor fail to be sent to it."""
    text.encode("utf-8")
    return not any(ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u202e\u200d" for c in text.replace("\n", ""))
