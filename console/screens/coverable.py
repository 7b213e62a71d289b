"""A screen that draws no more than is seen, and what a key has changed at once."""

from __future__ import annotations

from textual.screen import Screen, ScreenResultType

from console.attended import AttendedApp
from widgets.compositor import ExactCompositor


class Coverable(Screen[ScreenResultType]):
    """Textual lays out and draws the screens below the present one even where nothing of them can be seen."""

    def __init__(self, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - textual's name for it
        """Take what each screen takes."""
        super().__init__(name, id, classes)
        self._compositor = ExactCompositor()

    @property
    def is_current(self) -> bool:
        """Whether any of it can be seen: no opaque screen lies over it."""
        if not super().is_current:
            return False
        stack = self.app.screen_stack
        above = stack[stack.index(self) + 1 :] if self in stack else []
        return all(screen.styles.background.a < 1 for screen in above)

    def on_idle(self) -> None:
        """Draw the answer to a key now: Textual, whose turn comes next, waits for the next sixtieth of a second."""
        app = self.app
        waits = self._dirty_widgets or self._layout_required or self._scroll_required or self._repaint_required
        if waits and self.is_current and isinstance(app, AttendedApp) and app.answering.is_due():
            super()._on_timer_update()

    def _on_timer_update(self) -> None:
        """Draw what has changed; while a key waits for its turn, a sixtieth of a second later."""
        app = self.app
        if not (isinstance(app, AttendedApp) and app.answering.holds):
            super()._on_timer_update()
