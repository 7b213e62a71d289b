"""An act on the job: looked at, asked about, carried out with its steps in sight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.widgets import Static

from console.acts import ActionPlan, Step, Verb
from widgets.plain import clean
from widgets.steps import StepRow, Steps, StepState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

DONE = {Verb.START: "The job is started.", Verb.STOP: "The job is stopped.", Verb.RESTART: "The job is restarted."}
"""What is said when an act has gone well."""


STATES: dict[str, StepState] = {"running": "running", "done": "done", "failed": "failed"}
"""A step's state as the list draws it."""


@dataclass(frozen=True, slots=True)
class ActSeen:
    """An act under way.

    Attributes:
        plan: What is done.
        steps: The steps so far, in order.
        ended: What came of it, as a sentence; empty while it goes on.
    """

    plan: ActionPlan
    steps: tuple[Step, ...] = ()
    ended: str = ""


def told(steps: Sequence[Step], step: Step) -> tuple[Step, ...]:
    """Add a step that began, or put its end in the place of its beginning."""
    if steps and steps[-1].name == step.name and steps[-1].state == "running":
        return (*steps[:-1], step)
    return (*steps, step)


def outcome(plan: ActionPlan, steps: Sequence[Step]) -> tuple[str, str]:
    """Give what came of an act, as a sentence and its severity."""
    failed = next((step for step in steps if step.state == "failed"), None)
    if failed is not None:
        return f"{plan.verb.value.capitalize()} failed at '{failed.name}': {failed.detail}", "error"
    return DONE[plan.verb], "info"


class ActScreen(ModalScreen[None]):
    """The steps of an act as they happen; closing it does not stop the act."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "close", "Close (the act goes on)"),
    ]
    DEFAULT_CSS = """
    ActScreen {
        align: center middle;
        #board {
            width: 80%;
            max-width: 100;
            height: auto;
            max-height: 80%;
            border: round $primary;
            border-title-style: bold;
            border-subtitle-color: $text-muted;
            background: $surface;
            padding: 1 2;
        }
        #ended { margin-top: 1; height: auto; display: none; text-style: bold; }
        &.-ended #ended { display: block; }
    }
    """

    act: reactive[ActSeen | None] = reactive(None, init=False)
    """The act; None only before the first is given."""

    def __init__(self, act: ActSeen) -> None:
        """Take the act as it stands."""
        super().__init__()
        self._rows = Steps()
        self._end = Static(id="ended", markup=False)
        self._title = clean(act.plan.title)
        self.set_reactive(ActScreen.act, act)

    def compose(self) -> ComposeResult:
        """Lay the steps in a box."""
        with Vertical(id="board") as board:
            board.border_title = Content(self._title)
            yield self._rows
            yield self._end

    def on_mount(self) -> None:
        """Draw what is known already."""
        self._draw()

    def watch_act(self) -> None:
        """Draw what is new, once there is something to draw on."""
        if self.is_mounted:
            self._draw()

    def _draw(self) -> None:
        """Draw the steps, and what came of them."""
        act = self.act
        if act is None:
            return
        self._rows.rows = tuple(
            StepRow(step.name, STATES.get(step.state, "running"), step.detail, step.seconds) for step in act.steps
        ) or (StepRow("begin", "running"),)
        self._end.update(Content(clean(act.ended)))
        self.set_class(bool(act.ended), "-ended")
        self.query_one("#board").border_subtitle = "Esc closes" if act.ended else "Esc closes; the act goes on"

    def action_close(self) -> None:
        """Close the board; the act goes on."""
        self.dismiss()
