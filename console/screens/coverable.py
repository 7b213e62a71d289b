"""A screen that draws no more than is seen: the parts that have changed, and nothing while another screen hides it."""

from __future__ import annotations

from textual.screen import Screen, ScreenResultType

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
