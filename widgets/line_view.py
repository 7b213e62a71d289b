"""A scrolling view of many lines that draws only the ones in sight; what the lines are is for subclasses to say."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.scroll_view import ScrollView
from textual.strip import Strip

if TYPE_CHECKING:
    from collections.abc import Iterable

MORE = "…"
"""Stands in the last cell of a line that goes on to the right."""


def _reached(text: str, reach: int) -> str:
    """Leave out what is surely right of the view: cropping by cells is slow on long text."""
    head = text[:reach]
    return head if head.isascii() else text


class LineView(ScrollView, can_focus=True):
    """Lines of any text, one row each, cut at the right and scrolled sideways; never wrapped."""

    ALLOW_SELECT = False
    """The lines move while they are read; the terminal's own selection takes what is on the screen."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"line-view--more"}
    """The sign at the right end of a line that goes on."""

    DEFAULT_CSS = """
    LineView {
        background: $surface;
        color: $foreground;
        overflow-x: auto;
        overflow-y: scroll;
        scrollbar-size-horizontal: 0;
        scrollbar-size-vertical: 1;
        &:focus { background-tint: $foreground 5%; }
        & > .line-view--more { color: $foreground 60%; }
    }
    """

    def pieces(self, index: int) -> Iterable[tuple[str, str]]:
        """Give a line as pieces of clean text, each with its component class or "".

        Args:
            index: The line, 0 for the first; any index may be asked for.
        """
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        """Draw one row of the view."""
        width = self.size.width
        across, down = self.scroll_offset
        style = self.rich_style
        segments = [
            Segment(_reached(text, across + width + 1), self.get_component_rich_style(part) if part else style)
            for text, part in self.pieces(down + y)
            if text
        ]
        total = sum(cell_len(segment.text) for segment in segments)
        strip = Strip(segments, total)
        if total - across <= width or width < 1:
            return strip.crop_extend(across, across + width, style)
        shown = strip.crop_extend(across, across + width - 1, style)
        return Strip.join([shown, Strip([Segment(MORE, self.get_component_rich_style("line-view--more"))], 1)])
