"""A span of time on three rows: what it was spent on, how it went, and what happened when; a moment can be chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from widgets.paint import joined, painted
from widgets.plain import clean, column
from widgets.row import known, place_of
from widgets.scrub import CURSOR, SIGNS, TONES, Ribbon, Tone, cell_tones

if TYPE_CHECKING:
    from textual import events
    from textual.content import Content

BORDER = "▏"
"""Where a stretch begins."""

AHEAD, RANGE, MIDDLE, NOW = "·", "░", "◆", "▌"
"""What lies ahead, the range in which the end is expected, its middle, and the present."""

LEAST = 10
"""Cells below which nothing is drawn but the place."""

NEAR = 6
"""Cells by which a word of the axis may be moved to make room for a pin."""

SIGNED = 7
"""Cells of a stretch from which on its sign stands before its name."""

Cell = tuple[str, str]
"""A sign and the component class that it is drawn in."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the span that has a name.

    Attributes:
        begin: Where it begins, 0 to 1.
        end: Where it ends.
        label: Its name.
        sign: Its state as one cell.
    """

    begin: float
    end: float
    label: str
    sign: str = ""


@dataclass(frozen=True, slots=True)
class Pin:
    """Something that happened at a place.

    Attributes:
        at: Where, 0 to 1.
        sign: One cell.
        tone: How it is meant.
    """

    at: float
    sign: str
    tone: Tone = "good"


@dataclass(frozen=True, slots=True)
class Picture:
    """All that a strip draws.

    Attributes:
        stretches: The first row, from left to right.
        ribbon: The second row up to the present: from which place on which tone holds.
        now: Where the present is; behind it all is expected.
        ahead: Early end, middle and late end of where the end is expected; None when that is not known.
        pins: The third row.
        left: What stands below the begin; gives way to pins.
        middle: What stands below the present, likewise.
        right: What stands below the end, likewise.
    """

    stretches: tuple[Stretch, ...] = ()
    ribbon: Ribbon = ()
    now: float = 1.0
    ahead: tuple[float, float, float] | None = None
    pins: tuple[Pin, ...] = ()
    left: str = ""
    middle: str = ""
    right: str = ""


class Strip(Widget):
    """Stretches with names, a ribbon of tones with the place on it, and pins above the axis."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "strip--border",
        "strip--label",
        "strip--ahead",
        "strip--range",
        "strip--now",
        "strip--cursor",
        "strip--axis",
        *(f"strip--{tone}" for tone in TONES),
    }
    """Parts that CSS can reach: names and their borders, what is ahead, the place, the axis, and tones."""

    DEFAULT_CSS = """
    Strip {
        height: 3;
        width: 1fr;
        text-wrap: nowrap;
        & > .strip--border { color: $text-muted; }
        & > .strip--label { color: $foreground; }
        & > .strip--ahead { color: $text-muted; }
        & > .strip--range { color: $text-primary; }
        & > .strip--now { text-style: bold; color: $foreground; }
        & > .strip--cursor { text-style: bold; color: $text-accent; }
        & > .strip--axis { color: $text-muted; }
        & > .strip--unread { color: $text-muted; }
        & > .strip--good { color: $text-success; }
        & > .strip--blind { color: $foreground; }
        & > .strip--warn { color: $text-warning; }
        & > .strip--bad { text-style: bold; color: $text-error; }
    }
    """

    picture: reactive[Picture] = reactive(Picture)
    """What is drawn."""

    value: reactive[float | None] = reactive[float | None](None)
    """The chosen place, 0 to 1; None when none is."""

    class Asked(Message):
        """The operator points at a place."""

        def __init__(self, strip: Strip, share: float) -> None:
            super().__init__()
            self.strip = strip
            self.share = share
            """0 to 1."""

        @property
        def control(self) -> Strip:
            """The strip that this is about."""
            return self.strip

    @property
    def cells(self) -> int:
        """Cells of the span at the present width; at least 1."""
        return max(1, self.size.width)

    def render(self) -> Content:
        """Draw the three rows for the width there is."""
        width = self.size.width
        drawn = (named(self.picture, width), self._ribbon(width), axis(self.picture, width))
        pieces: list[Cell] = []
        for place, row in enumerate(drawn):
            pieces += [("\n", "")] if place else []
            pieces += joined(row)
        return painted(self, pieces)

    def _ribbon(self, width: int) -> list[Cell]:
        row = ribbon(self.picture, width)
        place = place_of(self.value, width)
        if place is not None and row:
            row[place] = (CURSOR, "strip--cursor")
        return row

    def on_click(self, event: events.Click) -> None:
        """Ask for the place that was clicked."""
        event.stop()
        share = (event.x - self.gutter.left) / max(1, self.size.width - 1)
        self.post_message(self.Asked(self, min(1.0, max(0.0, share))))


