"""Asks before an act that cannot be undone: what will happen, what it costs, and what changes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from widgets.diff_view import DiffView
from widgets.moves import Scrolling
from widgets.plain import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual import events
    from textual.app import ComposeResult

SHORT_BELOW = 30
"""Rows of the screen below which it is short."""

NARROW_BELOW = 50
"""Columns of the screen below which it is narrow."""

REACTION_S = 0.3
"""Seconds from the first sight of a dialog within which Enter was meant for something else: nobody reads faster."""


class Confirm(ModalScreen[bool]):
    """A dialog that answers True for "go" and False for "leave it".

    The focus starts on the button that changes nothing, so that an Enter typed too much does nothing, unless the
    dialog is itself what was asked for: a plan that is shown to be carried out.

    A key that was on its way when the dialog appeared is no answer. What was typed before it was drawn does nothing.
    Enter, which means something everywhere, does nothing until typing has rested for ``REACTION_S`` with the dialog in
    sight; the last line names Enter only from then on.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "go", "Go"),
        Binding("n,escape", "cancel", "Cancel"),
        Binding("left,up", "app.focus_previous", "Previous", show=False),
        Binding("right,down", "app.focus_next", "Next", show=False),
    ]
    """Enter presses the button that has the focus. None has an id by which it could be given another key: what says yes
    to a loss is the same for whoever sits at the console."""

    # Textual declares both as instance variables, so they can't be ClassVar here.
    VERTICAL_BREAKPOINTS = [(0, "-short"), (SHORT_BELOW, "-tall")]  # noqa: RUF012 - see above
    """On a short screen the buttons are one row each and the text gets less, so that all stays in sight."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (NARROW_BELOW, "-wide")]  # noqa: RUF012 - see above
    """On a narrow screen the buttons stand under one another."""

    DEFAULT_CSS = """
    Confirm {
        align: center middle;
        & > .confirm--dialog {
            width: 90%;
            max-width: 110;
            height: auto;
            max-height: 95%;
            overflow-y: auto;
            padding: 0 2;
            background: $surface;
            border: thick $primary;
        }
        &.-danger > .confirm--dialog { border: thick $error; }
        &.-refused > .confirm--dialog { border: thick $warning; }
        & .confirm--title { width: 1fr; height: auto; text-style: bold; margin-bottom: 1; }
        & .confirm--body { height: auto; max-height: 50vh; scrollbar-size-vertical: 1; }
        & .confirm--lines { width: 1fr; height: auto; }
        & .confirm--refusal { width: 1fr; height: auto; color: $text-warning; margin-bottom: 1; }
        &.-diff .confirm--body { max-height: 40vh; }
        & DiffView { max-height: 28vh; margin-top: 1; }
        & .confirm--buttons {
            height: auto;
            margin-top: 1;
            align-horizontal: right;
            & Button { margin-left: 2; }
        }
        &.-short.-diff .confirm--body { max-height: 26vh; }
        &.-short {
            & .confirm--title, & .confirm--buttons { margin: 0; }
            & DiffView { max-height: 26vh; margin-top: 0; }
            & Button { border: none !important; height: 1; }
        }
        &.-narrow {
            & > .confirm--dialog { width: 100%; padding: 0 1; }
            & .confirm--buttons { layout: vertical; }
            & Button { margin: 0; width: 1fr; }
        }
        & .confirm--keys { width: 1fr; height: auto; color: $foreground-muted; text-align: right; }
    }
    """

    def __init__(
        self,
        title: str,
        lines: Iterable[str] = (),
        *,
        diff: Iterable[str] = (),
        refusal: str | None = None,
        danger: bool = False,
        enter_goes: bool = False,
        go: str = "Go",
        cancel: str = "Cancel",
        clock: Callable[[], float] = time.monotonic,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the name that all Textual widgets have for it
        classes: str | None = None,
    ) -> None:
        """Prepare the question.

        Args:
            title: The act and what it is done to.
            lines: What will happen and what it costs, a sentence each.
            diff: Lines of a unified diff; none for no diff.
            refusal: Why the act can't be done now; then the dialog can only be closed.
            danger: Whether something will be lost.
            enter_goes: Start on the button that acts, when there is one.
            go: The word on the button that acts.
            cancel: The word on the button that doesn't.
            clock: Seconds, of the clock that stamps Textual's events.
            name: As for any screen.
            id: As for any screen.
            classes: As for any screen.
        """
        super().__init__(name=name, id=id, classes=classes)
        self._question = clean(title)
        self._lines = tuple(clean(line) for line in lines)
        self._diff = tuple(diff)
        self._refusal = clean(refusal) if refusal else ""
        self._danger = danger
        self._enter_goes = enter_goes and not self._refusal
        self._go = clean(go)
        self._cancel = "Close" if self._refusal else clean(cancel)
        self._clock = clock
        self._seen_at: float | None = None
        self._rests_since = 0.0
        self._heeds_enter = False
        self._line = Static(Content(self._keys()), classes="confirm--keys")
        self.set_class(danger, "-danger")
        self.set_class(bool(self._refusal), "-refused")
        self.set_class(bool(self._diff), "-diff")

    def compose(self) -> ComposeResult:
        """Stack title, text, diff, refusal, buttons and keys."""
        with Vertical(classes="confirm--dialog"):
            sign = "! " if self._danger or self._refusal else ""
            yield Static(Content(sign + self._question), classes="confirm--title")
            with Scrolling(classes="confirm--body"):
                if self._refusal:  # first: what is below the edge of a short screen is not read
                    yield Static(Content(f"Refused: {self._refusal}"), classes="confirm--refusal")
                if self._lines:
                    yield Static(Content("\n".join(self._lines)), classes="confirm--lines")
            if self._diff:
                yield DiffView(self._diff)
            with Horizontal(classes="confirm--buttons"):
                yield Button(Content(self._cancel), id="cancel")
                if not self._refusal:
                    yield Button(Content(self._go), id="go", variant="error" if self._danger else "primary")
            yield self._line

    def on_mount(self) -> None:
        """Start on the button that changes nothing, or on the one that was asked for."""
        self.query_one("#go" if self._enter_goes else "#cancel").focus()
        self.call_after_refresh(self._be_seen)

    @property
    def is_seen(self) -> bool:
        """Whether it has been drawn; what is typed from then on may be an answer."""
        return self._seen_at is not None

    def heed_enter(self) -> None:
        """Take Enter for an answer from now on, and say so."""
        self._heeds_enter = True
        self._line.update(Content(self._keys()))

    def _be_seen(self) -> None:
        if not self._line.size:  # not laid out yet, so not drawn either
            self.set_timer(REACTION_S / 10, self._be_seen)
            return
        self._seen_at = self._rests_since = self._clock()
        self.set_timer(REACTION_S, self._let_rest)

    def _let_rest(self) -> None:
        """Heed Enter once nothing that came too early is newer than the time that it takes to react."""
        left = self._rests_since + REACTION_S - self._clock()
        if left <= 0:
            self.heed_enter()
        else:
            self.set_timer(left, self._let_rest)

    def on_key(self, event: events.Key) -> None:
        """Leave out what was on its way when the dialog appeared."""
        typed_blind = self._seen_at is None or event.time < self._seen_at
        if typed_blind or (event.key == "enter" and not self._heeds_enter):
            self._rests_since = max(self._rests_since, event.time)
            event.prevent_default()
            event.stop()

    @on(Button.Pressed, "#go")
    def _go_pressed(self) -> None:
        """Answer yes."""
        self.action_go()

    @on(Button.Pressed, "#cancel")
    def _cancel_pressed(self) -> None:
        """Answer no."""
        self.action_cancel()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's own
        """Take the way to act away when the act is refused."""
        return not (action == "go" and self._refusal)

    def action_go(self) -> None:
        """Answer yes, unless the act is refused."""
        if not self._refusal:
            self.dismiss(True)

    def action_cancel(self) -> None:
        """Answer no."""
        self.dismiss(False)

    def _keys(self) -> str:
        """Name the keys that are heeded, as the last line of the dialog."""
        if self._refusal:
            return "Esc or Enter: close" if self._heeds_enter else "Esc: close"
        if not self._heeds_enter:
            return f"y: {self._go}   n or Esc: {self._cancel}"
        if self._enter_goes:
            return f"Enter or y: {self._go}   n or Esc: {self._cancel}"
        return f"y: {self._go}   n or Esc: {self._cancel}   Tab, Enter: choose"
