"""A screen from which the server is restarted: what it costs, the host's name typed, steps and phases in sight."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import reactive, var
from textual.widgets import Static

from console.messages import NoticeGiven
from console.screens.act import told
from console.screens.acting import ActingScreen
from console.screens.board import Board, row_of
from console.screens.own_keys import follows
from remote.errors import RemoteError
from widgets.moves import Scrolling
from widgets.plain import clean
from widgets.steps import Steps

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from console.acts import Step
    from console.screens.act import ActSeen
    from console.server_control import ServerControls, ServerPlan


@dataclass(frozen=True, slots=True)
class ServerActSeen:
    """An act on the server.

    Attributes:
        plan: What is done.
        steps: The steps so far, in order.
        ended: What came of it, as a sentence; empty while it goes on.
    """

    plan: ServerPlan
    steps: tuple[Step, ...] = ()
    ended: str = ""


class ServerBoard(Board[None]):
    """The steps of an act on the server as they happen; closing it does not stop it."""

    COPIED = "#server-board"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter", "app.pop_screen", "Close (the act goes on)"),
        follows("quit", "app.pop_screen", "Close (the act goes on)"),
        follows("act", "app.pop_screen", "Close (the act goes on)"),
    ]
    DEFAULT_CSS = """
    ServerBoard {
        #server-ended { margin-top: 1; height: auto; text-style: bold; }
    }
    """

    seen: reactive[ServerActSeen | None] = reactive(None, init=False)
    """The act."""

    def __init__(self, seen: ServerActSeen) -> None:
        """Take the act as it stands."""
        super().__init__()
        self._rows = Steps(id="server-steps")
        self._end = Static(id="server-ended", markup=False)
        self.set_reactive(ServerBoard.seen, seen)

    def compose(self) -> ComposeResult:
        """Lay the steps in a box."""
        with Scrolling(id="server-board", classes="board"):
            yield self._rows
            yield self._end

    def on_mount(self) -> None:
        """Draw what is known already."""
        self._draw()

    def watch_seen(self) -> None:
        """Draw what is new, once there is something to draw on."""
        if self.is_mounted:
            self._draw()

    def _draw(self) -> None:
        if self.seen is None:
            return
        self._rows.rows = tuple(row_of(step) for step in self.seen.steps)
        self._end.update(Content(clean(self.seen.ended)))
        self.query_one("#server-board").border_title = Content(clean(self.seen.plan.title))
        self.say_keys(going=not self.seen.ended)


class ServerActingScreen(ActingScreen):
    """Acts on the server beside those on the job; one at a time of all of them."""

    server_act: var[ServerActSeen | None] = var(None, init=False)
    """The act on the server under way, or the last one; None before the first."""

    _server_board: ServerBoard | None = None
    _server_is_newest = False
    """The newest act was one on the server, so that is what is shown."""

    @property
    def can_serve(self) -> bool:
        """Whether the config says how the server is restarted; True also while that is not known yet."""
        control = self.setup.server()
        return control is None or control.can("restart")

    def action_restart_server(self) -> None:
        """Begin to restart the server; while an act is under way, show it instead."""
        control = self.setup.server()
        if control is None:
            self.refuse("Not yet: the run is still being opened.")
        elif self._busy:
            self._show_board()
        else:
            self._busy = True
            self.act_on_server(control)

    def action_show_act(self) -> None:
        """Show the act under way, or the last one."""
        if self._server_is_newest:
            self._show_board()
        else:
            super().action_show_act()

    def _show_board(self) -> None:
        if not self._server_is_newest or self.server_act is None:
            super()._show_board()
        elif self.is_active:
            self._server_board = ServerBoard(self.server_act)
            self.app.push_screen(self._server_board)

    def watch_act(self, act: ActSeen | None) -> None:
        """Bring the job's board up to date: an act on the job goes on, so it is the newest."""
        self._server_is_newest = False
        super().watch_act(act)

    def watch_server_act(self, seen: ServerActSeen | None) -> None:
        """Bring the board up to date, when it is open."""
        if self._server_board is not None and self._server_board.is_attached:
            self._server_board.seen = seen

    @work(group="act", exit_on_error=False)
    async def act_on_server(self, control: ServerControls) -> None:
        """Look, ask for the host's name whatever the config says of questions, do it."""
        try:
            with self._looking_at_host("Restart server"):
                plan = await control.plan("restart")
            verdict = self.known.verdict if self.known is not None else None
            if verdict is not None:
                plan = replace(plan, why=f"{verdict.verdict.value} ({verdict.cause})")
            if await self._named(plan):
                await self._carry_out_on_server(plan, control)
        except RemoteError as error:
            self.post_message(NoticeGiven(f"Restart of the server failed: {error}", "error"))
        finally:
            self._busy = False
            self.look_again()

    async def _named(self, plan: ServerPlan) -> bool:
        from widgets.typed_confirm import TypedConfirm  # noqa: PLC0415 - the first frame need not wait for it

        act = f"{plan.order.verb} the server"
        return await self.app.push_screen_wait(TypedConfirm(plan.title, plan.lines, word=plan.host, act=act))

    async def _carry_out_on_server(self, plan: ServerPlan, control: ServerControls) -> None:
        from console.server_control import DONE  # noqa: PLC0415 - as above

        seen = self.server_act = ServerActSeen(plan)
        self._server_is_newest = True
        words = "It was left half way, and a command that was begun goes on: look at the server before the next act."
        self._show_board()
        try:
            async with aclosing(control.carry_out(plan)) as steps:
                async for step in steps:
                    seen = self.server_act = replace(seen, steps=told(seen.steps, step))
            failed = next((step for step in seen.steps if step.state == "failed"), None)
            words = DONE[plan.order.verb] if failed is None else failed.detail
            self.post_message(NoticeGiven(words, "info" if failed is None else "error"))
        finally:
            self.server_act = replace(seen, ended=words)
