"""A list over the screen: a box that scrolls, closed by Esc."""

from __future__ import annotations

from console.screens.copying import CopiedList


class Listing(CopiedList[None]):
    """What lists over the screen share; the box is of the class ``listing``."""

    DEFAULT_CSS = """
    Listing {
        align: center middle;
        .listing {
            width: 94%;
            max-width: 160;
            height: auto;
            max-height: 90%;
            border: round $primary;
            border-title-style: bold;
            border-subtitle-color: $text-muted;
            background: $surface;
            padding: 0 1;
        }
    }
    """

    def action_close(self) -> None:
        """Close the list."""
        self.dismiss()
