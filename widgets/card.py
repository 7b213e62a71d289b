"""One finding: a big word, a headline, the evidence, and what comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from textual.containers import VerticalScroll
from textual.content import Content
from textual.reactive import reactive

from widgets.plain import clean
from widgets.still import Still

if TYPE_CHECKING:
    from textual.app import ComposeResult

CardTone = Literal["good", "warn", "bad", "blind"]
"""How a finding is meant."""

SIGNS: dict[CardTone, str] = {"good": "✓", "warn": "!", "bad": "✗", "blind": "?"}
"""The sign before the word, so that the tone is not told by colour alone."""


class Card(VerticalScroll):
    """A word with its sign, a headline, lines of evidence and a foot.

    Lines wrap; what does not fit in height is scrolled to. The foot stays in sight.
    """

    DEFAULT_CSS = """
    Card {
        height: auto;
        padding: 0 1;
        border-left: thick $foreground 60%;
        &:focus { background-tint: $foreground 5%; }
        & > .card--head { width: 1fr; height: auto; text-style: bold; }
        & > .card--facts { width: 1fr; height: auto; color: $foreground 90%; }
        & > .card--foot { dock: bottom; width: 1fr; height: auto; max-height: 50%; color: $foreground; }
        & > .card--foot.-empty, & > .card--facts.-empty { display: none; }
        &.-good { border-left: thick $success; }
        &.-good > .card--head { color: $text-success; }
        &.-warn { border-left: thick $warning; }
        &.-warn > .card--head { color: $text-warning; }
        &.-bad { border-left: thick $error; }
        &.-bad > .card--head { color: $text-error; }
        &.-blind > .card--head { color: $foreground; }
    }
    """

    word: reactive[str] = reactive("")
    """The finding in one word."""

    tone: reactive[CardTone] = reactive[CardTone]("blind")
    """How it is meant; sets the sign and the class ``-<tone>``."""

    headline: reactive[str] = reactive("")
    """The finding in one sentence."""

    facts: reactive[tuple[str, ...]] = reactive[tuple[str, ...]](())
    """The evidence, one entry each."""

    foot: reactive[str] = reactive("")
    """What comes next; stays in sight when the evidence is scrolled."""

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
        self._head = Still(classes="card--head")
        self._facts = Still(classes="card--facts")
        self._foot = Still(classes="card--foot")
        self.word, self.headline, self.facts, self.foot = word, headline, facts, foot
        self.tone = tone

    def compose(self) -> ComposeResult:
        """Stack head, evidence and foot."""
        yield self._head
        yield self._facts
        yield self._foot

    def watch_word(self) -> None:
        """Show another finding from its top."""
        self._show_head()
        if self.is_attached:
            self.scroll_home(animate=False)

    def watch_headline(self) -> None:
        """Write the head again."""
        self._show_head()

    def watch_tone(self) -> None:
        """Set the tone's class and sign."""
        for tone in SIGNS:
            self.set_class(self.tone == tone, f"-{tone}")
        self._show_head()

    def watch_facts(self) -> None:
        """Write the evidence again."""
        self._facts.write(Content("\n").join(Content(f"· {clean(fact)}") for fact in self.facts))
        self._facts.set_class(not self.facts, "-empty")

    def watch_foot(self) -> None:
        """Write the foot again; its own line ends are kept."""
        self._foot.write(Content("\n".join(clean(line) for line in self.foot.split("\n"))))
        self._foot.set_class(not self.foot, "-empty")

    def _show_head(self) -> None:
        """Write sign, word and headline; the word stands out by reversal, which needs no colour."""
        badge = Content.styled(f" {SIGNS[self.tone]} {clean(self.word)} ", "reverse")
        self._head.write(Content.assemble(badge, "  ", clean(self.headline)))
