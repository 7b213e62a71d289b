"""The lines that longwait could not read, by shape: a changed log format is seen as such."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from console.panels.log_words import missed_lines, understood
from console.screens.listing import Listing
from console.screens.own_keys import follows
from widgets.moves import Scrolling
from widgets.plain import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.app import ComposeResult

    from console.job.snapshot import LogView

NAMES = {"server": "Server's log", "job": "Job's log", "progress": "Progress file"}
"""What a log is called at the beginning of a sentence."""


def summary(log: LogView) -> str:
    """Say how much of a log was read and understood."""
    name = clean(NAMES.get(log.source, log.source))
    if log.understood is None or not log.lines:
        return f"{name}: no line has been read yet."
    missed, said = missed_lines(log), understood(log)
    if not missed:
        return f"{name}: {said[0]}."
    return f"{name}: {said[1]}; {missed:,} {'was' if missed == 1 else 'were'} not."


def shape_rows(log: LogView) -> Iterable[str]:
    """Give the shapes with their counts, the commonest first."""
    counts = [f"{times:,} x" for _, times in log.shapes]
    width = max(map(len, counts), default=0)
    for (shape, _), times in zip(log.shapes, counts, strict=True):
        yield f"{times:<{width}}  {clean(shape)}"


class ShapesScreen(Listing):
    """The list over the screen; as it stood when it was opened."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close"),
        follows("quit", "close", "Close"),
        follows("shapes", "close", "Close"),
    ]
    DEFAULT_CSS = """
    ShapesScreen {
        .summary { text-style: bold; margin-top: 1; }
        .shape { text-wrap: nowrap; text-overflow: ellipsis; }
        .words { color: $text-muted; margin-top: 1; }
    }
    """

    def __init__(self, logs: Sequence[LogView]) -> None:
        """Take the logs as they stand."""
        super().__init__()
        self._shown = tuple(logs)

    def compose(self) -> ComposeResult:
        """Lay the logs one below the other."""
        with Scrolling(id="list", classes="listing") as box:
            box.border_title = "Lines that longwait does not understand"
            box.border_subtitle = "Esc closes"
            for log in self._shown:
                yield Static(Content(summary(log)), classes="summary")
                if log.shapes:
                    yield Static(Content("\n".join(shape_rows(log))), classes="shape")
            yield Static(
                "# stands for any number. Lines not understood harm nothing, but no figure comes from them.",
                classes="words",
            )

    def on_mount(self) -> None:
        """Let the keys scroll the list."""
        self.query_one("#list").focus()
