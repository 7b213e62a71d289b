"""A theme of the operator's, as it stands in the config or in ``themes.yaml`` beside it."""

from __future__ import annotations

from typing import Annotated

import msgspec

from console.config_model import Check, Model


def _is_colour(value: str) -> str:
    # Imported where a theme is: nobody else need wait for it.
    from textual.color import Color, ColorParseError  # noqa: PLC0415

    try:
        Color.parse(value)
    except ColorParseError as error:
        raise ValueError(f"is no colour, such as '#1c5a9c' (in quotes) or steelblue: {value!r}") from error
    return value


Colour = Annotated[str, Check(_is_colour)]


class ThemeSettings(Model, frozen=True, kw_only=True):
    """Colours in Textual's words, as CSS knows them: ``#1c5a9c``, ``ansi_red``, ``steelblue``; the rest is mixed."""

    primary: Colour
    """Bars and titles; the one that must be given."""
    secondary: Colour | None = None
    """Beside it."""
    accent: Colour | None = None
    """What has the focus, and the keys."""
    foreground: Colour | None = None
    """Text."""
    background: Colour | None = None
    """Below all."""
    surface: Colour | None = None
    """Below lists and dialogs."""
    panel: Colour | None = None
    """Below the top line and the keys."""
    boost: Colour | None = None
    """Laid over the panel."""
    success: Colour | None = None
    """All is well."""
    warning: Colour | None = None
    """Look at it."""
    error: Colour | None = None
    """Do something."""
    dark: bool = True
    """Whether the background is dark."""
    variables: dict[str, str] = msgspec.field(default_factory=dict)
    """Any of Textual's variables, `text-muted` or `footer-key-foreground` for instance, in place of what is mixed."""


class ThemesFile(Model, frozen=True, kw_only=True):
    """A file of themes: the section ``themes`` of a config, and nothing else."""

    themes: dict[str, ThemeSettings]
    """Themes by name."""
