"""A view of lines, each cut at the right or broken into rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Size
from textual.reactive import reactive

from widgets.line_view import LineView
from widgets.log_rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterable


class BrokenView(LineView):
    """Knows which line stands in which row.

    Subclasses say how many lines there are, and how many rows each takes when it is broken.
    """

    wrap: reactive[bool] = reactive(False, init=False)
    """Whether long lines are broken into rows instead of being cut at the right."""

    _rows: Rows | None = None
    """The rows of each line; None while lines are cut."""

    @property
    def count(self) -> int:
        """Lines there are."""
        raise NotImplementedError

    def widest_line(self) -> int:
        """Give an upper bound for the cells of any line."""
        raise NotImplementedError

    def heights(self, start: int) -> Iterable[int]:
        """Give the rows of each line from one on, when lines are broken."""
        raise NotImplementedError

    @property
    def row_count(self) -> int:
        """Rows there are."""
        return self.count if self._rows is None else len(self._rows)

    def _at(self, row: int) -> tuple[int, int]:
        """Give the line in a row, and which of its rows it is."""
        return (row, 0) if self._rows is None else self._rows.at(row)

    def _row_of(self, line: int) -> int:
        return line if self._rows is None else self._rows.row_of(line)

    def _count_rows(self, came: int, gone: int) -> int:
        """Bring the rows up to date; gives how many went at the start."""
        if self._rows is None:
            return gone
        if came >= self.count:
            before = len(self._rows)
            self._break_again()
            return before
        rows = self._rows.drop(gone)
        self._rows.extend(self.heights(self.count - came))
        return rows

    def _break_again(self) -> None:
        self._rows = None
        if self.wrap:
            self._rows = Rows()
            self._rows.extend(self.heights(0))

    def _measure(self) -> None:
        """Tell the scrolling how much there is."""
        if self._rows is None:
            self.virtual_size = Size(self.widest_line(), self.count)
        else:
            self.virtual_size = Size(0, len(self._rows))
