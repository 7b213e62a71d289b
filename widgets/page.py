"""A page of plain Markdown to be read and searched: headings, paragraphs, lists; bold, italic and code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.content import Content
from textual.reactive import reactive
from textual.visual import Visual
from textual.widget import Widget

from widgets.log_find import Finder, spans
from widgets.plain import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual.geometry import Size
    from textual.strip import Strip

Kind = Literal["heading", "paragraph", "item"]
"""What a block is."""

_INLINE = re.compile(r"\\(?P<escaped>.)|`(?P<code>[^`]+)`|\*\*(?P<bold>.+?)\*\*|\*(?P<italic>[^*\s][^*]*?)\*")
"""Marks within a line, the first that begins wins."""

_STYLES = {"code": "bold", "bold": "bold", "italic": "italic"}

_LEAST = 8
"""Cells of text below which a list is not moved to the right."""


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, a paragraph or an item of a list.

    Attributes:
        kind: Which of them.
        pieces: Its text in pieces, each with its style or "".
        section: Its heading, as a number from 0; a heading is of its own section, what stands before any is of -1.
    """

    kind: Kind
    pieces: tuple[tuple[str, str], ...]
    section: int

    @property
    def text(self) -> str:
        """The text without marks."""
        return "".join(text for text, _ in self.pieces)


def inline(text: str) -> tuple[tuple[str, str], ...]:
    """Cut a text at its marks; what is no mark, an unpaired star for instance, stands for itself.

    Args:
        text: One line of Markdown.
    """
    pieces: list[tuple[str, str]] = []
    done = 0
    for found in _INLINE.finditer(text):
        pieces.append((text[done : found.start()], ""))
        name = found.lastgroup or ""
        pieces.append((clean(found[name]), _STYLES.get(name, "")))
        done = found.end()
    return tuple((clean(piece), style) for piece, style in (*pieces, (text[done:], "")) if piece)


def blocks(markdown: str) -> tuple[Block, ...]:
    """Read Markdown as far as a help page needs it; anything else is a paragraph.

    Args:
        markdown: Lines; a line that goes on in the next is joined with it.
    """
    found: list[Block] = []
    section = -1
    for kind, text in _joined(markdown.splitlines()):
        section += kind == "heading"
        found.append(Block(kind, inline(text), section))
    return tuple(found)


def _joined(lines: Sequence[str]) -> Iterator[tuple[Kind, str]]:
    """Give each block as one line."""
    kind: Kind | None = None
    text = ""
    for line in (*lines, ""):
        begins = _kind_of(line)
        if begins is None and line.strip() and kind not in {None, "heading"}:
            text += f" {line.strip()}"
            continue
        if kind is not None:
            yield kind, text
        kind, text = begins, line.lstrip("#- ").strip() if begins else ""
        if begins is None and line.strip():
            kind, text = "paragraph", line.strip()


def _kind_of(line: str) -> Kind | None:
    """Tell what begins with a line; None for a paragraph, or nothing."""
    if line.startswith("#"):
        return "heading"
    return "item" if line.lstrip().startswith("- ") else None


