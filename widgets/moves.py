"""The keys that move a text: arrows and page keys have vi's letters beside them, the same ones everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

if TYPE_CHECKING:
    from textual.widget import Widget

MOVES: tuple[Binding, ...] = (
    Binding("up,k", "scroll_up", "Line up", show=False),
    Binding("down,j", "scroll_down", "Line down", show=False),
    Binding("pageup", "page_up", "Page up", show=False),
    Binding("pagedown", "page_down", "Page down", show=False),
    Binding("ctrl+u", "half_page(-1)", "Half a page up", show=False),
    Binding("ctrl+d", "half_page(1)", "Half a page down", show=False),
    Binding("home,g", "scroll_home", "Top", show=False),
    Binding("end,G", "scroll_end", "End", show=False),
)
"""For any widget that scrolls; all but half a page are actions of every Textual widget."""

MOVING = frozenset(key for move in MOVES for key in move.key.split(","))
"""The keys themselves."""


def scroll_half_page(widget: Widget, pages: int) -> None:
    """Scroll half of what is in sight.

    Args:
        widget: What scrolls.
        pages: 1 for down, -1 for up.

    Raises:
        SkipAction: It has nothing to scroll, so the key may mean something to what lies around it.
    """
    if not widget.allow_vertical_scroll:
        raise SkipAction
    widget.scroll_relative(y=pages * max(1, widget.size.height // 2), animate=False)


class Scrolling(VerticalScroll):
    """A container that scrolls by arrows and by vi's letters."""

    BINDINGS: ClassVar[list[BindingType]] = [*MOVES]

    def action_half_page(self, pages: int) -> None:
        """Scroll half a page."""
        scroll_half_page(self, pages)
