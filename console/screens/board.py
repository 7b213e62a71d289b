"""A board over the screen: the steps of an act as they happen, in a box; closing it stops nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.screen import ScreenResultType

from console.screens.copying import CopiedList
from console.screens.own_keys import key_of
from widgets.steps import StepRow, StepState

if TYPE_CHECKING:
    from console.acts import Step

STATES: dict[str, StepState] = {"running": "running", "done": "done", "failed": "failed"}
"""A step's state as the list draws it."""


def row_of(step: Step) -> StepRow:
    """Give a step as the list draws it."""
    return StepRow(step.name, STATES.get(step.state, "running"), step.detail, step.seconds)


class Board(CopiedList[ScreenResultType]):
    """What boards share; the box is of the class ``board``."""

    DEFAULT_CSS = """
    Board {
        align: center middle;
        .board {
            width: 92%;
            max-width: 110;
            height: auto;
            max-height: 92%;
            border: round $primary;
            border-title-style: bold;
            border-subtitle-color: $text-muted;
            background: $surface;
            padding: 1 2;
        }
    }
    """

    def say_keys(self, *, going: bool) -> None:
        """Say on the lower edge how it is closed, and, while the act goes on, that it does."""
        again = f"Esc closes; it goes on, {key_of(self, 'act')} shows it again"
        self.query_one(".board").border_subtitle = Content(again if going else "Esc closes")
