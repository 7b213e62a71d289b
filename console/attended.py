"""An app that tells its screen that somebody is there: a key, the mouse, the terminal's focus."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.app import App

from console.answering import Answering


class AttendedApp(App[None]):
    """Sees keys and clicks before anybody else does."""

    def __init__(self, *given: Any, **options: Any) -> None:  # noqa: ANN401 - passed on as they are
        """Take what the app takes."""
        super().__init__(*given, **options)
        self.answering = Answering()

    async def on_event(self, event: events.Event) -> None:
        """Pass an event on, unless it did no more than to wake the screen."""
        by_hand = isinstance(event, events.Key | events.MouseDown | events.MouseScrollDown | events.MouseScrollUp)
        if by_hand and isinstance(event, events.InputEvent) and not event.is_forwarded:
            self.answering.looked_at()
            if self.wakes(event):
                return
        is_back = isinstance(event, events.Key) and event.is_forwarded  # from the widget that has the focus
        await super().on_event(event)
        if is_back:
            self.answering.took_effect()
            self.acted()

    def acted(self) -> None:
        """Take note that a key has had its effect."""

    def wakes(self, event: events.InputEvent) -> bool:
        """Take note that somebody is there; whether the key or the click was used up by that."""
        del event
        return False
