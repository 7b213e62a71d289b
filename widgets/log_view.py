"""A bounded log that follows its end, holds still while it is read, and can be filtered and searched."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive

from widgets.follow_view import FollowView
from widgets.log_buffer import MAX_CHARACTERS, MAX_LINES, SIGN_CELLS, SIGNS, Change, Level, LogBuffer, LogText
from widgets.log_find import Finder, marked
from widgets.log_rows import breaks, part, rows_of
from widgets.log_title import EDGES, Shown, titled, with_note
from widgets.plain import LINE_LIMIT, clean, measured
from widgets.titled import Titled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["MAX_LINES", "SIGNS", "Level", "LogText", "LogView"]


def _indent(head: int, width: int) -> int:
    """Give how far the later rows of a line stand to the right: below its text, when enough width is left."""
    return head if head * 3 <= width else 0


class LogView(FollowView, Titled):  # Textual takes style and keys from the first base alone
    """The newest lines of a log.

    It follows the end. Scrolled up, it holds still and counts what comes in below; at the end it follows again. When
    the bound is reached while it holds still, the oldest lines go, and the view stays on the same text while it can.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "log-view--stamp",
        "log-view--info",
        "log-view--warning",
        "log-view--error",
        "log-view--quiet",
        "log-view--gap",
        "log-view--found",
        "log-view--cursor",
        "log-view--marked",
    }
    """Parts that CSS can reach: the stamp, the text by level, what was found, the line to act on, marked lines."""

    DEFAULT_CSS = """
    LogView {
        height: 1fr;
        border: round $foreground 25%;
        border-title-color: $foreground;
        &:focus { border: round $border; }
        &.-held { border: round $warning; }
        & > .log-view--stamp { color: $foreground-muted; }
        & > .log-view--warning { color: $text-warning; }
        & > .log-view--error { color: $text-error; text-style: bold; }
        & > .log-view--quiet { color: $foreground-muted; }
        & > .log-view--gap { color: $text-warning; text-style: italic; }
        & > .log-view--found { color: $text; background: $warning-muted; text-style: underline; }
        & > .log-view--cursor { background: $block-cursor-blurred-background; }
        & > .log-view--marked { background: $block-cursor-blurred-background 60%; }
        &:ansi > .log-view--cursor { text-style: reverse; }
    }
    """

    title: reactive[str] = reactive("")
    """What log this is; shown in the border with the state."""

    notes: reactive[tuple[str, ...]] = reactive[tuple[str, ...]](())
    """What else is said in the border, after all the rest, in ever fewer words: the first that fits, if one does."""

    filter: reactive[Finder | None] = reactive["Finder | None"](None)
    """Only lines in which this is found are shown; None for all."""

    only: reactive[tuple[str, Callable[[LogText], bool]] | None] = reactive[
        "tuple[str, Callable[[LogText], bool]] | None"
    ](None)
    """Of these only the lines for which this holds are shown, and the gaps; with the words for it. None for all."""

    search: reactive[Finder | None] = reactive["Finder | None"](None)
    """Lines in which this is found are counted and marked; None for none."""

    def __init__(
        self,
        title: str = "",
        *,
        max_lines: int = MAX_LINES,
        max_characters: int = MAX_CHARACTERS,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the name that all Textual widgets have for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._buffer = LogBuffer(max_lines, max_characters)
        self._shown_title = ""
        self.title = title

    def watch_title(self) -> None:
        """Write the border's title."""
        self._show_title()

    def watch_notes(self) -> None:
        """Write the border's title."""
        self._show_title()

    def watch_filter(self) -> None:
        """Show what passes the new filter, from its end."""
        self._choose()

    def watch_only(self) -> None:
        """Show what passes the new choice, from its end."""
        self._choose()

    def watch_search(self) -> None:
        """Count and mark what is looked for now."""
        self._buffer.look_for(self.search)
        self._show_title()
        self.refresh()

    def watch_following(self, following: bool) -> None:
        """Say whether it follows."""
        super().watch_following(following)
        self._show_title()

    def on_resize(self) -> None:
        """Say in the border as much as it has room for."""
        self._show_title()

    @property
    def count(self) -> int:
        """Lines that pass the filter."""
        return len(self._buffer.shown)

    @property
    def lines(self) -> Sequence[LogText]:
        """The lines that pass the filter, oldest first; a copy."""
        return tuple(self._buffer.shown)

    @property
    def kept(self) -> int:
        """Lines in memory, the filtered ones included."""
        return len(self._buffer.kept)

    @property
    def characters(self) -> int:
        """Characters in memory."""
        return self._buffer.characters

    @property
    def hits(self) -> int:
        """Shown lines in which what is looked for was found."""
        return self._buffer.hits

    @property
    def hit(self) -> int:
        """How many of them stand at the cursor or before it."""
        return self._buffer.rank(self.cursor)

    def append(self, lines: Iterable[LogText]) -> None:
        """Add lines at the end; the oldest go when there are too many."""
        change = self._buffer.add(lines)
        if change != Change(0, 0):
            self.lines_changed(change.came, change.gone)
        elif self.filter is not None or self.only is not None:
            self._growth.ask()  # the title counts the lines that do not pass, too

    def draw_growth(self) -> None:
        """Draw what came in, and count it in the border's title."""
        self._show_title()
        super().draw_growth()

    def clear(self) -> None:
        """Forget all lines and follow."""
        self._buffer.clear()
        self._show_again()

    def go_to_hit(self, *, back: bool) -> bool:
        """Go to the next line that was found, or the former; whether there is one."""
        return self._go_if(self._buffer.next_hit(self.cursor, back=back))

    def go_to_nearest_hit(self) -> bool:
        """Go to the newest line found at the cursor or above it, else to the next below; whether there is one."""
        above = self._buffer.next_hit(self.cursor + 1, back=True)
        return self._go_if(above if above is not None else self._buffer.next_hit(self.cursor, back=False))

    def go_to_level(self, level: Level, *, back: bool) -> bool:
        """Go to the next line of a level, or the former; whether there is one."""
        return self._go_if(self._buffer.next_level(self.cursor, level, back=back))

    def chosen(self) -> list[str]:
        """Give the marked lines as they were written, or those in sight when none are marked."""
        places = self.marked or self.in_sight
        return [self._buffer.shown[place].original for place in places if place < self.count]

    def line_at_cursor(self) -> str:
        """Give the line to act on as it was written; nothing when there is none."""
        return self._buffer.shown[self.cursor].original if self.count else ""

    def pieces(self, index: int) -> Iterable[tuple[str, str]]:
        """Give a line: its stamp, the sign of its level, its text."""
        if not 0 <= index < self.count:
            return ()
        line = self._buffer.shown[index]
        stamp = f"{clean(line.stamp)} " if line.stamp else ""
        text, _ = measured(line.text)
        name = f"log-view--{line.level}"
        found = marked(text, self.search or self.filter, name, "log-view--found")
        return ((stamp, "log-view--stamp"), (SIGNS[line.level], name), *found)

    def row_pieces(self, row: int) -> Iterable[tuple[str, str]]:
        """Give a line, or a row of it when lines are broken."""
        index, place = self._at(row)
        whole = list(self.pieces(index))
        if self._rows is None or not whole:
            return whole
        text, indent = self._layout(self._buffer.shown[index])
        places = breaks(text, self.text_width, indent)
        if place >= len(places):
            return ()
        rest = part(whole, *places[place])
        return [(" " * indent, ""), *rest] if place else rest

    def row_part(self, row: int) -> str:
        """Show the line to act on while the view has the focus, and the marked ones."""
        index, _ = self._at(row)
        if self.has_focus and index == self.cursor:
            return "log-view--cursor"
        return "log-view--marked" if index in self.marked else ""

    def widest_line(self) -> int:
        """Give an upper bound for the cells of any line."""
        return self._buffer.width

    def heights(self, start: int) -> Iterable[int]:
        """Give the rows of each line from one on, when lines are broken."""
        width = self.text_width
        for line in islice(self._buffer.shown, start, None):
            if (
                line.text.isascii()
                and line.text.isprintable()
                and line.stamp.isascii()
                and len(line.text) <= LINE_LIMIT
            ):
                # Nearly every line; its cells are its characters, so that it need not be cleaned to be measured.
                head = len(line.stamp) + bool(line.stamp) + SIGN_CELLS
                yield rows_of(head + len(line.text), width, _indent(head, width))
            else:
                text, indent = self._layout(line)
                yield len(breaks(text, width, indent))

    def _layout(self, line: LogText) -> tuple[str, int]:
        """Give the whole text of a line, and how far its later rows are moved to the right."""
        head = (f"{clean(line.stamp)} " if line.stamp else "") + SIGNS[line.level]
        return head + clean(line.text), _indent(cell_len(head), self.text_width)

    def _choose(self) -> None:
        self._buffer.choose(self.filter, self.only[1] if self.only is not None else None)
        self._show_again()

    def _show_again(self) -> None:
        """Show another choice of lines, from its end."""
        self.lines_replaced()
        self._show_title()

    def _go_if(self, index: int | None) -> bool:
        if index is not None:
            self.go_to(index, middle=True)
            self._bring_found_in_sight(index)
        self._show_title()
        return index is not None

    def _bring_found_in_sight(self, index: int) -> None:
        """Scroll sideways to the first place found, when a line is cut before it."""
        before = ""
        for text, name in self.pieces(index) if self._rows is None else ():
            if name == "log-view--found":
                end = cell_len(before + text)
                across = 0 if end < self.text_width else max(0, end - self.text_width // 2)
                self.scroll_to(x=across, animate=False, force=True)
                return
            before += text

    def _show_title(self) -> None:
        """Write name, state, what is shown and what is looked for into the border."""
        shown = Shown(self.title, self.held if not self.following else None, self.count, self.kept, self.hit, self.hits)
        only = self.only[0] if self.only is not None else ""
        said = titled(shown, self.filter, only, self.search)
        title = with_note(said, self.notes, self.outer_size.width - EDGES)
        if title != self._shown_title:
            self._shown_title = title
            self.retitle(Content(title))
