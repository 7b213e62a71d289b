"""Text from the screen to where the operator can paste it: the terminal's clipboard, and a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from console import clipboard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.screen import Screen


def copy_out(screen: Screen[Any], lines: Sequence[str]) -> None:
    """Copy to where the terminal takes it (OSC 52) and into a file, and tell the operator where it is.

    Args:
        screen: The screen from which it is copied.
        lines: What is copied; nothing is told of as such.
    """
    if not lines:
        screen.notify("There is nothing to copy here.", markup=False)
        return
    text = "".join(f"{line}\n" for line in lines) if len(lines) > 1 else lines[0]
    size = len(text.encode("utf-8", "replace"))
    if size <= clipboard.MOST_BYTES:
        screen.app.copy_to_clipboard(text)
    path = clipboard.copies_path()
    try:
        clipboard.keep(text, path)
    except clipboard.NotKept as error:
        screen.notify(str(error), severity="warning", markup=False)
        return
    much = "1 line" if len(lines) == 1 else f"{len(lines):,} lines"
    where = f"by OSC 52 and into {clipboard.short(path)}"
    if size > clipboard.MOST_BYTES:
        where = f"into {clipboard.short(path)} only: {size:,} bytes are more than a terminal's clipboard takes"
    screen.notify(f"Copied {much} {where}.", markup=False)
