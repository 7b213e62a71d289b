"""The verdict: whether to touch the run, why, and when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.content import Content

from console.job import units
from console.job.snapshot import Judgement
from console.panels import words
from console.panels.panel import Panel
from widgets.card import Card, CardTone
from widgets.plain import clean
from widgets.still import Still

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from textual.app import ComposeResult

    from console.job.snapshot import Snapshot, Verdict

TONES: dict[Judgement, CardTone] = {
    Judgement.WAIT: "good",
    Judgement.WATCH: "warn",
    Judgement.INTERVENE: "bad",
    Judgement.BLIND: "blind",
}
"""The card's tone for each verdict."""


def foot(verdict: Verdict, now: datetime, zone: tzinfo | None) -> str:
    """Give what to do, then the cause, since when it holds, and when to look again: what stays in sight."""
    since = f"since {words.clock(verdict.since, now, zone)}" if verdict.since else ""
    look = f"next look {units.ahead(verdict.next_look, now)}" if verdict.next_look else ""
    around = words.joined(verdict.cause.replace("_", " "), since, look)
    return f"Do: {verdict.action}\n{around}" if verdict.action else around


class VerdictPanel(Panel, can_focus=False):
    """The one word, its reasons, and the run's end as a range."""

    HELP: ClassVar[str] = """\
### Verdict

One word for whether to touch the run.

- **WAIT**: leave it alone. A full KV cache and a long queue are good in a batch run while tok/s holds.
- **WATCH**: something may be off; the text says what would settle it and when to look again.
- **INTERVENE**: do what stands after *Do:*; its cost is named.
- **BLIND**: the host or its logs can't be seen; nothing is concluded from old figures.

**Ends** is the middle of a range, in your local time, with the time left. The range holds as often as it says.
It is reckoned from tokens left and tokens a second; without enough to go by it is `--`, with the reason.
"""
    TITLE: ClassVar[str] = "Verdict"
    DEFAULT_CSS = """
    VerdictPanel {
        border: none;
        padding: 0;
        &:focus-within { border: none; }
        Card { height: auto; scrollbar-size-vertical: 1; }
        #ending { height: auto; max-height: 2; padding: 0 1; text-style: bold; &.-old { text-opacity: 60%; } }
    }
    """

    def __init__(self, zone: tzinfo | None = None, *, id: str | None = None) -> None:  # noqa: A002 -- textual's name for it
        """Take the operator's zone; None is this machine's."""
        super().__init__(zone, id=id)
        self._card = Card()
        self._ending = Still(id="ending", markup=False)
        self._ended = ""

    def compose(self) -> ComposeResult:
        """Lay the end below the card."""
        yield self._card
        yield self._ending

    def focus_pane(self) -> None:
        """Focus the card, which scrolls when the evidence is long."""
        self._card.focus()

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Draw verdict and end."""
        verdict = snapshot.verdict
        self._card.tone = TONES[verdict.verdict]
        self._card.word = verdict.verdict.value.upper()
        self._card.headline = verdict.headline
        self._card.facts = verdict.evidence
        self._card.foot = foot(verdict, now, self.zone)
        self.set_class(verdict.action is not None, "-urgent")
        broken = words.link_broken(snapshot.link)
        known = (
            words.as_of(words.seen_until(snapshot.at, snapshot.link), now, self.zone)
            if broken and snapshot.eta.at
            else ""
        )
        ending = words.joined(words.ending(snapshot.eta, now, self.zone), known)
        self._ending.set_class(bool(known), "-old")
        if ending != self._ended:
            self._ended = ending
            self._ending.write(Content(clean(ending)))