class Page(Widget):
    """The blocks of a page, wrapped; with a search, only those in which it is found, below their headings."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"page--heading", "page--found", "page--here"}
    """Parts that CSS can reach: headings, what was found, and the same where one has gone to."""

    DEFAULT_CSS = """
    Page {
        width: 1fr;
        height: auto;
        & > .page--heading { color: $text-accent; text-style: bold; }
        & > .page--found { color: $text; background: $warning-muted; text-style: underline; }
        & > .page--here { text-style: reverse; }
    }
    """

    search: reactive[Finder | None] = reactive["Finder | None"](None, layout=True)
    """What is looked for; None shows the whole page."""

    here: reactive[int] = reactive(-1)
    """Which of the found blocks one has gone to, from 0; -1 for none."""

    def __init__(self, markdown: str = "", *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        """Take the page."""
        super().__init__(id=id)
        self._markdown = markdown
        self._blocks = blocks(markdown)
        self._wrapped: tuple[int, list[Content], list[int]] | None = None

    def show(self, markdown: str) -> None:
        """Show another page, all of it; the same one costs nothing."""
        self.search = None
        self.here = -1
        if markdown != self._markdown:
            self._markdown, self._blocks, self._wrapped = markdown, blocks(markdown), None
            self.refresh(layout=True)

    @property
    def count(self) -> int:
        """Paragraphs and items there are."""
        return sum(block.kind != "heading" for block in self._blocks)

    @property
    def found(self) -> tuple[Block, ...]:
        """Paragraphs and items in which the search is found; all of them without one."""
        return tuple(block for block in self._shown() if block.kind != "heading")

    def row_of(self, number: int) -> int:
        """Give the row in which a found block begins.

        Args:
            number: Which of the found blocks, from 0.
        """
        _, _, rows = self._lines(self.content_size.width)
        return rows[number] if 0 <= number < len(rows) else 0

    def watch_search(self) -> None:
        """Go to none of what is found anew."""
        self._wrapped = None
        self.here = -1

    def watch_here(self) -> None:
        """Show where one has gone to."""
        self._wrapped = None

    def notify_style_update(self) -> None:
        """Put the lines together anew in the colours of another theme."""
        super().notify_style_update()
        self._wrapped = None

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's own
        """Give the rows of the page in a width."""
        return max(1, len(self._lines(width)[1]))

    def render(self) -> Content:
        """Give all of it; it is drawn line by line, but for a selection."""
        return Content("\n").join(self._lines(self.content_size.width)[1])

    def render_line(self, y: int) -> Strip:
        """Draw one row: what scrolls it shows a part, and only that is drawn."""
        if self.text_selection is not None:
            return super().render_line(y)
        width, rows = self.content_size.width, self._lines(self.content_size.width)[1]
        row = rows[y] if y < len(rows) else Content()
        return Visual.to_strips(self, row, width, 1, self.visual_style)[0].apply_offsets(0, y)

    def _passes(self, block: Block) -> bool:
        return self.search is None or self.search.search(block.text) is not None

    def _shown(self) -> tuple[Block, ...]:
        """Give the blocks that are shown; a heading that is found brings all of its section."""
        named = {b.section for b in self._blocks if b.kind == "heading" and spans(self.search, b.text)}
        kept = [b for b in self._blocks if b.kind != "heading" and (self._passes(b) or b.section in named)]
        sections = {block.section for block in kept}
        return tuple(b for b in self._blocks if b in kept or (b.kind == "heading" and b.section in sections))

    def _lines(self, width: int) -> tuple[int, list[Content], list[int]]:
        """Give the rows, and in which of them each paragraph and item begins."""
        if self._wrapped is None or self._wrapped[0] != width:
            lines: list[Content] = []
            rows: list[int] = []
            for block in self._shown():
                if lines and block.kind != "item":
                    lines.append(Content())
                if block.kind != "heading":
                    rows.append(len(lines))
                lines += self._rows(
                    block, max(1, width), is_here=block.kind != "heading" and len(rows) - 1 == self.here
                )
            self._wrapped = width, lines, rows
        return self._wrapped

    def _rows(self, block: Block, width: int, *, is_here: bool) -> list[Content]:
        """Wrap one block, with what is found in it marked."""
        if block.kind != "heading" and self.search is None:
            return [*_plain_rows(block.kind, block.pieces, width)]
        content = Content.assemble(*((text, style) for text, style in block.pieces))
        if block.kind == "heading":
            content = content.stylize(self.get_visual_style("page--heading", partial=True))
        part = "page--here" if is_here else "page--found"
        for start, end in spans(self.search, content.plain):
            content = content.stylize(self.get_visual_style(part, partial=True), start, end)
        return _hung(content, block.kind, width)


@lru_cache(maxsize=512)
def _plain_rows(kind: Kind, pieces: tuple[tuple[str, str], ...], width: int) -> tuple[Content, ...]:
    """Wrap a block in which nothing is marked: a page that is opened anew, and is much as it was, costs little."""
    return tuple(_hung(Content.assemble(*pieces), kind, width))


def _hung(content: Content, kind: Kind, width: int) -> list[Content]:
    """Wrap a text; the rows of an item after its first stand below its text."""
    indent = 2 if kind == "item" and width >= _LEAST else 0
    wrapped = content.wrap(width - indent)
    heads = [Content("• " if indent else ""), *[Content(" " * indent)] * (len(wrapped) - 1)]
    return [Content.assemble(head, line) for head, line in zip(heads, wrapped, strict=True)]