def named(picture: Picture, width: int) -> list[Cell]:
    """The first row: each stretch from its begin on, its border, sign and name, as far as there is room.

    A stretch too short for a cell of its own is left out where another begins in its cell.
    """
    row: list[Cell] = [(" ", "")] * width
    if width < LEAST:
        return row
    begins = [(place_of(each.begin, width), each) for each in picture.stretches]
    places = [(place, each) for place, each in begins if place is not None]
    for number, (place, each) in enumerate(places):
        following = [after for after, _ in places[number + 1 :] if after > place]
        end = max(place + 1, round(min(1.0, max(0.0, known(each.end) or 0.0)) * width))
        room = min([end, width, *following[:1]]) - place
        if any(after == place for after, _ in places[number + 1 :]) and room == 1:
            continue
        label, sign = clean(each.label), clean(each.sign)
        # Where there is little room the name comes first: what state it is in is told elsewhere, too.
        text = f"{sign} {label}" if sign and room > SIGNED else label
        row[place] = (BORDER, "strip--border")
        tone = "strip--label" if place <= (place_of(picture.now, width) or 0) else "strip--ahead"
        if room > 1:
            # One entry may be two cells wide (CJK): the cell behind it is then empty.
            row[place + 1 : place + room] = spread(column(text, room - 1), tone)
    return row


def spread(text: str, part: str) -> list[Cell]:
    """A text as cells, so many as it is wide."""
    cells: list[Cell] = []
    for sign in text:
        wide = cell_len(sign)
        if wide == 0 and cells:
            cells[-1] = (cells[-1][0] + sign, part)
        elif wide:
            cells += [(sign, part), *[("", part)] * (wide - 1)]
    return cells


def ribbon(picture: Picture, width: int) -> list[Cell]:
    """The second row: tones up to the present, then what is ahead and the range of the end."""
    if width < 1:
        return []
    row: list[Cell] = [(SIGNS[tone], f"strip--{tone}") for tone in cell_tones(width, picture.ribbon)]
    now = place_of(picture.now, width)
    if now is None or (now == width - 1 and picture.ahead is None):
        return row
    row[now + 1 :] = [(AHEAD, "strip--ahead")] * (width - now - 1)
    if picture.ahead is not None:
        low, middle, high = (place_of(share, width) for share in picture.ahead)
        if low is not None and high is not None:
            for cell in range(max(low, now + 1), high + 1):
                row[cell] = (RANGE, "strip--range")
        if middle is not None and middle > now:
            row[middle] = (MIDDLE, "strip--range")
    row[now] = (NOW, "strip--now")
    return row


def axis(picture: Picture, width: int) -> list[Cell]:
    """The third row: words at begin, present and end, and pins, which come first where there is no room for both."""
    row: list[Cell] = [(" ", "")] * width
    if width < LEAST:
        return row
    pins: dict[int, Pin] = {}
    for pin in picture.pins:
        place = place_of(pin.at, width)
        if place is not None and (place not in pins or TONES.index(pin.tone) >= TONES.index(pins[place].tone)):
            pins[place] = pin
    now = place_of(picture.now, width) or 0
    left, middle, right = clean(picture.left), clean(picture.middle), clean(picture.right)
    taken = set(pins)
    words = ((left, 0, 1), (right, width - cell_len(right), -1), (middle, now - cell_len(middle) // 2, 1))
    for text, begin, way in words:
        place = free_place(taken, width, cell_len(text), begin, way)
        if text and place is not None:
            row[place : place + cell_len(text)] = spread(text, "strip--axis")
            taken |= set(range(place, place + cell_len(text)))
    for place, pin in pins.items():
        row[place] = (column(clean(pin.sign) or "?", 1), f"strip--{pin.tone}")
    return row


def free_place(taken: set[int], width: int, cells: int, begin: int, way: int) -> int | None:
    """Where a text of so many cells can stand, at or near where it should; None when there is no room.

    Args:
        taken: Cells that are drawn already.
        width: Cells of the row.
        cells: Cells of the text.
        begin: Where it should begin.
        way: In which direction it may be moved, 1 or -1.
    """
    for shift in range(NEAR):
        place = min(max(0, begin), width - cells) + way * shift
        # A blank beside it, so that two texts never run together.
        if 0 <= place <= width - cells and taken.isdisjoint(range(place - 1, place + cells + 1)):
            return place
    return None
