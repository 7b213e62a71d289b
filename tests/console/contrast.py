"""What is really drawn, and with what contrast: each text of a screen with its colours as the terminal gets them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich._palettes import EIGHT_BIT_PALETTE, STANDARD_PALETTE
from rich.color import Color, ColorSystem, ColorType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import App

SYSTEMS = {
    None: ColorSystem.TRUECOLOR,
    "256": ColorSystem.EIGHT_BIT,
    "standard": ColorSystem.STANDARD,
}
"""Rich's names for what a terminal can show."""

SIGNS = set("✓✗!?▶»■●▸")
"""Signs that are read like words."""


@dataclass(frozen=True, slots=True, order=True)
class Drawn:
    """A text on the screen.

    Attributes:
        ratio: Its contrast to what it stands on, 1 to 21.
        text: The text.
        front: Its colour as the terminal gets it.
        back: The ground's.
        row: Where it stands.
    """

    ratio: float
    text: str
    front: str
    back: str
    row: int


def _triplet(color: Color, system: ColorSystem) -> tuple[int, int, int]:
    """The colour that a terminal shows, by the palette that Rich chooses the nearest with."""
    shown = color.downgrade(system)
    if shown.type is ColorType.TRUECOLOR:
        assert shown.triplet is not None
        return (*shown.triplet,)
    assert shown.number is not None, "a colour of the terminal's own has no value to measure"
    palette = STANDARD_PALETTE if shown.type is ColorType.STANDARD else EIGHT_BIT_PALETTE
    return (*palette[shown.number],)


def luminance(rgb: tuple[int, int, int]) -> float:
    """Relative luminance after WCAG 2.1, 0 to 1."""
    parts = [part / 255 for part in rgb]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def ratio(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    """Contrast of two colours after WCAG 2.1, 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def is_text(text: str) -> bool:
    """Whether it is read, rather than a line, a bar or a border."""
    return any(character.isalnum() or character in SIGNS for character in text)


def texts(app: App[None], colour_system: str | None = None) -> Iterable[Drawn]:
    """Each text of the screen as it is drawn now, all alpha and opacity applied.

    Args:
        app: The app.
        colour_system: What the terminal can show.
    """
    system = SYSTEMS[colour_system]
    # What lies behind a list or a question is veiled on purpose: it can't be acted on.
    over = (
        [child.region for child in app.screen.children if child.display] if app.screen.is_modal else [app.screen.region]
    )
    for row, strip in enumerate(app.screen._compositor.render_strips()):
        x = 0
        for segment in strip:
            style, begin, x = segment.style, x, x + segment.cell_length
            if style is None or not is_text(segment.text) or not any(part.contains(begin, row) for part in over):
                continue
            assert style.color is not None, segment
            assert style.bgcolor is not None, segment
            front, back = _triplet(style.color, system), _triplet(style.bgcolor, system)
            if style.reverse:
                front, back = back, front
            yield Drawn(
                round(ratio(front, back), 2),
                segment.text.strip(),
                "#{:02x}{:02x}{:02x}".format(*front),
                "#{:02x}{:02x}{:02x}".format(*back),
                row,
            )
