"""A scrollbar that is drawn anew only when it looks otherwise."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from textual.scrollbar import ScrollBar, ScrollBarRender

if TYPE_CHECKING:
    from textual.geometry import Region
    from textual.strip import Strip

STEPS = 8
"""Places in a cell at which the thumb may begin and end: there are so many block characters."""


class StillBar(ScrollBar):
    """Keeps the rows that it drew last.

    Beside lines that pour in, the thumb moves by less than can be seen, and a bar takes as long to draw as they do.
    """

    _kept: tuple[object, list[Strip]] | None = None

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw it, or give what was drawn when it looked like this."""
        bar = self.render()
        if not isinstance(bar, ScrollBarRender):
            return super().render_lines(crop)
        length = self.size.height if self.vertical else self.size.width
        place = thumb(length, bar.virtual_size, bar.window_size, bar.position)
        look = (crop, self.size, bar.style, self.opacity, tuple(self.get_line_filters()), place)
        if self._kept is None or self._kept[0] != look:
            self._kept = (look, super().render_lines(crop))
        return self._kept[1]


def thumb(length: int, virtual_size: float, window_size: float, position: float) -> tuple[int, int] | None:
    """Where Textual's ``ScrollBarRender`` has the thumb begin and end, in eighths of a cell; None where there is none.

    Args:
        length: Cells of the bar.
        virtual_size: Cells of what is scrolled.
        window_size: Those of them in sight.
        position: Those scrolled away.
    """
    if not (window_size and length and virtual_size) or length == virtual_size:
        return None
    ratio = virtual_size / length
    size = max(1, window_size / ratio)
    share = position / (virtual_size - window_size)
    start = int((length - size) * share * STEPS)
    return start, start + ceil(size * STEPS)
