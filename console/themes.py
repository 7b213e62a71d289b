"""How the console is coloured: five themes of its own, Textual's, and the operator's.

The five are calm (nothing is coloured that means nothing), and told apart by what they are for. Their text has a
contrast of at least 4.5:1 to what it stands on (WCAG 2.1, success criterion 1.4.3), as drawn, on terminals of 16
million, 256 and 16 colours; ``longwait-contrast`` has 7:1 on the first two. On 16 colours another set stands in for
each theme, made of the 16 alone: what a terminal makes of other colours by itself may be unreadable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.theme import Theme

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DEFAULT = "longwait-dark"
"""The theme where none is named."""

COLOURLESS = "longwait-mono"
"""The theme where the terminal is to get no colour (``NO_COLOR``): it marks by reversal what others mark by colour."""

FEW_COLOURS = frozenset({"standard", "windows"})
"""Rich's names for terminals of 16 colours."""


SOME_COLOURS = "256"
"""Rich's name for terminals of 256 colours."""


@dataclass(frozen=True, slots=True)
class Colours:
    """The colours of a theme, by what they are for; ``#rrggbb``.

    Attributes:
        background: Below all.
        surface: Below what lies over the screen: lists, dialogs, fields.
        panel: Below the top line and the keys.
        foreground: Text.
        muted: Text that matters less, and lines between panes in a darker shade of it.
        faint: Lines and the rest of a bar: no text.
        primary: Bars, and what is at work.
        accent: What has the focus.
        good: All is well.
        warning: Look at it.
        bad: Do something.
        chosen: Below the line that is chosen.
        found: Below what was searched for.
        dark: Whether the background is dark.
    """

    background: str
    surface: str
    panel: str
    foreground: str
    muted: str
    faint: str
    primary: str
    accent: str
    good: str
    warning: str
    bad: str
    chosen: str
    found: str
    dark: bool = True


FULL: dict[str, Colours] = {
    "longwait-dark": Colours(
        background="#11161c",
        surface="#171e26",
        panel="#1c252e",
        foreground="#dde4ea",
        muted="#a3b0bc",
        faint="#3a4754",
        primary="#6db3f2",
        accent="#c4a7f5",
        good="#7fd49b",
        warning="#f0c065",
        bad="#ff8f88",
        chosen="#233445",
        found="#4a3c14",
    ),
    "longwait-light": Colours(
        background="#f7f5f0",
        surface="#fffdf9",
        panel="#eae6dc",
        foreground="#1d2329",
        muted="#434b54",
        faint="#c6c0b2",
        primary="#174f8c",
        accent="#6a3aa2",
        good="#17602f",
        warning="#7a4a00",
        bad="#a3182a",
        chosen="#dbe6f2",
        found="#f3e0a6",
        dark=False,
    ),
    "longwait-colorblind": Colours(
        background="#101418",
        surface="#161c22",
        panel="#1c242b",
        foreground="#e2e6ea",
        muted="#a9b2bb",
        faint="#3b454e",
        primary="#a9b8c9",
        accent="#e2e6ea",
        good="#56b4e9",
        warning="#f7ee8a",
        bad="#e8743b",
        chosen="#202b35",
        found="#4b4310",
    ),
    "longwait-mono": Colours(
        background="#131313",
        surface="#1b1b1b",
        panel="#232323",
        foreground="#dadada",
        muted="#ababab",
        faint="#4a4a4a",
        primary="#bcbcbc",
        accent="#ffffff",
        good="#dadada",
        warning="#ffffff",
        bad="#ffffff",
        chosen="#383838",
        found="#4a4a4a",
    ),
    "longwait-contrast": Colours(
        background="#000000",
        surface="#000000",
        panel="#141414",
        foreground="#ffffff",
        muted="#e0e0e0",
        faint="#8a8a8a",
        primary="#80d0ff",
        accent="#ffb8ff",
        good="#6cff98",
        warning="#ffe04d",
        bad="#ff9090",
        chosen="#001f3a",
        found="#4d3d00",
    ),
}
"""The five themes. The colours of ``longwait-colorblind`` for good, warning and bad are blue, yellow and orange after
M. Okabe and K. Ito, Color Universal Design (2008), lightened where text on a dark ground needs it."""

BLACK, BROWN, BLUE, GREY, DARK_GREY = "#000000", "#aa5500", "#0000aa", "#aaaaaa", "#555555"
RED, GREEN, YELLOW, MAGENTA, CYAN, WHITE = "#ff5555", "#55ff55", "#ffff55", "#ff55ff", "#55ffff", "#ffffff"
"""Of the 16 colours, by the values with which Rich finds the nearest; what a terminal shows for them is its own."""

_ON_BLACK = Colours(
    background=BLACK,
    surface=BLACK,
    panel=BLACK,
    foreground=WHITE,
    muted=GREY,
    faint=DARK_GREY,
    primary=CYAN,
    accent=MAGENTA,
    good=GREEN,
    warning=YELLOW,
    bad=RED,
    chosen=BLUE,
    found=BLUE,
)

