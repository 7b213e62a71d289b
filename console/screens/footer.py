"""The footer: the keys that work now, in one line.

One widget that draws one line, where Textual's own has a widget for each key: making those anew at each change of focus
cost more than all else that a key does, and laid out the whole screen again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual import events
    from textual.screen import Screen


LAST = frozenset({"go_back", "show_help", "leave"})
"""Actions whose keys stay on a narrow screen: the way back, the help, which has all the others, and the way out."""


class Shown(NamedTuple):
    """A key of the footer.

    Attributes:
        key: As Textual names it.
        display: As it is written.
        label: What it does, in a word or two.
        stays: It stays when there is no room for all.
        of_pane: It works in the pane that has the focus.
    """

    key: str
    display: str
    label: str
    stays: bool = False
    of_pane: bool = False

    @property
    def width(self) -> int:
        """Columns, with the blank between the two."""
        return len(self.display) + 1 + len(self.label)


class KeysFooter(Widget, can_focus=False):
    """The keys that work now, as many as there is room for; each can be clicked."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"keys-footer--key", "keys-footer--label", "keys-footer--hover"}
    DEFAULT_CSS = """
    KeysFooter {
        dock: bottom; height: 1; text-wrap: nowrap; text-overflow: clip;
        color: $footer-foreground; background: $footer-background;
        & > .keys-footer--key { color: $footer-key-foreground; background: $footer-key-background; text-style: bold; }
        & > .keys-footer--label { color: $footer-description-foreground; background: $footer-description-background; }
        & > .keys-footer--hover { color: $footer-key-foreground; background: $block-hover-background; }
    }
    """

    def __init__(self) -> None:
        """Show nothing until the screen says which keys there are."""
        super().__init__()
        self._shown: tuple[Shown, ...] = ()
        self._hovered: Shown | None = None

    def on_mount(self) -> None:
        """Follow the screen."""
        self.screen.bindings_updated_signal.subscribe(self, self._take)

    def _take(self, screen: Screen[object]) -> None:
        """Take up the keys that work now.

        While the terminal is not the one that is typed into, no pane has the focus: its keys stay as they were.
        """
        if screen is not self.screen:
            return
        shown = tuple(self._keys(screen))
        if not screen.app.app_focus and self._shown:
            shown = self._with_those_of_the_pane(shown)
        if shown != self._shown:
            self._shown, self._hovered = shown, None
            self.refresh()

    def _with_those_of_the_pane(self, now: tuple[Shown, ...]) -> tuple[Shown, ...]:
        """The screen's keys now, and the pane's that were there before, each in its place."""
        kept = list(now)
        for place, shown in enumerate(self._shown):
            if shown.of_pane:
                kept.insert(min(place, len(kept)), shown)
        return tuple(kept)

    def _keys(self, screen: Screen[object]) -> Iterator[Shown]:
        actions = set()
        for active in screen.active_bindings.values():
            binding = active.binding
            if binding.show and active.enabled and binding.action not in actions:
                actions.add(binding.action)
                key, stays = self.app.get_key_display(binding), binding.action in LAST
                of_pane = active.node not in {screen, screen.app}
                yield Shown(binding.key, key, binding.description, stays, of_pane)

    @property
    def _fitting(self) -> list[Shown]:
        """Those that there is room for: the last give way, but for those that stay."""
        room = self.size.width - sum(shown.width + 1 for shown in self._shown if shown.stays) + 1
        fitting = []
        for shown in self._shown:
            if not shown.stays:
                room -= shown.width + 1
            if shown.stays or room >= 0:
                fitting.append(shown)
        return fitting

    def render_line(self, y: int) -> Strip:
        """Draw them side by side, a blank between; in one piece, for it is drawn with nearly every key."""
        del y
        base = self.rich_style
        key, label, hover = (
            self.get_component_rich_style(f"keys-footer--{part}", partial=True) for part in ("key", "label", "hover")
        )
        segments: list[Segment] = []
        for shown in self._fitting:
            over = hover if shown is self._hovered else Style()
            segments.append(Segment(shown.display, base + key + over))
            segments.append(Segment(f" {shown.label}", base + label + over))
            segments.append(Segment(" ", base))
        return Strip(segments).crop_extend(0, self.size.width, Style(bgcolor=base.bgcolor))

    def _at(self, column: int) -> Shown | None:
        """The key that stands in a column."""
        for shown in self._fitting:
            if 0 <= column < shown.width:
                return shown
            column -= shown.width + 1
        return None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Mark the key below the mouse."""
        self._hover(self._at(event.x))

    def on_leave(self) -> None:
        """Mark none."""
        self._hover(None)

    def _hover(self, shown: Shown | None) -> None:
        if shown is not self._hovered:
            self._hovered = shown
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Press the key."""
        shown = self._at(event.x)
        if shown is not None:
            self.app.simulate_key(shown.key)
