"""How much of a total is done, on one line: what was done before, what is done now, and what is under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from textual.reactive import reactive
from textual.widget import Widget

from widgets.paint import painted
from widgets.plain import UNKNOWN, clean, column
from widgets.row import cells, known, percent, place_of, plan

if TYPE_CHECKING:
    from textual.content import Content

Tone = Literal["plain", "good", "busy", "warn", "bad", "quiet"]
"""What a meter's state feels like; it colours what sign and word already say."""

TONES: tuple[Tone, ...] = ("plain", "good", "busy", "warn", "bad", "quiet")
"""All tones, for the classes ``-plain`` to ``-quiet``."""


class Meter(Widget):
    """A label, a sign and a word of state, a bar in parts and figures.

    The parts of the bar differ in shape, not in colour alone: ``═`` done before, ``━`` done now, ``╍`` under way,
    ``─`` still to do, ``┃`` the mark where it will end, ``┈`` what is left out behind it.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "meter--lead",
        "meter--label",
        "meter--state",
        "meter--before",
        "meter--done",
        "meter--flight",
        "meter--rest",
        "meter--mark",
        "meter--figures",
        "meter--alert",
    }
    """Parts that CSS can reach."""

    DEFAULT_CSS = """
    Meter {
        height: 1;
        width: 1fr;
        text-wrap: nowrap;
        & > .meter--label { color: $foreground; }
        & > .meter--state { color: $foreground 80%; }
        & > .meter--before { color: $primary 60%; }
        & > .meter--done { color: $primary; }
        & > .meter--flight { color: $accent; }
        & > .meter--rest { color: $foreground 25%; }
        & > .meter--mark { color: $foreground; }
        & > .meter--figures { color: $foreground; }
        & > .meter--alert { color: $text-warning; text-style: bold; }
        & > .meter--lead { color: $text-accent; text-style: bold; }
        &.-good > .meter--state, &.-good > .meter--done { color: $text-success; }
        &.-busy > .meter--state { color: $text-primary; }
        &.-warn > .meter--state, &.-warn > .meter--done { color: $text-warning; }
        &.-bad > .meter--state, &.-bad > .meter--done { color: $text-error; }
        &.-quiet > .meter--label, &.-quiet > .meter--state, &.-quiet > .meter--figures { color: $foreground-muted; }
        &.-quiet > .meter--done { color: $primary 60%; }
    }
    """

    label: reactive[str] = reactive("")
    """What is counted."""

    label_width: reactive[int] = reactive(0)
    """Cells of the label's column, so that meters under one another line up; 0 for the label's own width."""

    before: reactive[float] = reactive(0.0)
    """Share of the total that was done before this run, 0 to 1."""

    share: reactive[float | None] = reactive[float | None](None)
    """Share of the total that is done, what was done before included, 0 to 1; None when it is not known."""

    flight: reactive[float] = reactive(0.0)
    """Share of the total that is under way, 0 to 1."""

    figures: reactive[str | tuple[str, ...]] = reactive[str | tuple[str, ...]](())
    """Texts at the right, from the most to the least important; without any the share is written in percent."""

    state: reactive[str] = reactive("")
    """A word for the state."""

    state_width: reactive[int] = reactive(0)
    """Cells of the state's column, sign included; 0 for its own width."""

    sign: reactive[str] = reactive("")
    """One character for the state, which stays when the word has no room."""

    tone: reactive[Tone] = reactive[Tone]("plain")
    """What the state feels like; sets the class ``-<tone>``."""

    mark: reactive[float | None] = reactive[float | None](None)
    """Where on the bar it will end, 0 to 1; None for its own end."""

    alert: reactive[str] = reactive("")
    """The figure among ``figures`` that is drawn as a warning; empty for none."""

    lead: reactive[str] = reactive("")
    """One character before all else, for a list's cursor; empty for none, and no cell for it."""

    def __init__(
        self,
        label: str = "",
        share: float | None = None,
        figures: str | tuple[str, ...] = (),
        *,
        label_width: int = 0,
        before: float = 0.0,
        flight: float = 0.0,
        state: str = "",
        state_width: int = 0,
        sign: str = "",
        tone: Tone = "plain",
        mark: float | None = None,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the name that all Textual widgets have for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.label, self.label_width = label, label_width
        self.state, self.state_width, self.sign, self.tone = state, state_width, sign, tone
        self.before, self.share, self.flight, self.mark = before, share, flight, mark
        self.figures = figures

    def watch_tone(self) -> None:
        """Set the tone's class."""
        for tone in TONES:
            self.set_class(self.tone == tone, f"-{tone}")

    def watch_share(self) -> None:
        """Say by a class that nothing is known."""
        self.set_class(known(self.share) is None, "-unknown")

    def render(self) -> Content:
        """Draw the line for the width there is."""
        label = clean(self.label)
        sign = clean(self.sign)
        head = column(label, self.label_width) if self.label_width > 0 else label
        word = f"{sign} {clean(self.state)}".strip()
        if self.state_width > 0:
            word = column(word, self.state_width)
        lead = column(clean(self.lead), 1) if self.lead and self.size.width else ""
        row = plan(self.size.width - len(lead), head, word, self._figures(), short=sign)
        pieces = [(lead, "meter--lead"), (row.label, "meter--label"), (" " if row.label else "", "")]
        pieces += [(row.word, "meter--state"), (" " if row.word else "", "")]
        pieces += [*self._bar(row.bar), (" " if row.bar else "", "")]
        for place, figure in enumerate(row.figures):
            alert = bool(self.alert) and figure == clean(self.alert)
            pieces += [("  " if place else "", ""), (figure, "meter--alert" if alert else "meter--figures")]
        return painted(self, pieces)

    def _figures(self) -> tuple[str, ...]:
        """Give the figures to write, clean."""
        if self.figures:
            given = (self.figures,) if isinstance(self.figures, str) else self.figures
            return tuple(clean(figure) for figure in given)
        share = known(self.share)
        return (UNKNOWN if share is None else percent(share),)

    def _bar(self, width: int) -> list[tuple[str, str]]:
        """Draw the bar's parts, and the mark over them."""
        share, mark = known(self.share), known(self.mark)
        if share is None:
            pieces = [("┄" * width, "meter--rest")]
        else:
            before = min(known(self.before) or 0.0, share)
            flight = known(self.flight) or 0.0
            # What is under way takes one cell at least: a thousandth of the whole, it would never be seen.
            flight = max(flight, 1 / width) if flight > 0 and width else flight
            ends = (before, share, share + flight, 1.0 if mark is None else mark, 1.0)
            parts = ("═meter--before", "━meter--done", "╍meter--flight", "─meter--rest", "┈meter--rest")
            pieces = [(part[0] * count, part[1:]) for part, count in zip(parts, cells(width, ends), strict=True)]
        place = place_of(mark, width)
        return pieces if place is None else _marked(pieces, place)


def _marked(pieces: list[tuple[str, str]], at: int) -> list[tuple[str, str]]:
    """Put the mark into the cell ``at`` of a bar made of pieces."""
    marked: list[tuple[str, str]] = []
    start = 0
    for text, part in pieces:
        inside = at - start
        if 0 <= inside < len(text):
            marked += [(text[:inside], part), ("┃", "meter--mark"), (text[inside + 1 :], part)]
        else:
            marked.append((text, part))
        start += len(text)
    return marked
