"""How the console is coloured: five themes of its own, Textual's, and the operator's.

The five are calm (nothing is coloured that means nothing), and told apart by what they are for. Their text has a
contrast of at least 4.5:1 to what it stands on (WCAG 2.1, success criterion 1.4.3), as drawn, on terminals of 16
million, 256 and 16 colours; ``longwait-contrast`` has 7:1 on the first two. On 16 colours another set stands in for
each theme, made of the 16 alone: what a terminal makes of other colours by itself may be unreadable. The colours stand
in ``theme_colours``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.theme import Theme

from console.theme_colours import FEW, FULL, SOME, Colours

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
