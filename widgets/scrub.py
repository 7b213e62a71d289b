"""A place within a whole on one line, over a ribbon of what lies where; a click or a drag asks for another place."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from widgets.paint import painted
from widgets.plain import UNKNOWN, clean
from widgets.row import BAR_NOTHING, Row, place_of, plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual import events
    from textual.content import Content

Tone = Literal["unread", "good", "blind", "warn", "bad"]
"""What lies at a place, from the least to the most urgent."""

TONES: tuple[Tone, ...] = ("unread", "good", "blind", "warn", "bad")
"""In order of urgency: a cell of the bar shows the most urgent tone that lies in it."""

SIGNS: dict[Tone, str] = {"unread": "┄", "good": "━", "blind": "?", "warn": "!", "bad": "✗"}
"""How a cell of each tone is drawn: colour never speaks alone."""

CURSOR = "●"
"""The place."""

Ribbon = tuple[tuple[float, Tone], ...]
"""From which share of the whole on (0 to 1, rising) a tone holds."""


class Scrub(Widget):
    """A label, a word, a bar with the place on it, and figures: ``REPLAY ▶ 600x ━━━!━●┄┄┄ 3 h of 2 d``."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "scrub--label",
        "scrub--word",
        "scrub--cursor",
        "scrub--note",
        *(f"scrub--{tone}" for tone in TONES),
    }
    """Parts that CSS can reach: the texts, the place, and the bar by tone."""

    DEFAULT_CSS = """
    Scrub {
        height: 1;
        width: 1fr;
        text-wrap: nowrap;
        & > .scrub--label { text-style: bold; color: $text-warning; background: $warning-muted; }
        & > .scrub--word { color: $foreground; }
        & > .scrub--cursor { text-style: bold; color: $text-accent; }
        & > .scrub--note { color: $foreground; }
        & > .scrub--unread { color: $foreground 40%; }
        & > .scrub--good { color: $text-success; }
        & > .scrub--blind { color: $foreground-muted; }
        & > .scrub--warn { color: $text-warning; }
        & > .scrub--bad { color: $text-error; }
    }
    """

    label: reactive[str] = reactive("")
    """What this is; always in sight."""

    word: reactive[str] = reactive("")
    """How it moves, ``▶ 600x`` for instance."""

    value: reactive[float | None] = reactive[float | None](None)
    """The place, 0 to 1; None when it is not known."""

    ribbon: reactive[Ribbon] = reactive[Ribbon](())
    """What lies where; nothing is unread."""

    notes: reactive[tuple[str, ...]] = reactive[tuple[str, ...]](())
    """Figures at the right, from the most to the least important."""

    class Asked(Message):
        """The operator points at another place."""

        def __init__(self, scrub: Scrub, share: float) -> None:
            super().__init__()
            self.scrub = scrub
            self.share = share
            """0 to 1."""

        @property
        def control(self) -> Scrub:
            """The bar that this is about."""
            return self.scrub

    def __init__(
        self,
        label: str = "",
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the name that all Textual widgets have for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.label = label
        self._held = False
        self._asked: float | None = None

    def render(self) -> Content:
        """Draw the line for the width there is."""
        row = self._row()
        pieces = [(row.label, "scrub--label"), (" " if row.label else "", "")]
        pieces += [(row.word, "scrub--word"), (" " if row.word else "", "")]
        pieces += list(self._bar(row.bar))
        pieces += [(" " if row.bar else "", ""), ("  ".join(row.figures), "scrub--note")]
        return painted(self, pieces)

    def _row(self) -> Row:
        figures = tuple(clean(note) for note in self.notes) or (UNKNOWN,)
        return plan(self.size.width, clean(self.label), clean(self.word), figures, clean(self.word).split(" ")[0])

    def _bar(self, width: int) -> Iterator[tuple[str, str]]:
        """The bar's cells, like ones together."""
        if not width:
            return
        tones = cell_tones(width, self.ribbon)
        place = place_of(self.value, width)
        parts = [
            (CURSOR, "scrub--cursor") if cell == place else (SIGNS[tone], f"scrub--{tone}")
            for cell, tone in enumerate(tones)
        ]
        for (sign, part), alike in groupby(parts):
            yield sign * len(list(alike)), part

    # ------------------------------------------------------------ the mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Go to where the bar was pressed, and follow the mouse from there."""
        if self._share_at(event.x, loose=False) is not None:
            self._held, self._asked = True, None
            self.capture_mouse()
            self._ask(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Follow the mouse while it is pressed."""
        if self._held:
            self._ask(event)

    def on_mouse_up(self) -> None:
        """Let go."""
        if self._held:
            self._held = False
            self.release_mouse()

    def _ask(self, event: events.MouseEvent) -> None:
        event.stop()
        share = self._share_at(event.x, loose=True)
        if share is not None and share != self._asked:
            self._asked = share
            self.post_message(self.Asked(self, share))

    def _share_at(self, x: int, *, loose: bool) -> float | None:
        """The share that lies under a column; None beside the bar.

        Args:
            x: Column of the widget, its padding included.
            loose: A column beside the bar stands for its nearest end.
        """
        row = self._row()
        if row.bar < BAR_NOTHING:
            return None
        left = self.gutter.left + sum(len(text) + 1 for text in (row.label, row.word) if text)
        cell = x - left
        if not loose and not 0 <= cell < row.bar:
            return None
        return min(1.0, max(0.0, cell / (row.bar - 1)))


def cell_tones(width: int, ribbon: Sequence[tuple[float, Tone]]) -> list[Tone]:
    """The tone of each cell of a bar: the most urgent of those that hold anywhere in it.

    Args:
        width: Cells of the bar.
        ribbon: From which share on a tone holds, rising.
    """
    tones: list[Tone] = ["unread"] * width
    for (begin, tone), (end, _) in pairwise((*ribbon, (1.0, "unread"))):
        first = min(width - 1, max(0, int(begin * width)))
        # A stretch ends in the cell before the one in which the next one begins, unless it is all within one cell.
        last = min(width - 1, max(first, int(end * width - 1e-9)))
        for cell in range(first, last + 1):
            tones[cell] = max(tones[cell], tone, key=TONES.index)
    return tones
