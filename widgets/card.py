"""One finding: a big word, a headline, the evidence, and what comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from rich.cells import cell_len
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from widgets.focus import FocusedAlone
from widgets.large import Large, enlarged
from widgets.moves import Scrolling
from widgets.plain import clean, fit
from widgets.still import Still

if TYPE_CHECKING:
    from textual.app import ComposeResult

CardTone = Literal["good", "warn", "bad", "blind"]
"""How a finding is meant."""

SIGNS: dict[CardTone, str] = {"good": "✓", "warn": "!", "bad": "✗", "blind": "?"}
"""The sign before the word, so that the tone is not told by colour alone."""

GAP = 2
"""Cells at least between the word and what stands beside it."""

BESIDE_LEAST = 32
"""Cells beside a large word below which the headline stands under it: a sentence in a narrow column is not read."""

BESIDE_LEAST_DEEP = 46
"""The same where there are rows enough for it under the word: then what stands below the headline has to fit, too."""


class Band(Widget):
    """A full row in reverse: sign and word at the left, and of what may stand beside them the first that fits."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"band--word"}
    DEFAULT_CSS = """
    Band {
        height: 1;
        width: 1fr;
        text-wrap: nowrap;
        text-style: reverse;
        & > .band--word { text-style: bold reverse; }
    }
    """

    word: reactive[str] = reactive("")
    """Sign and word."""

    asides: reactive[tuple[str, ...]] = reactive[tuple[str, ...]](())
    """The same said in ever fewer words."""

    def render(self) -> Content:
        """Draw the row over the whole width: a band is seen sooner than a word."""
        width = self.size.width
        word = fit(f" {clean(self.word)} ", width)
        room = width - cell_len(word) - GAP - 1
        aside = next((text for text in map(clean, self.asides) if text and cell_len(text) <= room), "")
        gap = " " * max(0, width - cell_len(word) - cell_len(aside) - 1)
        style = self.get_visual_style("band--word", partial=True)
        return Content.assemble((word, style), fit(f"{gap}{aside} ", max(0, width - cell_len(word))))


class Aside(Widget):
    """One row: of several phrases the first that fits."""

    DEFAULT_CSS = """
    Aside { display: none; height: 1; width: 1fr; text-wrap: nowrap; color: $foreground; }
    """

    phrases: reactive[tuple[str, ...]] = reactive[tuple[str, ...]](())
    """The same said in ever fewer words."""

    def render(self) -> Content:
        """Draw the first that fits, or as much of the last as does."""
        width, said = self.size.width, [clean(phrase) for phrase in self.phrases if phrase]
        fitting = next((text for text in said if cell_len(text) <= width), said[-1] if said else "")
        return Content(fit(fitting, width))


