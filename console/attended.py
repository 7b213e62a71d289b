"""An app that tells its screen that somebody is there: a key, the mouse, the terminal's focus."""

from __future__ import annotations

from textual import events
from textual.app import App


class AttendedApp(App[None]):
    """Sees keys and clicks before anybody else does."""

    async def on_event(self, event: events.Event) -> None:
        """Pass an event on, unless it did no more than to wake the screen."""
        by_hand = isinstance(event, events.Key | events.MouseDown | events.MouseScrollDown | events.MouseScrollUp)
        if by_hand and isinstance(event, events.InputEvent) and not event.is_forwarded and self.wakes(event):
            return
        await super().on_event(event)

    def wakes(self, event: events.InputEvent) -> bool:
        """Take note that somebody is there; whether the key or the click was used up by that."""
        del event
        return False