FEW: dict[str, Colours] = {
    "longwait-dark": _ON_BLACK,
    "longwait-light": Colours(
        background=WHITE,
        surface=WHITE,
        panel=WHITE,
        foreground=BLACK,
        muted=DARK_GREY,
        faint=GREY,
        primary=BLUE,
        accent="#aa00aa",
        good=BLUE,
        warning=BROWN,
        bad="#aa0000",
        chosen=YELLOW,
        found=CYAN,
        dark=False,
    ),
    "longwait-colorblind": replace(_ON_BLACK, primary=GREY, accent=WHITE, good=CYAN, bad=MAGENTA),
    "longwait-mono": replace(
        _ON_BLACK, primary=GREY, accent=WHITE, good=WHITE, warning=WHITE, bad=WHITE, chosen=BLACK, found=BLACK
    ),
    "longwait-contrast": replace(_ON_BLACK, muted=WHITE, accent=YELLOW, bad=MAGENTA),
}
"""The same on terminals of 16 colours, made of those alone."""

SOME: dict[str, Colours] = {
    **FULL,
    "longwait-dark": replace(FULL["longwait-dark"], chosen="#303030"),
    "longwait-light": replace(
        FULL["longwait-light"],
        background="#ffffff",
        surface="#ffffff",
        panel="#e4e4e4",
        accent="#5f00af",
        chosen="#eeeeee",
    ),
    "longwait-colorblind": replace(FULL["longwait-colorblind"], chosen="#303030"),
    "longwait-contrast": replace(FULL["longwait-contrast"], chosen="#303030"),
}
"""What is another on terminals of 256 colours, whose dark and pale shades are few: the nearest would be too near."""

SHIPPED: tuple[str, ...] = tuple(FULL)
"""The names of the console's own themes."""


def theme(name: str, colour_system: str | None = None) -> Theme:
    """Give one of the console's own themes.

    Args:
        name: One of ``SHIPPED``.
        colour_system: What the terminal can show, in Rich's words; None when that is not known.

    Raises:
        KeyError: It is none of them.
    """
    sets = FEW if colour_system in FEW_COLOURS else SOME if colour_system == SOME_COLOURS else FULL
    colours = sets[name]
    return Theme(
        name,
        primary=colours.primary,
        secondary=colours.primary,
        accent=colours.accent,
        foreground=colours.foreground,
        background=colours.background,
        surface=colours.surface,
        panel=colours.panel,
        boost=colours.surface,
        success=colours.good,
        warning=colours.warning,
        error=colours.bad,
        dark=colours.dark,
        variables={**_variables(colours), **(_REVERSED if name == COLOURLESS else {})},
    )


_REVERSED = {
    "block-cursor-text-style": "bold reverse",
    "input-cursor-text-style": "reverse",
    "button-focus-text-style": "bold reverse",
}
"""Marks that need no colour."""


def _variables(colours: Colours) -> dict[str, str]:
    """Give the variables that Textual would else mix from the others, and whose contrast would be chance."""
    return {
        "text": colours.foreground,
        "text-muted": colours.muted,
        "text-disabled": colours.muted,
        "text-primary": colours.primary,
        "text-secondary": colours.primary,
        "text-accent": colours.accent,
        "text-success": colours.good,
        "text-warning": colours.warning,
        "text-error": colours.bad,
        "foreground-muted": colours.muted,
        "foreground-disabled": colours.faint,
        "primary-muted": colours.faint,
        "accent-muted": colours.chosen,
        "warning-muted": colours.found,
        "error-muted": colours.found,
        "success-muted": colours.chosen,
        "border": colours.accent,
        "border-blurred": colours.faint,
        "block-cursor-background": colours.chosen,
        "block-cursor-foreground": colours.foreground,
        "block-cursor-blurred-background": colours.chosen,
        "block-cursor-blurred-foreground": colours.foreground,
        "block-hover-background": colours.chosen,
        "button-foreground": colours.foreground,
        "button-color-foreground": colours.background,
        "footer-background": colours.panel,
        "footer-foreground": colours.foreground,
        "footer-description-foreground": colours.foreground,
        "footer-key-foreground": colours.accent,
        "input-selection-background": colours.chosen,
        "input-selection-foreground": colours.foreground,
        "link-color": colours.primary,
        "scrollbar": colours.faint,
        "scrollbar-hover": colours.muted,
        "scrollbar-active": colours.muted,
        "scrollbar-background": colours.background,
        "scrollbar-corner-color": colours.background,
        "screen-selection-background": colours.chosen,
        "screen-selection-foreground": colours.foreground,
    }


def own_theme(name: str, given: Mapping[str, object]) -> Theme:
    """Give a theme of the operator's.

    Args:
        name: Its name.
        given: Textual's words for a theme: ``primary`` and, as wanted, ``secondary``, ``accent``, ``foreground``,
            ``background``, ``surface``, ``panel``, ``boost``, ``success``, ``warning``, ``error``, ``dark``, and
            ``variables``, a mapping of any of Textual's variables.
    """
    return Theme(name, **{key: value for key, value in given.items() if value is not None})  # type: ignore[arg-type]


def all_themes(colour_system: str | None, own: Iterable[Theme] = ()) -> list[Theme]:
    """Give what the app knows beside Textual's own; an operator's theme of the same name takes the place of ours."""
    ours = {name: theme(name, colour_system) for name in SHIPPED}
    return list({**ours, **{each.name: each for each in own}}.values())
