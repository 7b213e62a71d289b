"""The steps of an act, each with its state, as they happen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from widgets.paint import painted
from widgets.plain import clean, column

if TYPE_CHECKING:
    from textual.app import RenderResult

StepState = Literal["waiting", "running", "done", "failed", "unknown"]
"""What can be said of a step; ``unknown``: whether it is done can't be seen."""

SIGNS: dict[StepState, str] = {"waiting": "·", "running": "▸", "done": "✓", "failed": "✗", "unknown": "?"}
"""The sign of each state, so that none is told by its colour alone."""

NAME_MOST = 40
"""Cells of the names' column at most: a longer name is cut rather than pushing all states to the right."""

STATE_CELLS = max(len(state) for state in SIGNS)
"""Cells of the states' column."""

COLUMNS_FROM = 50
"""Cells of the widget from which on names stand in a column."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step.

    Attributes:
        name: What is done.
        state: How far it is.
        detail: What was found, or why it failed; may be empty.
        seconds: How long it took, or takes; None when that is not known.
    """

    name: str
    state: StepState = "waiting"
    detail: str = ""
    seconds: float | None = None


class Steps(Widget):
    """Steps, one a line; long details wrap."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "steps--waiting",
        "steps--running",
        "steps--done",
        "steps--failed",
        "steps--unknown",
        "steps--detail",
    }
    """Parts that CSS can reach: a step by its state, and its time and detail."""

    DEFAULT_CSS = """
    Steps {
        height: auto;
        width: 1fr;
        & > .steps--waiting { color: $foreground-muted; }
        & > .steps--running { color: $text-primary; text-style: bold; }
        & > .steps--done { color: $text-success; }
        & > .steps--failed { color: $text-error; text-style: bold; }
        & > .steps--unknown { color: $text-warning; }
        & > .steps--detail { color: $foreground 80%; }
    }
    """

    rows: reactive[tuple[StepRow, ...]] = reactive[tuple[StepRow, ...]]((), layout=True)
    """The steps, in order."""

    def __init__(
        self,
        rows: tuple[StepRow, ...] = (),
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the name that all Textual widgets have for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.rows = rows

    def put(self, row: StepRow) -> None:
        """Show a step in place of the one of its name, or after the last when there is none."""
        names = [each.name for each in self.rows]
        if row.name not in names:
            self.rows = (*self.rows, row)
            return
        at = names.index(row.name)
        self.rows = (*self.rows[:at], row, *self.rows[at + 1 :])

    def mark(self, name: str, state: StepState, detail: str = "", seconds: float | None = None) -> None:
        """Show another state of the step of a name.

        Raises:
            KeyError: There is no step of this name.
        """
        for row in self.rows:
            if row.name == name:
                self.put(replace(row, state=state, detail=detail, seconds=seconds))
                return
        raise KeyError(name)

    def render(self) -> RenderResult:
        """Draw all steps."""
        names = max((cell_len(clean(row.name)) for row in self.rows), default=0)
        room = min(names, NAME_MOST) if self.size.width >= COLUMNS_FROM else 0
        return Content("\n").join(self._line(row, room) for row in self.rows)

    def _line(self, row: StepRow, room: int) -> Content:
        """Draw one step, its name in a column of so many cells, or as long as it is for 0."""
        name = column(clean(row.name), room) if room else clean(row.name)
        state = row.state.ljust(STATE_CELLS) if room else row.state
        seconds = "" if row.seconds is None else f"{row.seconds:.1f} s"
        more = "  ".join(text for text in (seconds, clean(row.detail)) if text)
        pieces = [(f"{SIGNS[row.state]} {name}  {state}", f"steps--{row.state}")]
        return painted(self, [*pieces, (f"  {more}" if more else "", "steps--detail")])
