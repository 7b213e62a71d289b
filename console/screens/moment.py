"""The reading of a moment of the past: the panes as they stood then, and how what was told then turned out."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import var

from console.job import units
from console.job.timeline_hindsight import outcomes
from console.panels import words
from console.panels.panel import Panel
from console.panels.progress import ProgressPanel
from console.panels.server import ServerPanel
from console.panels.status import StatusPanel, Usual
from console.panels.verdict import VerdictPanel
from console.screens.copying import Copied
from console.screens.footer import KeysFooter
from console.screens.own_keys import follows
from widgets.moves import Scrolling
from widgets.plain import clean
from widgets.still import Still

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo

    from textual.app import ComposeResult

    from console.job.snapshot import Snapshot
    from console.job.timeline_hindsight import Outcome
    from console.moments import Moments

EARLIEST = "No earlier reading was kept."
LATEST = "No later reading was kept: Esc shows the present."


def head(then: Snapshot, now: datetime, asked: datetime, zone: tzinfo | None) -> str:
    """Say that this is the past, of which moment, and when that is another one than was asked for."""
    at = f"{then.at.astimezone(zone):%a %d %b %H:%M %Z}"
    off_s = (asked - then.at).total_seconds()
    near = ""
    if abs(off_s) >= 1:
        near = f"{units.duration(abs(off_s))} {'before' if off_s > 0 else 'after'} the one chosen"
    return words.joined(f" ◀ THE PAST  {at}", units.age(then.at, now), near)


def outcome_line(outcome: Outcome, now: datetime, zone: tzinfo | None) -> str:
    """Word what became of an end: ``The run: told 20:45 (18:29 to 23:24); ended 19:58: the range held; ...``."""
    name = outcome.name or "The run"
    low, told, high = (words.clock(end, now, zone) for end in (outcome.low, outcome.told, outcome.high))
    span = f" ({low} to {high})" if outcome.low and outcome.high else ""
    if outcome.came is not None:
        return f"{name}: told {told}{span}; ended {words.clock(outcome.came, now, zone)}: {outcome.words}."
    if outcome.now_told is not None:
        return f"{name}: told {told}{span}; told now {words.clock(outcome.now_told, now, zone)}: {outcome.words}."
    return f"{name}: told {told}{span}; how it turned out is not known yet."


def hindsight(then: Snapshot, present: Snapshot, zone: tzinfo | None) -> Iterator[str]:
    """Give how it turned out, a line for each end that was told."""
    for outcome in outcomes(then, present):
        yield outcome_line(outcome, present.at, zone)


class MomentScreen(Copied[None]):
    """The same panes, at a moment of the past."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Back to now"),
        follows("quit", "close", "Back to now"),
        Binding("left,h", "step(True)", "Earlier", key_display="left"),
        Binding("right,l", "step(False)", "Later", key_display="right"),
    ]
    AUTO_FOCUS = "#moment"
    COPIED = "#moment"
    DEFAULT_CSS = """
    MomentScreen {
        #moment-head { height: 1; background: $panel; color: $foreground; text-style: bold; }
        #moment { height: 1fr; }
        VerdictPanel Card { max-height: 100%; height: auto; }
        #hindsight { height: auto; padding: 0 1; border-top: solid $primary-muted; }
        #hindsight { border-title-style: bold; border-title-color: $text-muted; }
    }
    """

    snapshot: var[Snapshot | None] = var(None)
    """The reading that is shown."""

    now: var[datetime | None] = var(None)
    """Its moment: ages are those of then."""

    def __init__(
        self,
        then: Snapshot,
        present: Snapshot,
        moments: Moments,
        *,
        asked: datetime,
        zone: tzinfo | None,
        usual: Usual | None = None,
    ) -> None:
        """Take the reading, and what it is seen from.

        Args:
            then: The reading of the past.
            present: What is known now: how it turned out.
            moments: Where other readings are found.
            asked: The moment that was chosen.
            zone: The operator's zone; None is this machine's.
            usual: How often the host is asked; None is the usual.
        """
        super().__init__()
        self._usual = usual
        self._present, self._moments, self._asked, self._zone = present, moments, asked, zone
        self._head = Still(id="moment-head", markup=False)
        self._after = Still(id="hindsight", markup=False)
        self._after.border_title = "How it turned out"
        self.set_reactive(MomentScreen.snapshot, then)
        self.set_reactive(MomentScreen.now, then.at)

    def compose(self) -> ComposeResult:
        """Lay the panes one below the other, in a box that scrolls."""
        yield self._head
        with Scrolling(id="moment"):
            panels = (VerdictPanel(self._zone), ProgressPanel(self._zone), ServerPanel(self._zone))
            for panel in (*panels, StatusPanel(self._zone, self._usual)):
                yield panel.data_bind(MomentScreen.snapshot, MomentScreen.now)
            yield self._after
        yield KeysFooter()

    def on_mount(self) -> None:
        """Write the head."""
        self._write()

    def on_resize(self) -> None:
        """Draw the panes anew: what they show depends on how wide they are, and nothing else will come."""
        self.call_after_refresh(self._draw_panes)

    def _draw_panes(self) -> None:
        for panel in self.query(Panel):
            panel.watch_snapshot()

    def _write(self) -> None:
        then = self.snapshot
        if then is None:
            return
        self._head.write(Content(clean(head(then, self._present.at, self._asked, self._zone))))
        lines = list(hindsight(then, self._present, self._zone)) or ["No end was told then."]
        self._after.write(Content("\n".join(clean(line) for line in lines)))

    def action_close(self) -> None:
        """Go back to the present."""
        self.dismiss()

    @work(exclusive=True, group="moment", exit_on_error=False)
    async def action_step(self, back: bool) -> None:
        """Show the reading before this one, or after it."""
        then = self.snapshot
        found = None if then is None else await self._moments.beside(then.at, back=back)
        if found is None:
            self.notify(EARLIEST if back else LATEST, markup=False)
            return
        self._asked = found.at
        with self.app.batch_update():
            self.now, self.snapshot = found.at, found
            self._write()
