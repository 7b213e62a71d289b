"""A scrolling view of many lines that draws only the ones in sight; what the lines are is for subclasses to say."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from textual.geometry import Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from widgets.focus import FocusedAlone
from widgets.moves import MOVES, scroll_half_page
from widgets.still_bar import StillBar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.style import Style
    from textual.binding import BindingType
    from textual.geometry import Region
    from textual.scrollbar import ScrollBar

MORE = "…"
"""Stands in the last cell of a line that goes on to the right."""


def _reached(text: str, reach: int) -> str:
    """Leave out what is surely right of the view: cropping by cells is slow on long text."""
    head = text[:reach]
    return head if head.isascii() else text


class LineView(ScrollView, FocusedAlone, can_focus=True):
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

    _look: Look | None = None
    """How rows are drawn, while several are."""

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
    def vertical_scrollbar(self) -> ScrollBar:
        """The scrollbar, made when it is first asked for: of a kind that is not drawn anew with each line."""
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = bar = StillBar(name="vertical", thickness=self.scrollbar_size_vertical)
            bar.display = False
            self.app._start_widget(self, bar)  # noqa: SLF001 - Textual has no public door to this
        return self._vertical_scrollbar

    @property
    def text_width(self) -> int:
        """Cells of a row beside the scrollbar, which covers the end of the widget's own width."""
        return max(1, self.scrollable_content_region.width)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw several rows, with the look of all worked out once: that costs more than a row."""
        self._look = self._looks()
        try:
            return super().render_lines(crop)
        finally:
            self._look = None

    def render_line(self, y: int) -> Strip:
        """Draw one row of the view."""
        look = self._look or self._looks()
        row, reach, style_of = self.scroll_offset.y + y, look.across + look.width + 1, self.get_component_rich_style
        pieces = tuple(
            [
                (_reached(text, reach), style_of(name) if name else look.base)
                for text, name in self.row_pieces(row)
                if text
            ]
        )
        name = self.row_part(row)
        return _drawn(pieces, look, style_of(name, partial=True) if name else None)

    def _looks(self) -> Look:
        base, more = self.rich_style, self.get_component_rich_style("line-view--more")
        return Look(self.scroll_offset.x, self.text_width, self.size.width, base, more)


class Look(NamedTuple):
    """How rows are drawn.

    Attributes:
        across: Cells that are scrolled away at the left.
        width: Cells for the text.
        whole: Cells of a row: the scrollbar may cover the last.
        base: The widget's own style.
        more: That of the sign of a line that goes on.
    """

    across: int
    width: int
    whole: int
    base: Style
    more: Style


@lru_cache(maxsize=128)
def _drawn(pieces: tuple[tuple[str, Style], ...], look: Look, over: Style | None) -> Strip:
    """Draw a row, with a style laid over the whole of it.

    Where one line comes all the others move up and look as before: drawing them again is most of what a line costs.
    """
    strip = _cut([Segment(text, style) for text, style in pieces], look).extend_cell_length(look.whole, look.base)
    return strip if over is None else Strip(Segment.apply_style(strip, post_style=over), strip.cell_length)


def _cut(segments: list[Segment], look: Look) -> Strip:
    """Cut a row to the cells for its text, or fill it up."""
    total = sum(cell_len(segment.text) for segment in segments)
    strip = Strip(segments, total)
    if total - look.across <= look.width:
        return strip.crop_extend(look.across, look.across + look.width, look.base)
    shown = strip.crop_extend(look.across, look.across + look.width - 1, look.base)
    # The sign goes on below the scrollbar, which comes and goes: it is in sight either way.
    cells = max(0, look.whole - look.width) + 1
    return Strip.join([shown, Strip([Segment(MORE * cells, look.more)], cells)])
