"""All signs of life over the screen: asked now, each with its latency, and a strip of what it was before."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from console.job.units import age, duration, latency
from console.pings import ORDER, in_order, strip
from console.screens.listing import Listing
from console.screens.own_keys import follows, key_of
from widgets.confirm import Confirm
from widgets.moves import Scrolling
from widgets.plain import clean
from widgets.steps import StepRow, Steps, StepState

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, tzinfo

    from textual.app import ComposeResult

    from console.ping_asks import Sign
    from console.pings import Ping, Pinger

STATES: dict[str, StepState] = {"ok": "done", "failed": "failed", "unknown": "unknown"}
"""A sign's state as the list draws it."""

PAST = 40
"""Former checks in the strip."""

QUESTION = (
    "The server generates one token for it: a moment's work, behind what waits already.",
    "It is done at most once a minute, whichever console asks.",
)


class PingScreen(Listing):
    """The list; it asks when it opens and whenever it is told to."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close"),
        follows("quit", "close", "Close"),
        follows("health", "again", "Ask again", shown=True),
        Binding("t", "token", "Ask for a token, too"),
    ]
    DEFAULT_CSS = """
    PingScreen {
        #signs { max-width: 130; }
        #past { margin-top: 1; color: $text-muted; height: auto; }
    }
    """

    found: reactive[tuple[Sign, ...]] = reactive[tuple["Sign", ...]]((), init=False)
    """What came so far."""

    def __init__(self, pinger: Pinger, clock: Callable[[], datetime], zone: tzinfo | None) -> None:
        """Take what asks, the clock, and the operator's zone."""
        super().__init__()
        self._pinger = pinger
        self._clock = clock
        self._zone = zone
        self._rows = Steps(id="rows")
        self._past = Static(id="past", markup=False)
        self._asking = False

    def compose(self) -> ComposeResult:
        """Lay the signs above their past."""
        with Scrolling(id="signs", classes="listing") as box:
            box.border_title = "Signs of life"
            yield self._rows
            yield self._past

    def on_mount(self) -> None:
        """Ask at once."""
        keys = f"{key_of(self, 'health')} asks again, t asks for a token too, Esc closes"
        self.query_one("#signs").border_subtitle = Content(keys)
        self._draw()
        self.action_again()

    def action_again(self) -> None:
        """Ask again, once the last answers are there."""
        if not self._asking:
            self.ask(answer=False)

    async def action_token(self) -> None:
        """Ask whether the server may be made to generate a token, then for all signs."""
        if not self._asking:
            self.app.push_screen(Confirm("Have the server generate a token?", QUESTION, go="Ask it"), self._ask_token)

    def _ask_token(self, sure: bool | None) -> None:
        if sure:
            self.ask(answer=True)

    @work(exclusive=True, group="pings", exit_on_error=False)
    async def ask(self, *, answer: bool) -> None:
        """Show each sign as it comes."""
        self._asking = True
        self.found = ()
        try:
            async for sign in self._pinger.signs(answer=answer):
                self.found = (*self.found, sign)
        finally:
            self._asking = False
            self._draw()

    def watch_found(self) -> None:
        """Draw what is new."""
        self._draw()

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        came = {sign.name: sign for sign in self.found}
        pings = self._pinger.history.pings()
        named = {sign.name for sign in pings[-1].signs} if pings else set()
        awaited = [name for name in ORDER if name in named and name not in came] if self._asking else []
        rows = [StepRow(sign.name, STATES[sign.state], sign_words(sign)) for sign in in_order(self.found)]
        self._rows.rows = (*rows, *(StepRow(name, "running") for name in awaited)) or (StepRow("asking", "running"),)
        self._past.update(Content(clean(self._strips(pings))))

    def _strips(self, pings: tuple[Ping, ...]) -> str:
        """A line for each sign that was asked before."""
        if not pings:
            return "Nothing has been asked before."
        names = [sign.name for sign in in_order(pings[-1].signs)]
        shown = pings[-PAST:]
        head = f"Before: {len(shown)} checks since {age(shown[0].at, self._clock())} (+ life, x against it, . neither)"
        return "\n".join((head, *(f"{name:<14} {strip(pings, name, PAST)}" for name in names)))


def sign_words(sign: Sign) -> str:
    """What a sign says, on one line."""
    took = "" if sign.latency_s is None else latency(sign.latency_s)
    old = "" if sign.age_s is None else f"{duration(sign.age_s)} old"
    return "; ".join(text for text in (took, old, clean(sign.detail)) if text)
