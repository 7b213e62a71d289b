"""A theme of the operator's, as it stands in the config or in ``themes.yaml`` beside it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, field_validator


class ThemeSettings(BaseModel):
    """Colours in Textual's words, as CSS knows them: ``#1c5a9c``, ``ansi_red``, ``steelblue``; the rest is mixed."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    primary: str
    """Bars and titles; the one that must be given."""
    secondary: str | None = None
    """Beside it."""
    accent: str | None = None
    """What has the focus, and the keys."""
    foreground: str | None = None
    """Text."""
    background: str | None = None
    """Below all."""
    surface: str | None = None
    """Below lists and dialogs."""
    panel: str | None = None
    """Below the top line and the keys."""
    boost: str | None = None
    """Laid over the panel."""
    success: str | None = None
    """All is well."""
    warning: str | None = None
    """Look at it."""
    error: str | None = None
    """Do something."""
    dark: bool = True
    """Whether the background is dark."""
    variables: dict[str, str] = {}
    """Any of Textual's variables, `text-muted` or `footer-key-foreground` for instance, in place of what is mixed."""

    @field_validator(
        "primary",
        "secondary",
        "accent",
        "foreground",
        "background",
        "surface",
        "panel",
        "boost",
        "success",
        "warning",
        "error",
    )
    @classmethod
    def _is_colour(cls, value: str | None) -> str | None:
        if value is not None:
            # Imported where a theme is: nobody else need wait for it.
            from textual.color import Color, ColorParseError  # noqa: PLC0415

            try:
                Color.parse(value)
            except ColorParseError as error:
                raise ValueError(f"is no colour, such as '#1c5a9c' (in quotes) or steelblue: {value!r}") from error
        return value


class ThemesFile(BaseModel):
    """A file of themes: the section ``themes`` of a config, and nothing else."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    themes: dict[str, ThemeSettings]
    """Themes by name."""