class Card(Scrolling, FocusedAlone):
    """A word with its sign, a headline, lines of evidence and a foot.

    Lines wrap; what does not fit in height is scrolled to. The foot stays in sight. The word is a band over the whole
    width, or, on a card that is ``large``, three rows high with the headline beside it.
    """

    DEFAULT_CSS = """
    Card {
        height: auto;
        padding: 0 1 0 0;
        border-left: thick $foreground 60%;
        &:focus { background-tint: $foreground 5%; }
        & > Band { color: $foreground; }
        & > .card--top {
            width: 1fr;
            height: auto;
            padding-left: 1;
            & > Large { display: none; margin-right: 3; }
            & > .card--said { width: 1fr; height: auto; }
        }
        & .card--head { width: 1fr; height: auto; text-style: bold; }
        & > .card--facts { width: 1fr; height: auto; padding-left: 1; color: $foreground 90%; }
        & > .card--foot {
            dock: bottom; width: 1fr; height: auto; max-height: 50%; padding-left: 1; color: $foreground;
        }
        & > .card--foot.-empty, & > .card--facts.-empty { display: none; }
        &.-large {
            &.-under > .card--top { layout: vertical; }
            & > Band { display: none; }
            & > .card--top > Large { display: block; }
            & Aside { display: block; }
        }
        &.-good { border-left: thick $success; }
        &.-good > Band, &.-good Large, &.-good .card--head { color: $text-success; }
        &.-warn { border-left: thick $warning; }
        &.-warn > Band, &.-warn Large, &.-warn .card--head { color: $text-warning; }
        &.-bad { border-left: thick $error; }
        &.-bad > Band, &.-bad Large, &.-bad .card--head { color: $text-error; }
        &.-blind .card--head { color: $foreground; }
    }
    """

    word: reactive[str] = reactive("")
    """The finding in one word."""

    tone: reactive[CardTone] = reactive[CardTone]("blind")
    """How it is meant; sets the sign and the class ``-<tone>``."""

    headline: reactive[str] = reactive("")
    """The finding in one sentence."""

    asides: reactive[tuple[str, ...]] = reactive[tuple[str, ...]](())
    """What belongs to the word, since when it holds for instance, in ever fewer words."""

    facts: reactive[tuple[str, ...]] = reactive[tuple[str, ...]](())
    """The evidence, one entry each."""

    foot: reactive[str] = reactive("")
    """What comes next; stays in sight when the evidence is scrolled."""

    large: reactive[bool] = reactive(False)
    """Whether the word is drawn three rows high, where there is room for the headline."""

    deep: reactive[bool] = reactive(True)
    """Whether there are rows enough for the headline under a large word; else it has to fit beside it."""

    def __init__(
        self,
        word: str = "",
        tone: CardTone = "blind",
        headline: str = "",
        facts: tuple[str, ...] = (),
        foot: str = "",
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the name that all Textual widgets have for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._band = Band()
        self._large = Large(tall=True)
        self._head = Still(classes="card--head")
        self._aside = Aside()
        self._facts = Still(classes="card--facts")
        self._foot = Still(classes="card--foot")
        self.word, self.headline, self.facts, self.foot = word, headline, facts, foot
        self.tone = tone

    def compose(self) -> ComposeResult:
        """Stack word, headline, evidence and foot."""
        yield self._band
        with Horizontal(classes="card--top"):
            yield self._large
            with Vertical(classes="card--said"):
                yield self._head
                yield self._aside
        yield self._facts
        yield self._foot

    def watch_word(self) -> None:
        """Show another finding from its top."""
        self._show_word()
        if self.is_attached:
            self.scroll_home(animate=False)

    def watch_headline(self) -> None:
        """Write the headline again."""
        self._head.write(Content(clean(self.headline)))

    def watch_asides(self) -> None:
        """Write again what stands beside the word."""
        self._band.asides = self.asides
        self._show_aside()

    def watch_tone(self) -> None:
        """Set the tone's class and sign."""
        for tone in SIGNS:
            self.set_class(self.tone == tone, f"-{tone}")
        self._show_word()

    def watch_facts(self) -> None:
        """Write the evidence again."""
        self._facts.write(Content("\n").join(Content(f"· {clean(fact)}") for fact in self.facts))
        self._facts.set_class(not self.facts, "-empty")

    def watch_foot(self) -> None:
        """Write the foot again; its own line ends are kept."""
        self._foot.write(Content("\n".join(clean(line) for line in self.foot.split("\n"))))
        self._foot.set_class(not self.foot, "-empty")

    def watch_large(self) -> None:
        """Show the word as a band, or three rows high."""
        self._place()

    def watch_deep(self) -> None:
        """Choose again where the headline stands."""
        self._place()

    def on_resize(self) -> None:
        """Choose again where the headline stands."""
        self._place()

    def _show_word(self) -> None:
        """Write sign and word, both ways."""
        self._band.word = self._large.text = f"{SIGNS[self.tone]} {clean(self.word)}"
        self._show_aside()
        self._place()

    def _show_aside(self) -> None:
        """Write the word below the headline, too: what can't see, only read, must find it on a large card."""
        self._aside.phrases = (*(f"{self.word}: {aside}" for aside in self.asides if aside), self.word)

    def _place(self) -> None:
        """Have the headline beside a large word, or under it, or no large word."""
        least = BESIDE_LEAST_DEEP if self.deep else BESIDE_LEAST
        is_under = self.size.width - cell_len(enlarged(self._large.text)[0]) < least
        self.set_class(is_under, "-under")
        self.set_class(self.large and (self.deep or not is_under), "-large")
