"""A screen from which the job is started, stopped and restarted: plan, question, steps, outcome, proof."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.reactive import var

from console import commands
from console.act_stakes import with_stakes
from console.acts import START_STEP, STOP_STEP, ActionPlan, Step, Verb
from console.job.proof_facts import before_of
from console.messages import NoticeGiven
from console.panels.header import HeaderLine
from console.proving import Proving, proving, taken_up
from console.screens.act import ROLL_BACK, ActScreen, ActSeen, drains, outcome
from console.screens.commanded import CommandedScreen
from remote.errors import RemoteError
from widgets.confirm import Confirm

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from console.control import Controller
    from console.job.snapshot import Snapshot
    from console.screens.setup import Setup


class ActingScreen(CommandedScreen):
    """One act at a time; it goes on whatever is on the screen meanwhile, and so does its proof."""

    TAKES_SCRIPT: ClassVar[frozenset[Verb]] = frozenset({Verb.RESTART})
    """Acts that put the updated script in place."""

    act: var[ActSeen | None] = var(None, init=False)
    """The act under way, or the last one; None before the first."""

    def __init__(self, control: Controller | None, setup: Setup) -> None:
        """Take what acts, and under which conditions."""
        super().__init__(setup.keymap)
        self.setup = setup
        """What the console was opened with."""
        self._control = control
        self._busy = False
        self._looking = ""
        """The act whose plan is waited for."""
        self._board: ActScreen | None = None
        self._proving: Proving | None = None
        self._looked_back = False

    @property
    def known(self) -> Snapshot | None:
        """What is known of the run; None when nothing is."""
        return None

    def action_act_on_job(self, verb: str) -> None:
        """Begin an act; while one is under way, show it instead."""
        control = self._control
        if control is not None:
            script = self.setup.new_script if verb in self.TAKES_SCRIPT else None
            self._begin_act(lambda: control.plan(Verb(verb), script), verb.capitalize())

    def action_roll_back(self) -> None:
        """Put back what the last act has replaced."""
        control = self._control
        if control is not None:
            self._begin_act(control.plan_back, "Roll back")

    def action_show_act(self) -> None:
        """Show the act under way, or the last one, with its proof."""
        if self.act is None and self._proving is None:
            self.refuse("Nothing has been started, stopped or restarted from this console yet.")
        else:
            self._show_board()

    def action_leave(self) -> None:
        """Close the console; asks first while an act is under way, since it would stop half way."""
        if not self._busy:
            self._leave(True)
            return
        question = Confirm(
            "Close the console while an act is under way?",
            ("The steps that have not begun yet would not be done; the next console offers to finish them.",),
            danger=True,
            go="Close",
            cancel="Stay",
        )
        self.app.push_screen(question, self._leave)

    def _leave(self, sure: bool | None) -> None:
        if sure:
            self.app.exit(message=Text(self.setup.last_words))

    # ------------------------------------------------------------ acts

    def _begin_act(self, look: Callable[[], Awaitable[ActionPlan]], name: str) -> None:
        if self._control is None:
            return
        if self._busy:
            self._show_board()
            if self._looking:
                self.refuse(f"{self._looking}: its plan comes as soon as the host has answered.")
            return
        self._busy = True
        self.act_on_job(look, name, self._control)

    @contextmanager
    def _looking_at_host(self, name: str) -> Iterator[None]:
        """Say in the top line, as long as it lasts, what is waited for, and since when."""
        since = f"{self.setup.clock().astimezone(self.setup.zone):%H:%M:%S}"
        self._looking = name
        self._tell_act(f"{name}: looking at the host since {since}")
        try:
            yield
        finally:
            self._looking = ""
            self._tell_act("")

    def _tell_act(self, text: str) -> None:
        for header in self.query(HeaderLine):  # none once the screen is closed
            header.tell("act", text)

    @work(group="act", exit_on_error=False)
    async def act_on_job(self, look: Callable[[], Awaitable[ActionPlan]], name: str, control: Controller) -> None:
        """Look, ask, do; what the host refuses becomes a notice."""
        begun = self.act
        try:
            with self._looking_at_host(name):
                plan = with_stakes(await look(), self.known)
            if await self._agreed(plan):
                await self._carry_out(self._with_reason(plan), control)
        except RemoteError as error:
            self.post_message(NoticeGiven(f"{name} failed: {error}", "error"))
        finally:
            self._busy = False
            self.look_again()
            if self.act is not None and self.act is not begun and not self.act.ended:
                self.act = replace(self.act, ended="The act stopped half way: look at the host before the next one.")

    def look_again(self) -> None:
        """Something may have been done to the job: a subclass asks the host about it."""

    def _with_reason(self, plan: ActionPlan) -> ActionPlan:
        """The plan with the verdict of the moment as the reason, where none was given."""
        verdict = self.known.verdict if self.known is not None else None
        return plan if plan.why or verdict is None else replace(plan, why=f"{verdict.verdict.value} ({verdict.cause})")

    async def _agreed(self, plan: ActionPlan) -> bool:
        """Ask, unless the operator wants no questions; a refusal is always shown."""
        if plan.refusal is None and not self.setup.confirm:
            return True
        question = Confirm(
            plan.title,
            (*plan.lines, *plan.check_lines),
            diff=plan.diff,
            refusal=plan.refusal,
            danger=plan.verb is not Verb.START,
            enter_goes=plan.verb is not Verb.STOP,
            go=plan.name.capitalize(),
        )
        return await self.app.push_screen_wait(question)

    async def _carry_out(self, plan: ActionPlan, control: Controller) -> None:
        """Do it with the steps in sight, then begin its proof."""
        usual = at_start = self.known
        last: Step | None = None
        self._proving = None
        self.act = ActSeen(plan)
        self._show_board()
        async for step in control.carry_out(plan, before_of(usual, usual, plan.gpu_pids).values()):
            if step.name == START_STEP and step.state == "running" and not step.detail:
                at_start = self.known
            last = step
            self.act = self.act.with_step(step, self.setup.clock())
        self._end(*outcome(plan, self.act.steps))
        self._begin_proof(proving(plan, last, usual, at_start, self.setup.clock()), control)

    def _end(self, text: str, severity: str) -> None:
        """Tell what came of it, on the board and as a notice."""
        if self.act is not None and not self.act.ended:
            self.act = replace(self.act, ended=text)
        self.post_message(NoticeGiven(text, severity))

    # ------------------------------------------------------------ the proof

    def _begin_proof(self, begun: Proving | None, control: Controller) -> None:
        self._proving = begun
        if begun is not None:
            self._draw_proof()
            self.watch_gpus(begun, control)

    @work(group="proof", exclusive=True, exit_on_error=False)
    async def watch_gpus(self, begun: Proving, control: Controller) -> None:
        """Ask for what the old job's processes held of the GPUs' memory, until it is free."""
        await begun.watch_gpus(control)

    def prove(self, snapshot: Snapshot) -> None:
        """Take in what the run shows now; tell what the proof has come to, once."""
        if self.act is not None and not self.act.ended and self.act.steps and self.act.steps[-1].name == STOP_STEP:
            self.act = replace(self.act, waits_for=drains(snapshot))
        found = self._proving
        if found is None or not found.take(snapshot):
            return
        self._draw_proof()
        if found.proof.ended:
            found.write(self.setup.journal())
            key = commands.words_of("rollback", self.keymap)
            back = f" {key} rolls back to the former script and command." if found.proof.failed else ""
            self.post_message(NoticeGiven(f"{found.proof.outcome}{back}", "error" if found.proof.failed else "info"))

    def _draw_proof(self) -> None:
        if self._board is not None and self._board.is_attached and self._proving is not None:
            self._board.proof = self._proving.proof

    # ------------------------------------------------------------ what a former console has left

    def look_back(self) -> None:
        """Look once, when the host is seen, whether a former console has left something half done or unproven."""
        if not self._looked_back and self._control is not None and not self._busy:
            self._looked_back = True
            self.finish_left_over(self._control)

    @work(group="act", exit_on_error=False)
    async def finish_left_over(self, control: Controller) -> None:
        """Say what is half done, and offer to finish it."""
        try:
            left = await control.left_over()
        except RemoteError as error:
            self.post_message(NoticeGiven(f"Whether an act was broken off could not be seen: {error}", "warning"))
            return
        if left is not None:
            self.post_message(NoticeGiven(" ".join((left.title, *left.lines)), "warning"))
        if left is not None and left.plan is not None:
            head = (left.title, *left.lines)
            finish = replace(left.plan, lines=(*head, *left.plan.lines), about=left.plan.about + len(head))
            if not self._busy and await self._sure_to_finish(finish):
                self._begin_act(lambda: _given(finish), "Finish")
            return
        journal = self.setup.journal()
        if journal is not None and not self._busy and self._proving is None:
            self._begin_proof(taken_up(journal.recent(), self.setup.clock()), control)

    async def _sure_to_finish(self, plan: ActionPlan) -> bool:
        """Ask even where the operator wants no questions before: this act is not one that was just asked for."""
        return self.setup.confirm or await self.app.push_screen_wait(
            Confirm(
                plan.title,
                (*plan.lines, *plan.check_lines),
                refusal=plan.refusal,
                danger=True,
                go="Finish",
                cancel="Leave it",
            )
        )

    # ------------------------------------------------------------ the board

    def _show_board(self) -> None:
        """Show steps and proof; a question that stands open stays on top."""
        if not self.is_active or (self.act is None and self._proving is None):
            return
        title = self.act.plan.title if self.act is not None else "The last start"
        proof = self._proving.proof if self._proving is not None else None
        self._board = ActScreen(title, self.act, proof, self.setup.zone, self.setup.clock)
        self.app.push_screen(self._board, self._after_board)

    def _after_board(self, wish: str | None) -> None:
        if wish == ROLL_BACK:
            self.action_roll_back()

    def watch_act(self, act: ActSeen | None) -> None:
        """Bring the board up to date, when it is open."""
        if self._board is not None and self._board.is_attached:
            self._board.act = act


async def _given(plan: ActionPlan) -> ActionPlan:
    return plan
