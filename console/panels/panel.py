"""What all panels share: one part of the snapshot, a title that tells its age, and help of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical
from textual.content import Content
from textual.reactive import var
from textual.widget import Widget

from console.panels import words
from widgets.drawn import drawn, without_bars
from widgets.focus import FocusedAlone
from widgets.moves import MOVES, scroll_half_page
from widgets.plain import clean
from widgets.titled import Titled

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from textual.binding import BindingType

    from console.job.snapshot import Snapshot
    from console.kept import Kept


class Panel(Titled, Vertical, FocusedAlone, can_focus=True):
    """A part of the screen that shows a part of the snapshot; the screen binds ``snapshot`` and ``now``."""

    HELP: ClassVar[str] = ""
    """What it shows, unit, source, what good and bad look like; Markdown."""

    TITLE: ClassVar[str] = ""
    """What stands on its upper edge."""

    ALLOW_MAXIMIZE = True
    BINDINGS: ClassVar[list[BindingType]] = [*MOVES]
    DEFAULT_CSS = """
    Panel {
        height: auto;
        border-top: solid $primary-muted;
        border-title-color: $text-muted;
        border-title-style: bold;
        padding: 0 1;
        &:focus {
            border-top: solid $accent;
            border-title-color: $text-accent;
        }
        &.-old > * { text-opacity: 80%; }
    }
    """

    snapshot: var[Snapshot | None] = var(None)
    """All that is known now; None before the first."""

    now: var[datetime | None] = var(None)
    """The moment of the drawing, by the console's clock."""

    def __init__(self, zone: tzinfo | None = None, *, id: str | None = None) -> None:  # noqa: A002 -- textual's name for it
        """Take the operator's zone; None is this machine's."""
        super().__init__(id=id)
        self.zone = zone
        """The zone in which times are written."""
        self._said: str | None = None
        self.say()

    def watch_snapshot(self) -> None:
        """Draw a newer one."""
        self._draw()

    def watch_now(self) -> None:
        """Let ages grow."""
        self._draw()

    def _draw(self) -> None:
        if self.snapshot is not None and self.now is not None:
            self.show(self.snapshot, self.now)

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Draw it; cheap, since it runs for every snapshot and every second."""
        raise NotImplementedError

    @property
    def is_on_screen(self) -> bool:
        """Whether the layout has a place for it at this size."""
        around = (node for node in self.ancestors_with_self if isinstance(node, Widget))
        return bool(self.region.area) and all(node.display for node in around)

    def focus_pane(self) -> None:
        """Take the focus, or give it to the part that has a use for it."""
        self.screen.set_focus(self)  # now: of keys that come in one burst the next must find it

    def at_hand(self) -> tuple[str, ...]:
        """Give the line or the figure at hand as plain text, for copying; else the pane's title with its first row."""
        rows = [without_bars(row) for row in drawn(self)]
        return (words.joined(self._said or self.TITLE, *[row for row in rows if row][:1]),)

    def whole(self) -> tuple[str, ...]:
        """Give the whole pane as plain text, for copying: its title, and all rows, those out of sight, too."""
        return (self._said or self.TITLE, *drawn(self))

    def restore(self, kept: Kept) -> None:
        """Show what is remembered of how the run was looked at; a panel that remembers something does more here."""

    def remember(self, kept: Kept) -> None:
        """Put what is to be remembered; called each second, so only put: what stays the same costs nothing."""

    def action_half_page(self, pages: int) -> None:
        """Scroll half a page."""
        scroll_half_page(self, pages)

    def say(self, note: str = "", *, old: bool = False) -> None:
        """Write a note beside the title.

        Args:
            note: Any text.
            old: The figures are out of date: draw them dim. The note says so in words.
        """
        title = clean(f"{self.TITLE} · {note}" if note else self.TITLE)
        if title != self._said:
            self._said = title
            self.retitle(Content(title))
        self.set_class(old, "-old")
