"""An act on the job: looked at, asked about, carried out with its steps in sight."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from console.act_journal import outcome_of
from console.job import units
from console.proving import item_words
from console.screens.board import Board, row_of
from console.screens.own_keys import follows, key_of
from widgets.moves import Scrolling
from widgets.plain import clean
from widgets.steps import StepRow, Steps, StepState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime, tzinfo

    from textual.app import ComposeResult

    from console.acts import ActionPlan, Step
    from console.job.proof import Proof
    from console.job.snapshot import Snapshot

ROLL_BACK = "roll back"
"""What the board is closed with when the operator wants to go back."""

TICK_S = 1.0
"""Seconds between two drawings of a step that goes on."""

PROVEN: dict[str, StepState] = {"waiting": "waiting", "ok": "done", "failed": "failed", "unknown": "unknown"}
"""The state of a line of the proof as the list draws it."""


@dataclass(frozen=True, slots=True)
class ActSeen:
    """An act under way.

    Attributes:
        plan: What is done.
        steps: The steps so far, in order.
        ended: What came of it, as a sentence; empty while it goes on.
        began: When the newest step began; None where that is not known.
        waits_for: What the step under way waits for, as the console sees it; may be empty.
    """

    plan: ActionPlan
    steps: tuple[Step, ...] = ()
    ended: str = ""
    began: datetime | None = None
    waits_for: str = ""

    def with_step(self, step: Step, now: datetime) -> ActSeen:
        """Add what was told of a step at ``now``."""
        known = {each.name for each in self.steps}
        began = self.began if step.name in known else now
        waits_for = self.waits_for if step.state == "running" and step.name in known else ""
        return replace(self, steps=told(self.steps, step), began=began, waits_for=waits_for)

    def rows(self, now: datetime | None) -> tuple[StepRow, ...]:
        """The steps as the list draws them; one under way says for how long, and what it waits for."""
        return tuple(self._row(step, now) for step in self.steps) or (StepRow("begin", "running"),)

    def _row(self, step: Step, now: datetime | None) -> StepRow:
        if step.state != "running" or step is not self.steps[-1] or self.ended:
            return row_of(step)
        since = None if now is None or self.began is None else max(0.0, (now - self.began).total_seconds())
        detail = "; ".join(words for words in (step.detail, self.waits_for) if words)
        return StepRow(step.name, "running", detail, since)


def drains(snapshot: Snapshot | None) -> str:
    """Say what the server still works on while the job is waited for; empty when that is not known."""
    running = None if snapshot is None else snapshot.server.running
    if running is None:
        return ""
    return f"the server works on {units.plural(running, 'request')}" if running else "the server works on nothing more"


def told(steps: Sequence[Step], step: Step) -> tuple[Step, ...]:
    """Add a step that began, or put its end in the place of its beginning."""
    if steps and steps[-1].name == step.name and steps[-1].state == "running":
        return (*steps[:-1], step)
    return (*steps, step)


def outcome(plan: ActionPlan, steps: Sequence[Step]) -> tuple[str, str]:
    """Give what came of an act, as a sentence and its severity."""
    failed = next((step for step in steps if step.state == "failed"), None)
    return outcome_of(plan, failed), "info" if failed is None else "error"


class ActScreen(Board[str]):
    """The steps of an act as they happen, then its proof as it fills; closing it stops neither.

    It is closed with ``ROLL_BACK``, or with nothing.
    """

    COPIED: ClassVar[str] = "#board"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter", "close", "Close (the act goes on)"),
        follows("quit", "close", "Close (the act goes on)"),
        follows("act", "close", "Close (the act goes on)"),
        follows("rollback", "roll_back", "Roll back", shown=True),
    ]
    DEFAULT_CSS = """
    ActScreen {
        #ended, #proof { margin-top: 1; height: auto; display: none; text-style: bold; }
        #proof-title { margin-top: 1; height: auto; display: none; color: $text-muted; }
        #proof { margin-top: 0; text-style: none; }
        &.-ended #ended { display: block; }
        &.-proving #proof, &.-proving #proof-title { display: block; }
    }
    """

    act: reactive[ActSeen | None] = reactive(None, init=False)
    """The act; None where it was another console's, whose proof alone is shown."""

    proof: reactive[Proof | None] = reactive(None, init=False)
    """The checklist; None where nothing was started."""

    def __init__(
        self,
        title: str,
        act: ActSeen | None,
        proof: Proof | None,
        zone: tzinfo | None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """Take the act and the proof as they stand, the operator's zone, and the console's clock."""
        super().__init__()
        self._clock = clock
        self._rows = Steps(id="steps")
        self._items = Steps(id="proof")
        self._end = Static(id="ended", markup=False)
        self._title = clean(title)
        self._zone = zone
        self.set_reactive(ActScreen.act, act)
        self.set_reactive(ActScreen.proof, proof)

    def compose(self) -> ComposeResult:
        """Lay the steps in a box."""
        with Scrolling(id="board", classes="board") as board:
            board.border_title = Content(self._title)
            yield self._rows
            yield Static("Proof that it worked", id="proof-title")
            yield self._items
            yield self._end

    def on_mount(self) -> None:
        """Draw what is known already, and let the step under way say for how long."""
        self._draw()
        self.set_interval(TICK_S, self._draw_steps)

    def watch_act(self) -> None:
        """Draw what is new, once there is something to draw on."""
        if self.is_mounted:
            self._draw()

    def watch_proof(self) -> None:
        """As ``watch_act``."""
        if self.is_mounted:
            self._draw()

    @property
    def _can_go_back(self) -> bool:
        """Whether something has failed that can be undone."""
        if self.proof is not None and self.proof.failed:
            return True
        done = self.act.steps if self.act is not None and self.act.ended else ()
        return bool(done) and done[-1].state == "failed" and done[-1].result is not None and bool(done[-1].result.kept)

    def _draw_steps(self) -> None:
        if self.act is not None:
            self._rows.rows = self.act.rows(self._clock() if self._clock is not None else None)

    def _draw(self) -> None:
        """Draw the steps, the proof, and what came of them."""
        act, proof = self.act, self.proof
        self._draw_steps()
        if proof is not None:
            self._items.rows = tuple(
                StepRow(item.name, PROVEN[item.state], item_words(item, self._zone)) for item in proof.items
            )
        ended = proof.outcome if proof is not None and proof.ended else ""
        words = [text for text in (act.ended if act is not None else "", ended) if text]
        if self._can_go_back:
            words.append(f"{key_of(self, 'rollback')} rolls back: the former script and command.")
        self._end.update(Content(clean(" ".join(words))))
        self.set_class(bool(words), "-ended")
        self.set_class(proof is not None, "-proving")
        going = (act is not None and not act.ended) or (proof is not None and not proof.ended)
        self.say_keys(going=going)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's own
        """Offer to roll back only where something has failed."""
        return action != "roll_back" or self._can_go_back

    def action_roll_back(self) -> None:
        """Close, and ask for the way back."""
        if self._can_go_back:
            self.dismiss(ROLL_BACK)

    def action_close(self) -> None:
        """Close the board; the act and the proof go on."""
        self.dismiss("")
