"""The looks that the settings ask for: theme, themes of the operator's own, characters; and what is wrong with them."""

from __future__ import annotations

import os
from difflib import get_close_matches
from typing import TYPE_CHECKING

from msgspec.structs import asdict
from platformdirs import user_config_path
from textual.theme import BUILTIN_THEMES

from console.looks import Looks
from console.themes import SHIPPED, own_theme

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from console.config import Settings
    from console.config_theme import ThemeSettings


class NoSuchTheme(Exception):  # noqa: N818 - what happened, like the other errors for people
    """The config names a theme that there is none of; the message is a sentence for a person."""


def themes_path() -> Path:
    """Give the file of the operator's own themes, for all runs."""
    return user_config_path("longwait") / "themes.yaml"


def wanted_looks(settings: Settings | None, themes_file: Path | None = None) -> Looks:
    """Give the looks for a terminal.

    Args:
        settings: The run's; None where there are none, as for a demo.
        themes_file: The file of own themes; None for the usual one. One that is not there names none.

    Raises:
        ConfigError: That file can't be used, with all faults and their lines.
        NoSuchTheme: The theme that the settings name is neither ours, nor Textual's, nor the operator's.
    """
    own = {**_themes_of(themes_file or themes_path()), **(settings.themes if settings is not None else {})}
    name = (settings.theme if settings is not None else None) or ""
    known = [*SHIPPED, *own, *BUILTIN_THEMES]
    if name and name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}."
        raise NoSuchTheme(f"theme: there is no theme {name}; {hint}")
    themes = tuple(own_theme(each, asdict(given)) for each, given in own.items())
    return Looks(name, themes, settings.ascii if settings is not None else None, dict(os.environ))


def _themes_of(path: Path) -> Mapping[str, ThemeSettings]:
    if not path.exists():
        return {}
    from console.config_file import load_themes  # noqa: PLC0415 - few have such a file

    return load_themes(path).themes
