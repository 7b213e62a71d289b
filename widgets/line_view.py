"""A scrolling view of many lines that draws only the ones in sight; what the lines are is for subclasses to say."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.geometry import Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from widgets.moves import MOVES, scroll_half_page

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.style import Style
    from textual.binding import BindingType
    from textual.geometry import Region

MORE = "…"
"""Stands in the last cell of a line that goes on to the right."""


def _reached(text: str, reach: int) -> str:
    """Leave out what is surely right of the view: cropping by cells is slow on long text."""
    head = text[:reach]
    return head if head.isascii() else text


class LineView(ScrollView, can_focus=True):
    """Lines of any text, one row each, cut at the right and scrolled sideways."""

    BINDINGS: ClassVar[list[BindingType]] = [*MOVES]
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
        & > .line-view--more { color: $foreground-muted; }
    }
    """

    virtual_size = Reactive(Size(0, 0))
    """Cells of the longest line, and rows. Textual's own lays the whole screen out anew whenever it changes; here it
    changes with each line that comes, and moves nothing but the scrollbar."""

    _base: Style | None = None
    """The widget's own style while rows are drawn."""

    def pieces(self, index: int) -> Iterable[tuple[str, str]]:
        """Give a line as pieces of clean text, each with its component class or "".

        Args:
            index: The line, 0 for the first; any index may be asked for.
        """
        raise NotImplementedError

    def row_pieces(self, row: int) -> Iterable[tuple[str, str]]:
        """Give what stands in a row; a line's pieces unless a subclass breaks lines."""
        return self.pieces(row)

    def row_part(self, _row: int) -> str:
        """Give the component class that is laid over a whole row, or ""."""
        return ""

    def action_half_page(self, pages: int) -> None:
        """Scroll half a page."""
        scroll_half_page(self, pages)

    def watch_virtual_size(self, size: Size) -> None:
        """Tell the scrollbars."""
        if self.is_attached:
            self._scroll_update(size)

    @property
    def text_width(self) -> int:
        """Cells of a row beside the scrollbar, which covers the end of the widget's own width."""
        return max(1, self.scrollable_content_region.width)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw several rows, with the style of the widget worked out once: that costs more than a row."""
        self._base = self.rich_style
        try:
            return super().render_lines(crop)
        finally:
            self._base = None

    def render_line(self, y: int) -> Strip:
        """Draw one row of the view."""
        across, down = self.scroll_offset
        style = self._base or self.rich_style
        strip = self._drawn(self.row_pieces(down + y), across, self.text_width, style)
        strip = strip.extend_cell_length(self.size.width, style)
        part = self.row_part(down + y)
        if not part:
            return strip
        over = self.get_component_rich_style(part, partial=True)
        return Strip(Segment.apply_style(strip, post_style=over), strip.cell_length)

    def _drawn(self, pieces: Iterable[tuple[str, str]], across: int, width: int, style: Style) -> Strip:
        """Draw pieces in so many cells, after so many that are scrolled away."""
        segments = [
            Segment(_reached(text, across + width + 1), self.get_component_rich_style(part) if part else style)
            for text, part in pieces
            if text
        ]
        total = sum(cell_len(segment.text) for segment in segments)
        strip = Strip(segments, total)
        if total - across <= width:
            return strip.crop_extend(across, across + width, style)
        shown = strip.crop_extend(across, across + width - 1, style)
        # The sign goes on below the scrollbar, which comes and goes: it is in sight either way.
        cells = max(0, self.size.width - width) + 1
        return Strip.join(
            [shown, Strip([Segment(MORE * cells, self.get_component_rich_style("line-view--more"))], cells)]
        )
