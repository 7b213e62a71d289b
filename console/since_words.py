"""What happened since somebody last looked, in words: for the card, the notice and the report. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.job.decision_words import Section
from console.job.lines import clean
from console.job.units import count, duration, percent, plural
from console.journal_words import headline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    Clock = Callable[[datetime], str]
    """Writes a moment in the reader's zone."""

    from console.job.snapshot import Eta
    from console.job.timeline_changes import Change
    from console.job.timeline_marks import Mark
    from console.since import Since
    from console.since_eta import Ended

SHORT = 4
"""Entries of a kind on the card, the newest; the report has all."""


def title(told: Since, clock: Clock) -> str:
    """How long it was: ``Since you last looked, 2 h 14 min ago (01:05)``."""
    return f"Since you last looked, {duration(told.seconds)} ago ({clock(told.begin)})"


def notice(told: Since, clock: Clock) -> str:
    """That nothing happened, in one line."""
    done = f", {plural(told.done, 'prompt')} done" if told.done else ""
    end = f"; ends {clock(told.eta.now.at)}" if told.eta is not None and told.eta.now.at is not None else ""
    return f"You were away for {duration(told.seconds)}: nothing happened; {told.now.word}{done}{end}."


def card(told: Since, clock: Clock) -> Iterator[tuple[str, str]]:
    """The card's rows: a word on the left, and what is said of it; of each kind the newest few."""
    yield "verdict", _verdict_line(told, clock)
    yield from _rows("ended", [f"{clock(mark.at)} {mark.what}" for mark in told.ended])
    yield from _rows("began", [f"{clock(mark.at)} {mark.what}" for mark in told.began])
    if told.done is not None:
        yield "done", plural(told.done, "prompt")
    if told.failed:
        yield "errors", failed(told)
    yield from _rows("happened", [f"{clock(mark.at)} {mark.what}" for mark in told.marks])
    if told.gaps:
        yield "link", link(told, clock)
    if told.unwatched:
        yield "not seen", unwatched(told, clock)
    if told.eta is not None:
        yield "end", ending(told.eta, clock)
    yield from _rows("done by", [f"{clock(entry.at)} {entry.user}: {headline(entry)}" for entry in told.acts])
    yield from _rows("notes", [f"{clock(entry.at)} {entry.user}: {headline(entry)}" for entry in told.notes])


def _rows(word: str, lines: list[str]) -> Iterator[tuple[str, str]]:
    """The newest lines, the word before the first; of more, how many there were before."""
    left_out = len(lines) - SHORT
    if left_out > 0:
        lines = [f"{count(left_out)} earlier; then", *lines[-SHORT:]]
    for number, line in enumerate(lines):
        yield "" if number else word, clean(line)


def _verdict_line(told: Since, clock: Clock) -> str:
    """The verdicts, one after the other."""
    if not told.changes:
        held = told.before is not None and (told.before.verdict, told.before.cause) == (
            told.now.verdict,
            told.now.cause,
        )
        return f"{told.now.word}, all the time" if held else told.now.word
    first = [] if told.before is None else [told.before.word]
    shown = told.changes[-SHORT:]
    skipped = len(told.changes) - len(shown)
    between = [f"{plural(skipped, 'change')}"] if skipped else []
    return " → ".join((*first, *between, *(f"{clock(change.at)} {change.word}" for change in shown)))


def failed(told: Since) -> str:
    """The requests that failed: ``12 requests failed: B3 10, B4 2``."""
    whole = sum(number for _, number in told.failed)
    which = ", ".join(f"{clean(name)} {count(number)}" for name, number in told.failed)
    return f"{plural(whole, 'request')} failed: {which}"


def link(told: Since, clock: Clock) -> str:
    """How often and how long the link was lost."""
    lost_s = sum(((end or told.end) - begin).total_seconds() for begin, end in told.gaps)
    newest, back = told.gaps[-1]
    last = f"the last time at {clock(newest)}" if len(told.gaps) > 1 else f"at {clock(newest)}"
    still = "" if back is not None else ", and still is"
    return f"lost {plural(len(told.gaps), 'time')}, {duration(lost_s)} in all, {last}{still}"


