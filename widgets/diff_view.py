"""A unified diff, scrolled, its lines told apart by their first character and by colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.reactive import reactive

from widgets.line_view import LineView
from widgets.plain import measured, widest

if TYPE_CHECKING:
    from collections.abc import Iterable


def part_of(line: str) -> str:
    """Give the component class of a line of a unified diff, or "" for context.

    Args:
        line: One line. ``---`` and ``+++`` name the files, and are told from a removed or added line by the space
            after them, as ``diff -u`` writes it.
    """
    if line.startswith(("--- ", "+++ ")):
        return "diff-view--file"
    return {"+": "diff-view--added", "-": "diff-view--removed", "@": "diff-view--place"}.get(line[:1], "")


class DiffView(LineView):
    """The lines of a diff."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "scroll_left", "Left", show=False),
        Binding("right,l", "scroll_right", "Right", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "diff-view--file",
        "diff-view--place",
        "diff-view--added",
        "diff-view--removed",
    }
    """Parts that CSS can reach: the files' names, the ``@@`` lines, what is added, what is removed."""

    DEFAULT_CSS = """
    DiffView {
        height: auto;
        & > .diff-view--file { text-style: bold; }
        & > .diff-view--place { color: $text-accent; }
        & > .diff-view--added { color: $text-success; }
        & > .diff-view--removed { color: $text-error; }
    }
    """

    lines: reactive[tuple[str, ...]] = reactive[tuple[str, ...]](())
    """The diff's lines, without line ends."""

    def __init__(
        self,
        lines: tuple[str, ...] = (),
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the name that all Textual widgets have for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.lines = lines

    def watch_lines(self) -> None:
        """Measure anew."""
        self.virtual_size = Size(max(map(widest, self.lines), default=0), len(self.lines))
        self.refresh(layout=True)

    def pieces(self, index: int) -> Iterable[tuple[str, str]]:
        """Give a line in the style of its kind."""
        if not 0 <= index < len(self.lines):
            return ()
        text, _ = measured(self.lines[index])
        return ((text, part_of(text)),)
