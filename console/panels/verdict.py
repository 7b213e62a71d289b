"""The verdict: whether to touch the run, why, and when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical
from textual.content import Content
from textual.reactive import reactive

from console.job import units
from console.job.snapshot import Judgement
from console.panels import words
from console.panels.panel import Panel
from widgets.card import SIGNS, Card, CardTone
from widgets.large import Large
from widgets.plain import clean
from widgets.still import Still

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, tzinfo

    from textual.app import ComposeResult

    from console.job.snapshot import Eta, Snapshot, Verdict

TONES: dict[Judgement, CardTone] = {
    Judgement.WAIT: "good",
    Judgement.WATCH: "warn",
    Judgement.INTERVENE: "bad",
    Judgement.BLIND: "blind",
}
"""The card's tone for each verdict."""

BESIDE_FROM = 96
"""Cells of the pane from which on the time left stands beside the verdict: a sentence of why still has 50 of them."""

LARGE_FROM = 72
"""Cells of the pane from which on the word may be three rows high: ``✗ INTERVENE`` is 39 wide."""


def asides(verdict: Verdict, now: datetime, zone: tzinfo | None) -> tuple[str, ...]:
    """Give the cause, since when it holds and when to look again, in ever fewer words."""
    since = f"since {words.clock(verdict.since, now, zone)}" if verdict.since else ""
    long = f"{since}, {units.duration((now - verdict.since).total_seconds())}" if verdict.since else ""
    look = f"look again {units.ahead(verdict.next_look, now)}" if verdict.next_look else ""
    clock = f"{look} ({words.clock(verdict.next_look, now, zone)})" if look else ""
    return (
        words.joined(verdict.cause.replace("_", " "), long, clock),
        words.joined(long, clock),
        words.joined(long, look),
        words.joined(since, look),
        look or since,
    )


def foot(verdict: Verdict, key: str = "") -> str:
    """Give what to do, with the key that does it: what stays in sight."""
    if not verdict.action:
        return ""
    return f"Do: [{key}] {verdict.action}" if key else f"Do: {verdict.action}"


def signed(judgement: Judgement) -> str:
    """Give the verdict's word with its sign: colour never speaks alone."""
    return f"{SIGNS[TONES[judgement]]} {judgement.value.upper()}"


def badge(snapshot: Snapshot, now: datetime) -> tuple[CardTone, tuple[str, ...]]:
    """Give the verdict's tone, and sign and word for one line, with the time left where there is room."""
    verdict, eta = snapshot.verdict, snapshot.eta
    word = signed(verdict.verdict)
    known = eta.at is not None and not words.has_ended(eta, now) and not words.link_broken(snapshot.link)
    left = f"{units.duration((eta.at - now).total_seconds())} left" if known and eta.at is not None else ""
    return TONES[verdict.verdict], (words.joined(word, left), word)


class TimeLeft(Vertical):
    """The time left: a block with a large figure where there is room for one, else a line."""

    DEFAULT_CSS = """
    TimeLeft {
        height: auto;
        padding: 0 1;
        & > Large, & > #span { display: none; }
        & > #ending { height: auto; max-height: 2; text-style: bold; }
        & > #span { height: auto; }
        &.-old { text-opacity: 80%; }
        &.-block {
            & > Large { display: block; }
            & > #span.-said { display: block; }
            & > #ending { max-height: 4; text-style: none; }
        }
    }
    """

    def __init__(self, zone: tzinfo | None, *, id: str) -> None:  # noqa: A002 -- textual's name for it
        """Take the operator's zone; None is this machine's."""
        super().__init__(id=id)
        self._zone = zone
        self._figure = Large()
        self._span = Still(id="span", markup=False)
        self._ending = Still(id="ending", markup=False)
        self._shown: tuple[Eta, datetime, str, str] | None = None

    def compose(self) -> ComposeResult:
        """Stack the figure, its range and the clock times."""
        yield self._figure
        yield self._span
        yield self._ending

    def on_resize(self) -> None:
        """Choose again what fits."""
        if self._shown is not None:
            self.show(*self._shown)

    def stand(self, *, block: bool, tall: bool) -> None:
        """Stand as a block of several lines, with a figure of one row or three; or as a line."""
        self.set_class(block, "-block")
        self._figure.tall = tall
        if self._shown is not None:
            self.show(*self._shown)

    def show(self, eta: Eta, now: datetime, known: str, done: str = "") -> None:
        """Draw it.

        Args:
            eta: The run's end.
            now: The present.
            known: Of when it is, where it is out of date; else nothing.
            done: How far the run is; nothing while unknown.
        """
        self._shown = eta, now, known, done
        self.set_class(bool(known), "-old")
        phrases = words.ending(eta, now, self._zone, done)
        if not self.has_class("-block"):
            fitting = words.first_fitting(self.content_size.width, *(words.joined(text, known) for text in phrases))
            self._ending.write(Content(clean(fitting)))
            return
        figure, span, ending = block_of(eta, now, self._zone)
        self._figure.text = figure
        self._span.write(Content(clean(span)))
        self._span.set_class(bool(span), "-said")
        self._ending.write(Content("\n".join(clean(text) for text in (ending, done, known) if text)))


