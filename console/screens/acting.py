"""A screen from which the job is started, stopped and restarted: plan, question, steps, outcome."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.reactive import var

from console.acts import ActionPlan, Verb
from console.messages import NoticeGiven
from console.screens.act import ActScreen, ActSeen, outcome, told
from console.screens.commanded import CommandedScreen
from remote.errors import RemoteError
from widgets.confirm import Confirm

if TYPE_CHECKING:
    from console.control import Controller
    from console.screens.setup import Setup


class ActingScreen(CommandedScreen):
    """One act at a time; it goes on whatever is on the screen meanwhile."""

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
        self._board: ActScreen | None = None

    def action_act_on_job(self, verb: str) -> None:
        """Begin an act; while one is under way, show it instead."""
        if self._control is None:
            return
        if self._busy:
            self._show_board()
            return
        self._busy = True
        self.act_on_job(Verb(verb), self._control)

    def action_leave(self) -> None:
        """Close the console; asks first while an act is under way, since it would stop half way."""
        if not self._busy:
            self._leave(True)
            return
        question = Confirm(
            "Close the console while an act is under way?",
            ("The steps that have not begun yet would not be done.",),
            danger=True,
            go="Close",
            cancel="Stay",
        )
        self.app.push_screen(question, self._leave)

    def _leave(self, sure: bool | None) -> None:
        if sure:
            self.app.exit(message=Text(self.setup.last_words))

    @work(group="act", exit_on_error=False)
    async def act_on_job(self, verb: Verb, control: Controller) -> None:
        """Look, ask, do; what the host refuses becomes a notice."""
        try:
            script = self.setup.new_script if verb in self.TAKES_SCRIPT else None
            plan = await control.plan(verb, script)
            if await self._agreed(plan):
                await self._carry_out(plan, control)
        except RemoteError as error:
            self._end(f"{verb.value.capitalize()} failed: {error}", "error")
        finally:
            self._busy = False
            self.look_again()
            if self.act is not None and not self.act.ended:
                self.act = replace(self.act, ended="The act stopped half way: look at the host before the next one.")

    def look_again(self) -> None:
        """Something may have been done to the job: a subclass asks the host about it."""

    async def _agreed(self, plan: ActionPlan) -> bool:
        """Ask, unless the operator wants no questions; a refusal is always shown."""
        if plan.refusal is None and not self.setup.confirm:
            return True
        question = Confirm(
            plan.title,
            plan.lines,
            diff=plan.diff,
            refusal=plan.refusal,
            danger=plan.verb is not Verb.START,
            go=plan.verb.value.capitalize(),
        )
        return await self.app.push_screen_wait(question)

    async def _carry_out(self, plan: ActionPlan, control: Controller) -> None:
        """Do it with the steps in sight."""
        self.act = ActSeen(plan)
        self._show_board()
        async for step in control.carry_out(plan):
            self.act = replace(self.act, steps=told(self.act.steps, step))
        self._end(*outcome(plan, self.act.steps))

    def _end(self, text: str, severity: str) -> None:
        """Tell what came of it, on the board and as a notice."""
        if self.act is not None and not self.act.ended:
            self.act = replace(self.act, ended=text)
        self.post_message(NoticeGiven(text, severity))

    def _show_board(self) -> None:
        """Show the steps; a question that stands open stays on top."""
        if self.act is None or self.act.ended or not self.is_active:
            return
        self._board = ActScreen(self.act)
        self.app.push_screen(self._board)

    def watch_act(self, act: ActSeen | None) -> None:
        """Bring the board up to date, when it is open."""
        if self._board is not None and self._board.is_attached:
            self._board.act = act
