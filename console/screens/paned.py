"""A screen of panes: a digit goes to one, the same digit fills the screen with it, Esc goes back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual.reactive import Reactive

from console.panels.logs import LogsPanel
from console.panels.panel import Panel
from console.panels.progress import ProgressPanel
from console.screens.commanded import CommandedScreen

if TYPE_CHECKING:
    from textual.binding import ActiveBinding
    from textual.widget import Widget


class PanedScreen(CommandedScreen):
    """The actions of the commands on panes."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """What has the focus. Textual draws the whole screen anew when it changes; what gains and loses it does so itself,
    and a full screen takes longer than all else that a key does, and some 20 kB on a slow line."""

    @property
    def pane(self) -> Panel | None:
        """The pane that has the focus."""
        near = self.focused.ancestors_with_self if self.focused is not None else []
        return next((node for node in near if isinstance(node, Panel)), None)

    @property
    def active_bindings(self) -> dict[str, ActiveBinding]:
        """The keys that work now; the footer names the way back out of a pane, and what Enter does in it."""
        found = super().active_bindings
        of_use = {"back": self.maximized is not None, "open-dataset": isinstance(self.pane, ProgressPanel)}
        for key, one in found.items():
            if of_use.get(one.binding.id or ""):
                # As a word: not every terminal has the sign that Textual writes for it.
                display = "enter" if one.binding.key == "enter" else one.binding.key_display
                found[key] = one._replace(binding=replace(one.binding, show=True, key_display=display))
        return found

    def watch_maximized(self) -> None:
        """Name the way back in the footer, or no longer."""
        self.refresh_bindings()

    def action_focus_pane(self, name: str) -> None:
        """Focus a pane; one that has the focus fills the screen, and one that fills it goes back among the others."""
        pane = self.query_one(f"#{name}", Panel)
        if self.maximized is pane:
            self.minimize()
        elif self.maximized is not None or pane is self.pane or not pane.is_on_screen:
            self._fill_with(pane)
        else:
            pane.focus_pane()

    def action_zoom_pane(self) -> None:
        """Fill the screen with the focused pane, or bring all back."""
        if self.maximized is not None:
            self.minimize()
        else:
            self._fill_with(self.pane or self.query_one(LogsPanel))

    def action_go_back(self) -> None:
        """Bring all panes back; else leave the pane that has the focus."""
        if self.maximized is not None:
            self.minimize()
        else:
            self.set_focus(None)

    def _fill_with(self, pane: Panel) -> None:
        """Fill the screen; the pane can take the focus only once it is laid out."""
        self.maximize(pane, container=False)
        self.call_after_refresh(pane.focus_pane)
