"""Draws what has changed, and looks at nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

# Textual has no public door to this; should a version to come do without the parts that are overridden here, all is
# drawn as Textual does it.
from textual._compositor import Compositor

if TYPE_CHECKING:
    from textual._compositor import ChopsUpdate
    from textual.geometry import Region
    from textual.widget import Widget


class ExactCompositor(Compositor):
    """Asks only those widgets for their rows of which something is to be drawn.

    Textual asks all that overlap the smallest rectangle around every change. The clock in the first row and the keys
    in the last make that the whole screen, once a second and with each key.
    """

    _wanted: tuple[Region, ...] = ()
    """What is to be drawn now; empty for all of it."""

    def render_partial_update(self) -> ChopsUpdate | None:
        """Draw the regions that have changed."""
        if self.cuts:  # worked out of all widgets, before some are left out
            self._wanted = tuple(self._dirty_regions)
        try:
            return super().render_partial_update()
        finally:
            self._wanted = ()

    @property
    def visible_widgets(self) -> dict[Widget, tuple[Region, Region]]:
        """Give the widgets that can be seen, or of which something is to be drawn, each with its region and clip."""
        visible = super().visible_widgets
        if not self._wanted:
            return visible
        return {
            widget: (region, clip)
            for widget, (region, clip) in visible.items()
            if any(wanted.overlaps(region.intersection(clip)) for wanted in self._wanted)
        }
