"""A widget in which nothing looks otherwise while it has the focus, but for itself."""

from __future__ import annotations

from textual.widget import Widget


class FocusedAlone(Widget):
    """Looks up its own style alone when the focus comes or goes.

    Textual looks up those of all that is in it and of its parts (component classes), too, for a rule might name them:
    two to five milliseconds of each key that goes from one widget to another.
    """

    _has_same_parts = False

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Look up its own style."""
        if not self.is_attached:
            return
        self._has_same_parts = True
        try:
            self.app.stylesheet.update_nodes((self,))
        finally:
            self._has_same_parts = False

    # Of the class in Textual, which asks each node for its own.
    def _get_component_classes(self) -> frozenset[str]:  # type: ignore[override]
        """Give the parts whose styles are to be looked up."""
        return frozenset() if self._has_same_parts else super()._get_component_classes()
