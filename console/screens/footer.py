"""The footer; it is made anew only when it would look different."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Footer

if TYPE_CHECKING:
    from textual.screen import Screen


class KeysFooter(Footer):
    """Textual's footer, which makes itself anew at each change of focus: a tenth of a second of work for nothing."""

    _shown: tuple[tuple[str, str, bool], ...] | None = None

    def bindings_changed(self, screen: Screen[object]) -> None:
        """Take up the keys that work now."""
        shown = tuple(
            (active.binding.key, active.binding.description, active.enabled)
            for active in screen.active_bindings.values()
            if active.binding.show
        )
        if screen is self.screen and screen.app.app_focus and shown != self._shown:
            self._shown = shown
            super().bindings_changed(screen)
