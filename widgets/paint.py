"""Pieces of text, each in the style of a widget's part, put together as one content; never as markup."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from textual.content import Content

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.widget import Widget


def painted(widget: Widget, pieces: Iterable[tuple[str, str]]) -> Content:
    """Give pieces of clean text as content.

    Args:
        widget: The widget whose component classes give the styles.
        pieces: Text and the component class it is drawn in; "" for the widget's own style.
    """
    return Content.assemble(
        *(
            (text, widget.get_visual_style(part, partial=True)) if part else Content(text)
            for text, part in pieces
            if text
        )
    )


def joined(row: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Put neighbouring pieces of the same part together: a content is the slower to draw, the more pieces it has."""
    return [
        ("".join(text for text, _ in alike), part)
        for part, alike in ((part, list(group)) for part, group in groupby(row, key=lambda piece: piece[1]))
    ]
