"""A word or a figure three rows high, for what has to be seen from across the room."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from widgets.plain import clean, fit

if TYPE_CHECKING:
    from textual.geometry import Size

ROWS = 3
"""Rows of large text: five halves of a row, and one left free below."""

_DOTS = {
    "0": "### #.# #.# #.# ###",
    "1": ".# ## .# .# .#",
    "2": "### ..# ### #.. ###",
    "3": "### ..# ### ..# ###",
    "4": "#.# #.# ### ..# ..#",
    "5": "### #.. ### ..# ###",
    "6": "### #.. ### #.# ###",
    "7": "### ..# ..# ..# ..#",
    "8": "### #.# ### #.# ###",
    "9": "### #.# ### ..# ###",
    "-": "... ... ### ... ...",
    "A": ".#. #.# ### #.# #.#",
    "B": "##. #.# ##. #.# ##.",
    "C": "### #.. #.. #.. ###",
    "D": "##. #.# #.# #.# ##.",
    "E": "### #.. ##. #.. ###",
    "H": "#.# #.# ### #.# #.#",
    "I": "# # # # #",
    "L": "#.. #.. #.. #.. ###",
    "N": "#..# ##.# #.## #..# #..#",
    "R": "##. #.# ##. #.# #.#",
    "T": "### .#. .#. .#. .#.",
    "V": "#.# #.# #.# #.# .#.",
    "W": "#...# #...# #.#.# #.#.# .#.#.",
    "✓": "....# ...#. #.#.. .#... .....",
    "✗": "#.# #.# .#. #.# #.#",
    "!": "# # # . #",
    "?": "### ..# .## ... .#.",
}
"""Five rows of dots for each character that can be large: the figures, and the letters of the words that need it."""

_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
"""Two dots above one another in one cell; these three characters are in the oldest sets, the Linux console's too."""


def _drawn(character: str) -> tuple[str, ...]:
    """Give a character's three rows."""
    dots = [*_DOTS[character].split(), ""]
    dots[-1] = "." * len(dots[0])
    pairs = zip(dots[::2], dots[1::2], strict=True)
    return tuple("".join(_HALVES[a == "#", b == "#"] for a, b in zip(*pair, strict=True)) for pair in pairs)


def enlarged(text: str) -> tuple[str, ...]:
    """Give a text as three rows of equal width.

    A character without a large shape stands in the lowest row as it is: a unit beside its figure.

    Args:
        text: Clean text.
    """
    rows = ["", "", ""]
    for is_large, group in groupby(text, key=_DOTS.__contains__):
        run = "".join(group)
        parts = [_drawn(character) for character in run] if is_large else []
        added = [" ".join(part[row] for part in parts) for row in range(ROWS)] if is_large else ["", "", run]
        cells = max(map(cell_len, added))
        rows = [row + part + " " * (cells - cell_len(part)) for row, part in zip(rows, added, strict=True)]
    return tuple(rows)


class Large(Widget):
    """One short text: three rows high where that is wanted and fits, else one row."""

    DEFAULT_CSS = """
    Large { width: auto; height: auto; text-style: bold; text-wrap: nowrap; }
    """

    text: reactive[str] = reactive("", layout=True)
    """What is said."""

    tall: reactive[bool] = reactive(False, layout=True)
    """Whether it may take three rows."""

    def __init__(
        self,
        text: str = "",
        *,
        tall: bool = False,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the name that all Textual widgets have for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.set_reactive(Large.text, text)
        self.set_reactive(Large.tall, tall)

    def get_content_width(self, container: Size, viewport: Size) -> int:  # noqa: ARG002 - Textual's own
        """Give the cells of the text as it would like to be drawn."""
        return cell_len(enlarged(clean(self.text))[0]) if self.tall else cell_len(clean(self.text))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's own
        """Give the rows that it takes in a width."""
        return ROWS if self._is_large(width) else 1

    def render(self) -> Content:
        """Draw it for the room there is."""
        text, room = clean(self.text), self.content_size
        if self._is_large(room.width) and room.height >= ROWS:
            return Content("\n".join(enlarged(text)))
        return Content(fit(text, room.width))

    def _is_large(self, width: int) -> bool:
        return self.tall and cell_len(enlarged(clean(self.text))[0]) <= width
