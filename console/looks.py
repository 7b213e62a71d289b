"""How the app looks on the terminal at hand: its themes, its colours, its characters, and that this is remembered."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.app import App
from textual.filter import Monochrome, NoColor
from textual.reactive import var

from console.kept import THEME, THEME_OF_CONFIG, Kept
from console.themes import COLOURLESS, DEFAULT, all_themes
from widgets.glyphs import AsciiFilter, needs_ascii

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.filter import LineFilter
    from textual.theme import Theme

SAVED_AFTER_S = 1.0
"""Seconds from a change until it is written: what is turned quickly, such as the themes, is written once."""

IN_BROWSER = "TEXTUAL_DRIVER"
"""The variable that is set where a browser is behind the console: no locale says anything of that."""

MARKS_CSS = f"""
    App.-theme-{COLOURLESS} {{
        LogView > .log-view--cursor {{ text-style: reverse; }}
        LogView > .log-view--marked {{ text-style: underline; }}
        Panel:focus, LogView:focus {{ border-title-style: bold reverse; }}
    }}
"""
"""Without colours, what is chosen and what has the focus are told by reversal; for the CSS of the app."""


@dataclass(frozen=True, slots=True)
class Looks:
    """What the operator asks for.

    Attributes:
        theme: A theme's name; empty for the one that was chosen last, or the usual one.
        own: Themes of the operator's.
        ascii_only: Draw with ASCII only; None finds out, where there is a terminal.
        terminal: The environment, which says what the terminal can do; None where there is none, as in pictures and
            tests: all colours and characters can then be had.
    """

    theme: str = ""
    own: tuple[Theme, ...] = ()
    ascii_only: bool | None = None
    terminal: Mapping[str, str] | None = None


class LooksApp(App[None]):
    """An app in the console's themes, on terminals with few colours, without colour, or with ASCII alone."""

    mouse_given: var[bool] = var(False)
    """Whether the mouse was given back to the terminal, for selecting text."""

    def __init__(self, looks: Looks | None = None, kept: Kept | None = None) -> None:
        """Take what the operator asks for, and what is remembered of the run."""
        super().__init__()
        self._looks = looks or Looks()
        self.kept = kept or Kept()
        """What is remembered of how the run was looked at."""
        colours = None if self._looks.terminal is None else self.console.color_system
        for theme in all_themes(colours, self._looks.own):
            self.register_theme(theme)
        self._late_filters: tuple[LineFilter, ...] = self._made_filters()
        self._save_waits = False
        self._first = self._first_theme()
        self.set_reactive(App.theme, self._first)
        dark = self.current_theme.dark
        self.update_classes({f"-theme-{self._first}": True, "-dark-mode": dark, "-light-mode": not dark}, update=False)
        self._refresh_truecolor_filter(self.ansi_theme)
        self.stylesheet.set_variables(self.get_css_variables())
        self.kept.on_change = self._save_soon

    @property
    def is_ascii(self) -> bool:
        """Whether all is drawn with ASCII."""
        return any(isinstance(each, AsciiFilter) for each in self._late_filters)

    def _made_filters(self) -> tuple[LineFilter, ...]:
        """What each line goes through last."""
        asked, terminal = self._looks.ascii_only, self._looks.terminal
        if asked is None and terminal is not None and IN_BROWSER not in terminal:
            asked = needs_ascii(terminal, getattr(sys.__stderr__, "encoding", "") or "")
        return (*([NoColor()] if self.no_color else []), *([AsciiFilter()] if asked else []))

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Give what each line goes through; without colour means none, where Textual would take shades of grey."""
        return [*(each for each in super().get_line_filters() if not isinstance(each, Monochrome)), *self._late_filters]

    def _first_theme(self) -> str:
        """The theme to begin with: what was chosen last, unless the config has named another one since."""
        if self.no_color:
            return COLOURLESS
        chosen = self.kept.get(THEME, "")
        if self.kept.get(THEME_OF_CONFIG, "") != self._looks.theme:
            chosen = ""
        wanted = (chosen, self._looks.theme, (self._looks.terminal or {}).get("TEXTUAL_THEME", ""))
        return next((name for name in wanted if name in self.available_themes), DEFAULT)

    def watch_theme(self, name: str) -> None:
        """Remember a theme that was chosen."""
        if name != self._first and not self.no_color:
            self._first = ""  # from now on, going back to it is a choice, too
            self.kept.put(THEME_OF_CONFIG, self._looks.theme)
            self.kept.put(THEME, name)

    def tell_kept(self) -> None:
        """Tell what went wrong with what is remembered, once."""
        told, self.kept.notices[:] = list(self.kept.notices), []
        for sentence in told:
            self.notify(sentence, severity="warning", markup=False)

    def _save_soon(self) -> None:
        if self.is_running and not self._save_waits:
            self._save_waits = True
            self.set_timer(SAVED_AFTER_S, self._save)

    def _save(self) -> None:
        self._save_waits = False
        self.kept.save()
        self.tell_kept()

    def turn_mouse(self) -> tuple[bool, str]:
        """Give the mouse back to the terminal, or take it again.

        Returns:
            Whether the terminal has it now, and a sentence for the operator.
        """
        turn = getattr(self._driver, "turn_mouse", None)
        if turn is None and not self.is_headless:
            return False, "Here the mouse can't be given back: this is no terminal of its own."
        if turn is not None:
            turn(ours=self.mouse_given)
        self.mouse_given = not self.mouse_given
        if self.mouse_given:
            return True, "The mouse is the terminal's now: select text with it. M takes it again."
        return False, "The mouse works in the console again."
