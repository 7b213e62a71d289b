"""The top line: which host, under which conditions, and what time it is."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive, var
from textual.widget import Widget

from console.panels import words
from widgets.card import SIGNS
from widgets.plain import clean, fit

if TYPE_CHECKING:
    from datetime import tzinfo


class HeaderLine(Widget):
    """``longwait  gpu01  read-only  demo: the server is simulated      Tue 24 Feb 03:19:40 UTC``.

    While a pane fills the screen the verdict stands behind the host: ``longwait  gpu01  ✗ INTERVENE · 7 h left``.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "headerline--name",
        "headerline--note",
        *(f"headerline--{tone}" for tone in SIGNS),
    }
    DEFAULT_CSS = """
    HeaderLine {
        dock: top;
        height: 1;
        padding: 0 1;
        background: $panel;
        color: $foreground;
        text-wrap: nowrap;
        & > .headerline--name { text-style: bold; color: $text-primary; }
        & > .headerline--note { color: $text-warning; }
        & > .headerline--good { color: $text-success; text-style: bold reverse; }
        & > .headerline--warn { color: $text-warning; text-style: bold reverse; }
        & > .headerline--bad { color: $text-error; text-style: bold reverse; }
        & > .headerline--blind { color: $foreground; text-style: bold reverse; }
    }
    """

    now: var[datetime | None] = var(None)
    """The moment, by the console's clock."""

    moment: reactive[str] = reactive("")
    """What the clock shows."""

    verdict: reactive[tuple[str, tuple[str, ...]]] = reactive[tuple[str, tuple[str, ...]]](("blind", ()))
    """How the verdict is meant, and the verdict in ever fewer words; no words while it is in sight elsewhere."""

    trouble: reactive[str] = reactive("")
    """Why nothing new will come; empty while something may."""

    passing: reactive[tuple[tuple[str, str], ...]] = reactive[tuple[tuple[str, str], ...]](())
    """What is said for a while, by name and in the order in which it began; see ``tell``."""

    def __init__(self, host: str, notes: tuple[str, ...] = (), zone: tzinfo | None = None) -> None:
        """Take what does not change.

        Args:
            host: The host as the operator wrote it.
            notes: Conditions to keep in sight, ``read-only`` for instance.
            zone: The operator's zone; None is this machine's.
        """
        super().__init__()
        self._host, self._notes, self._zone = host, notes, zone

    def tell(self, name: str, words: str) -> None:
        """Keep a condition in sight that comes and goes; empty words end it.

        Args:
            name: What it is about; the same name again replaces it.
            words: A few words.
        """
        rest = tuple(each for each in self.passing if each[0] != name)
        self.passing = (*rest, (name, words)) if words else rest

    def watch_now(self, now: datetime | None) -> None:
        """Let the clock go on."""
        self.moment = f"{now.astimezone(self._zone):%a %d %b %H:%M:%S %Z}" if now is not None else ""

    @property
    def _passing_words(self) -> tuple[str, ...]:
        return tuple(words for _, words in self.passing)

    def render(self) -> Content:
        """Draw the line; the notes give way when there is no room."""
        # A host's name may be longer than the line; the clock tells whether the screen is alive, and stays.
        free = max(0, self.size.width - cell_len(self.moment) - 1)
        tone, phrases = self.verdict
        said = words.first_fitting(free * 2 // 3 - 4, *map(clean, phrases))
        badge = f" {said} " if said and cell_len(said) + 2 <= free else ""
        head = fit(clean(f"longwait  {self._host}"), max(0, free - cell_len(badge) - 2 * bool(badge)))
        note = clean("  ".join(note for note in (self.trouble, *self._passing_words, *self._notes) if note))
        lead = "  " if badge else ""
        room = self.size.width - sum(map(cell_len, (head, lead, badge, self.moment))) - 2
        shown = f"  {fit(note, room - 2)}" if note and room > 4 else ""  # noqa: PLR2004 -- less would be an ellipsis
        taken = sum(map(cell_len, (head, lead, badge, shown, self.moment)))
        gap = " " * max(1, self.size.width - taken)
        name, warning, mark = (
            self.get_visual_style(part, partial=True)
            for part in ("headerline--name", "headerline--note", f"headerline--{tone}")
        )
        return Content.assemble((head, name), lead, (badge, mark), (shown, warning), gap, self.moment)
