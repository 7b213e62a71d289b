"""A widget whose title changes more often than what stands below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Region
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.content import Content


class Titled(Widget):
    """A widget with a title on its upper edge, which can be written anew alone.

    Textual draws the whole widget anew after each ``border_title``, and of a container all that lies in it: a count in
    the title of a pane would send the pane's every row to the terminal with each figure.
    """

    def retitle(self, title: Content) -> None:
        """Write another title; only its row is drawn."""
        self._border_title = title
        left, top = self.content_offset
        self.refresh(Region(-left, -top, self.outer_size.width, 1))
