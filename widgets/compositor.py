"""Draws what has changed, and looks at nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

# Textual has no public door to this; should a version to come do without the parts that are overridden here, all is
# drawn as Textual does it.
from textual._compositor import Compositor
from textual.geometry import Region

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from textual._compositor import ChopsUpdate
    from textual.geometry import Size
    from textual.strip import Strip


class ExactCompositor(Compositor):
    """Asks only those widgets for rows of which something is to be drawn and not covered, and for those rows only.

    Textual asks all that overlap the smallest rectangle around every change, for all of their rows. The clock in the
    first row and the keys in the last make that the whole screen, once a second and with each key.
    """

    _wanted: tuple[Region, ...] = ()
    """What is to be drawn now; empty for all of it."""

    def render_partial_update(self) -> ChopsUpdate | None:
        """Draw the regions that have changed."""
        self._wanted = tuple(self._dirty_regions)
        try:
            return super().render_partial_update()
        finally:
            self._wanted = ()

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        """Give of each widget, the foremost first, its place, the part that is told, and the rows of that."""
        if not self._wanted:
            yield from super()._get_renders(crop)
            return
        bare = _cells(self._wanted, self.size)
        for widget, (region, clip) in self.visible_widgets.items():
            seen = region.intersection(clip)
            cells = _mask(seen)
            rows = [row for row in seen.line_range if bare.get(row, 0) & cells]
            for first, end in _runs(rows):
                band = Region(seen.x, first, seen.width, end - first)
                yield region, band, widget.render_lines(band.translate(-region.offset))
            for row in rows:
                bare[row] &= ~cells


def _cells(regions: Iterable[Region], size: Size) -> dict[int, int]:
    """Row to its cells that lie in one of the regions, a bit a cell."""
    found: dict[int, int] = {}
    for region in regions:
        inside = region.intersection(size.region)
        for row in inside.line_range:
            found[row] = found.get(row, 0) | _mask(inside)
    return found


def _mask(region: Region) -> int:
    """The cells of each row of a region, a bit a cell; what lies left of the screen is none."""
    left, right = max(0, region.x), max(0, region.right)
    return (1 << right) - (1 << left)


def _runs(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Rising numbers as runs without a gap: the first, and the one behind the last."""
    first = None
    for place, row in enumerate(rows):
        if first is None:
            first = row
        if place + 1 == len(rows) or rows[place + 1] != row + 1:
            yield first, row + 1
            first = None
