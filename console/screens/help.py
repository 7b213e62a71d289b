"""Help, made from the commands and the panels' own words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from rich.markdown import Markdown
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from console import commands
from console.panels.logs import LogsPanel
from console.panels.panel import Panel
from console.panels.progress import ProgressPanel
from console.panels.server import ServerPanel
from console.panels.status import StatusPanel
from console.panels.verdict import VerdictPanel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from textual.app import ComposeResult
    from textual.widget import Widget

PANELS: tuple[type[Panel], ...] = (VerdictPanel, ProgressPanel, ServerPanel, StatusPanel, LogsPanel)
"""In the order of the screen."""

_HEADING = re.compile("^### (.+)$", re.MULTILINE)
"""Headings, which Rich draws in a colour of its own, not the theme's: bold text stands in for them."""


def key_rows(
    keymap: Mapping[str, str],
    situation: commands.Situation,
    known: Iterable[commands.OperatorCommand] = commands.COMMANDS,
) -> str:
    """Give the list of keys; a command that can't run now says why.

    Args:
        keymap: The operator's own keys, by command id.
        situation: What the guards look at.
        known: The commands of the screen.
    """
    rows = (
        f"- `{commands.key_words(command, keymap)}` **{command.name}**. {command.refusal(situation) or command.help}"
        for command in known
    )
    return "\n".join((*rows, "- `ctrl+p` **Palette**. Finds a command by its name."))


def help_text(
    focused: Widget | None,
    keymap: Mapping[str, str],
    situation: commands.Situation,
    known: Iterable[commands.OperatorCommand] = commands.COMMANDS,
    panels: Iterable[type[Panel]] = PANELS,
) -> str:
    """Give the whole help: the focused pane's own words, the keys, then the other panes'."""
    near = focused.ancestors_with_self if focused is not None else []
    first = [type(node) for node in near if isinstance(node, Panel)]
    rest = [panel for panel in panels if panel not in first]
    return "\n\n".join(
        (
            *(panel.HELP for panel in first),
            "### Keys",
            key_rows(keymap, situation, known),
            *(panel.HELP for panel in rest),
        )
    )


class HelpScreen(ModalScreen[None]):
    """The help over the screen that it explains."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "close", "Close")]
    DEFAULT_CSS = """
    HelpScreen {
        align: center middle;
        #page {
            width: 94%;
            max-width: 110;
            height: 90%;
            border: round $primary;
            border-title-style: bold;
            background: $surface;
            padding: 0 1;
        }
    }
    """

    def __init__(self, text: str) -> None:
        """Take the help as Markdown."""
        super().__init__()
        self._text = _HEADING.sub(r"**\1**", text)

    def compose(self) -> ComposeResult:
        """Lay the text in a box that scrolls."""
        with VerticalScroll(id="page") as page:
            page.border_title = "Help"
            page.border_subtitle = "Esc closes"
            # One widget: Textual's own Markdown makes one for each paragraph, and takes a second to open.
            yield Static(Markdown(self._text, hyperlinks=False))

    def action_close(self) -> None:
        """Close the help."""
        self.dismiss()