def block_of(eta: Eta, now: datetime, zone: tzinfo | None) -> tuple[str, str, str]:
    """Give the time left as a figure, its range, and the end by the clock with its own range."""
    if eta.at is None or words.has_ended(eta, now):
        return "ended" if eta.at else units.UNKNOWN, "", words.ending(eta, now, zone)[0]
    left = f"{units.duration((eta.at - now).total_seconds())} left"
    when = f"Ends {words.clock(eta.at, now, zone)}"
    if eta.low is None or eta.high is None:
        return left, "", when
    span = f"{words.span_left(eta, now)}, {units.percent(eta.coverage)} sure"
    return left, span, f"{when} ({words.clock(eta.low, now, zone)} to {words.clock(eta.high, now, zone)})"


class VerdictPanel(Panel, can_focus=False):
    """The one word, its reasons, and the run's end as a range."""

    HELP: ClassVar[str] = """\
### Verdict

One word for whether to touch the run, with its sign and colour; beside it its cause, since when it holds, and when the
next thing is due that would tell you more. Below it one sentence of why, then the evidence in figures.

- **✓ WAIT**: leave it alone. A full KV cache and a long queue are good in a batch run while tok/s holds.
- **! WATCH**: something may be off; the text says what would settle it and when to look again.
- **✗ INTERVENE**: do what stands after *Do:*; its cost is named.
- **? BLIND**: the host or its logs can't be seen; nothing is concluded from old figures.

**left** is the middle of a range, in hours and minutes, with the range beside it. **Ends** is the same by the clock,
in your local time. The range holds as often as it says: *80 % sure* means four times out of five. It is reckoned from
tokens left and tokens a second; without enough to go by it is `--`, with the reason. A range that gets narrower is
good; an end that moves later hour by hour makes the verdict WATCH.

Source: all of the logs, the server's health and figures, and the job's process.
"""
    TITLE: ClassVar[str] = "Verdict"
    DEFAULT_CSS = """
    VerdictPanel {
        border: none;
        padding: 0;
        layout: vertical;
        Card { height: auto; scrollbar-size-vertical: 1; }
        &.-beside {
            layout: horizontal;
            Card { width: 1fr; }
            TimeLeft { width: 44; border-left: solid $primary-muted; margin-left: 1; }
        }
    }
    """

    roomy: reactive[bool] = reactive(False)
    """Whether word and time left may be drawn three rows high; the screen says so by its height."""

    deep: reactive[bool] = reactive(False)
    """Whether there are rows for a headline under a large word, too; as above."""

    def __init__(
        self,
        zone: tzinfo | None = None,
        key_for: Callable[[str], str] | None = None,
        *,
        id: str | None = None,  # noqa: A002 -- textual's name for it
    ) -> None:
        """Take the operator's zone, None is this machine's, and what gives the key that does what a cause asks for."""
        super().__init__(zone, id=id)
        self._key_for = key_for or (lambda _cause: "")
        self._card = Card()
        self._left = TimeLeft(zone, id="left")
        self._columns = 0

    def expect(self, columns: int) -> None:
        """Stand at first as so many columns ask for, so that the first frame need not be laid out twice."""
        self._columns = columns
        self._arrange()

    def compose(self) -> ComposeResult:
        """Lay the time left after the card."""
        yield self._card
        yield self._left

    def at_hand(self) -> tuple[str, ...]:
        """Give verdict and end as one line."""
        return (" ".join((self.whole()[0], *self.whole()[-1:])),)

    def whole(self) -> tuple[str, ...]:
        """Give all of it in words; what is drawn large is no text."""
        if self.snapshot is None or self.now is None:
            return (self.TITLE,)
        done = words.far(self.snapshot.datasets, self.snapshot.eta)
        verdict, ends = self.snapshot.verdict, words.ending(self.snapshot.eta, self.now, self.zone, done)
        told = (asides(verdict, self.now, self.zone)[0], *verdict.evidence, foot(verdict), ends[0])
        return (f"{verdict.verdict.value.upper()}: {clean(verdict.headline)}", *(clean(text) for text in told if text))

    def focus_pane(self) -> None:
        """Focus the card, which scrolls when the evidence is long."""
        self.screen.set_focus(self._card)

    def on_resize(self) -> None:
        """Choose again what fits."""
        self._arrange()

    def watch_roomy(self) -> None:
        """As above."""
        self._arrange()

    def watch_deep(self) -> None:
        """As above."""
        self._arrange()

    def _arrange(self) -> None:
        columns = self.size.width or self._columns
        beside = columns >= BESIDE_FROM
        self.set_class(beside, "-beside")
        self._card.deep = self.deep
        self._card.large = self.roomy and columns >= LARGE_FROM
        self._left.stand(block=beside, tall=beside and self.roomy)

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Draw verdict and end."""
        verdict = snapshot.verdict
        self._card.tone = TONES[verdict.verdict]
        self._card.word = verdict.verdict.value.upper()
        self._card.headline = verdict.headline
        self._card.asides = asides(verdict, now, self.zone)
        self._card.facts = verdict.evidence
        self._card.foot = foot(verdict, self._key_for(verdict.cause))
        self.set_class(verdict.action is not None, "-urgent")
        broken = words.link_broken(snapshot.link) and snapshot.eta.at is not None
        known = words.as_of(words.seen_until(snapshot.at, snapshot.link), now, self.zone) if broken else ""
        self._left.show(snapshot.eta, now, known, words.far(snapshot.datasets, snapshot.eta))
