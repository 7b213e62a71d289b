"""A text that is written anew often and laid out anew only when its height changes.

Textual lays the whole screen out again after every ``Static.update``; a console that writes ages each second would
spend most of its time on that, and send most of its bytes.
"""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static


class Still(Static):
    """A ``Static`` for a text that keeps its place."""

    def write(self, content: Content) -> None:
        """Show another text; the same one costs nothing."""
        # Two contents are equal to Textual when their texts are; style counts here.
        shown = self.content
        if isinstance(shown, Content) and (shown.plain, shown.spans) == (content.plain, content.spans):
            return
        before = self._height()
        self.update(content, layout=False)
        if before is None or self._height() != before:
            self.refresh(layout=True)

    def _height(self) -> int | None:
        """Rows that the text takes at the present width; None before it has one."""
        width = self.content_size.width
        return self.get_content_height(self.container_size, self.app.size, width) if width else None
