"""A screen that is opened as it was left: the pane that filled it, the chosen log, its filter and search, the span."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.kept import ZOOMED
from console.panels.header import HeaderLine
from console.panels.panel import Panel
from console.screens.copying import CopyingScreen

if TYPE_CHECKING:
    from console.kept import Kept


class RememberingScreen(CopyingScreen):
    """What is remembered of a run is put into its panes, and taken from them as it changes.

    Nothing is reported to it: it looks at its panes whenever it is told to, each second for instance, which costs a
    few comparisons.
    """

    _restored = False

    @property
    def kept(self) -> Kept:
        """What is remembered of the run."""
        return self.setup.kept

    def restore(self) -> None:
        """Show the run as it was left; what is not there any more is left out."""
        for panel in self.query(Panel):
            panel.restore(self.kept)
        zoomed = self.kept.get(ZOOMED, "")
        if zoomed:
            pane = next((panel for panel in self.query(Panel) if panel.id == zoomed), None)
            if pane is not None:  # else it is a pane of another version
                self.maximize(pane, container=False)
                self.call_after_refresh(pane.focus_pane)  # as when it is filled by key: its keys work at once
        self._restored = True

    def remember(self) -> None:
        """Take what is to be remembered from the panes."""
        if not self._restored:
            return
        for panel in self.query(Panel):
            panel.remember(self.kept)
        zoomed = self.maximized
        self.kept.put(ZOOMED, (zoomed.id or "") if isinstance(zoomed, Panel) else "")

    def action_turn_mouse(self) -> None:
        """Give the mouse back to the terminal, or take it again."""
        given, said = self.turn_mouse()
        self.query_one(HeaderLine).tell("mouse", "the mouse selects text (M)" if given else "")
        self.notify(said, markup=False)

    def turn_mouse(self) -> tuple[bool, str]:
        """Have the app turn the mouse; whether the terminal has it then, and a sentence."""
        turn = getattr(self.app, "turn_mouse", None)
        return turn() if turn is not None else (False, "Here the mouse can't be given back.")