def unwatched(told: Since, clock: Clock) -> str:
    """When no console looked."""
    spans = ", ".join(f"{clock(begin)} to {clock(end)}" for begin, end in told.unwatched[-SHORT:])
    return f"no console looked from {spans}; of that time only the logs tell"


def ending(eta: Ended, clock: Clock) -> str:
    """The end told then and now, and why it moved."""
    now = _eta(eta.now, clock)
    moved_s = eta.moved_s
    former = None if eta.then is None else eta.then.at
    if former is None or moved_s is None:
        return now if former is None else f"{now}; {clock(former)} was told then"
    if abs(moved_s) < 60:  # noqa: PLR2004 - a clock is shown to the minute
        return f"{now}, as was told then"
    way = "later" if moved_s > 0 else "earlier"
    why = f": {'; '.join(eta.reasons)}" if eta.reasons else ""
    return f"{now}, {duration(abs(moved_s))} {way} than told then ({clock(former)}){why}"


def _eta(eta: Eta, clock: Clock) -> str:
    if eta.at is None:
        return f"-- {eta.basis}".rstrip()
    if eta.low is None or eta.high is None or eta.low == eta.high:
        return clock(eta.at)
    return f"{clock(eta.at)} ({percent(eta.coverage)}: {clock(eta.low)} to {clock(eta.high)})"


def sections(told: Since, clock: Clock) -> tuple[Section, ...]:
    """The report's parts; those that hold nothing are left out."""
    made = (
        Section("Verdict", (_verdict_now(told, clock),), *_changes(told, clock)),
        Section("Datasets", tuple(_datasets(told, clock))),
        Section("Errors", (f"{failed(told)}.",) if told.failed else ()),
        Section("What happened", tuple(_happened(told, clock))),
        Section("End of the run", (f"{ending(told.eta, clock)}.",) if told.eta else ()),
        Section("What was done", *_entries(told, clock)),
    )
    return tuple(section for section in made if section.lines or section.rows)


def _verdict_now(told: Since, clock: Clock) -> str:
    words = f"{told.now.word}: {told.now.headline}" if told.now.headline else told.now.word
    before = f" Before: {told.before.word}, since {clock(told.before.at)}." if told.before is not None else ""
    return f"{words}{before}"


def _changes(told: Since, clock: Clock) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    rows = tuple(_change_row(change, clock) for change in told.changes)
    return (("from", "verdict", "cause", "said"), rows) if rows else ((), ())


def _change_row(change: Change, clock: Clock) -> tuple[str, ...]:
    return clock(change.at), change.verdict.value, change.cause, change.headline


def _datasets(told: Since, clock: Clock) -> Iterator[str]:
    yield from _marks((*told.ended, *told.began), clock)
    if told.done is not None:
        yield f"{plural(told.done, 'prompt')} done."


def _happened(told: Since, clock: Clock) -> Iterator[str]:
    yield from _marks(told.marks, clock)
    if told.gaps:
        yield f"The link was {link(told, clock)}."
    if told.unwatched:
        words = unwatched(told, clock)
        yield f"{words[0].upper()}{words[1:]}."


def _marks(marks: Iterable[Mark], clock: Clock) -> Iterator[str]:
    for mark in sorted(marks, key=lambda each: each.at):
        yield f"{clock(mark.at)}: {mark.what}."


def _entries(told: Since, clock: Clock) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, ...], ...]]:
    entries = sorted((*told.acts, *told.notes), key=lambda each: each.at)
    rows = tuple((clock(entry.at), entry.user, str(entry.kind), headline(entry)) for entry in entries)
    return ((), ("at", "by", "what", "outcome"), rows) if rows else ((), (), ())
