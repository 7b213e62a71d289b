"""A view of lines that grow at their end: it follows, holds still while it is read, and has a line to act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive

from widgets.broken_view import BrokenView
from widgets.pace import Pace

if TYPE_CHECKING:
    from textual import events


DRAWN_EVERY_S = 0.1
"""Seconds between two drawings of lines that pour in: nobody reads faster, and keys wait for each of them."""


class FollowView(BrokenView):
    """Follows its end; a line that is gone to, or a scroll, makes it hold still until the end is reached again."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("end", "follow_end", "Follow", tooltip="Go to the newest line and follow", id="log-follow"),
        Binding("G", "follow_end", "Follow", show=False),
        Binding("up,k", "go_by(-1)", "Line up", show=False),
        Binding("down,j", "go_by(1)", "Line down", show=False),
        Binding("pageup", "page_up", "Page up", show=False),
        Binding("pagedown", "page_down", "Page down", show=False),
        Binding("ctrl+u", "half_page(-1)", "Half a page up", show=False),
        Binding("ctrl+d", "half_page(1)", "Half a page down", show=False),
        Binding("home,g", "go_first", "First line", show=False),
        Binding("shift+up", "mark_by(-1)", "Mark up", show=False),
        Binding("shift+down", "mark_by(1)", "Mark down", show=False),
        Binding("v", "mark", "Mark lines", show=False),
    ]
    """The rest of the keys are those of any scrolling container."""

    following: reactive[bool] = reactive(True, init=False)
    """Whether the newest line is kept in sight."""

    held: reactive[int] = reactive(0)
    """Shown lines that came in while the view holds still."""

    class FollowingChanged(Message):
        """The view began to follow, or to hold still."""

        def __init__(self, view: FollowView, following: bool) -> None:
            super().__init__()
            self.view = view
            self.following = following

        @property
        def control(self) -> FollowView:
            """The view that this is about."""
            return self.view

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the name that all Textual widgets have for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._cursor = 0
        self._anchor: int | None = None
        self._own_scroll = False
        self._growth = Pace(self, DRAWN_EVERY_S, self.draw_growth)

    # ------------------------------------------------------------ what others may ask

    @property
    def cursor(self) -> int:
        """The line to act on: the newest while following; -1 when there is none."""
        last = self.count - 1
        return last if self.following else min(self._cursor, last)

    @property
    def marked(self) -> range:
        """The lines that are marked; none as long as nobody marked any."""
        if self._anchor is None:
            return range(0)
        low, high = sorted((min(self._anchor, self.count - 1), self.cursor))
        return range(low, high + 1)

    @property
    def in_sight(self) -> range:
        """The lines of which something is in sight."""
        top = round(self.scroll_y)
        rows = self.row_count
        bottom = min(rows, top + self.size.height)
        return range(self._at(top)[0], self._at(bottom - 1)[0] + 1) if bottom > top else range(0)

    def follow(self) -> None:
        """Go to the newest line and follow."""
        self._anchor = None
        self._go_to_end()
        self.following = True
        self.refresh()

    def go_to(self, index: int, *, middle: bool = False) -> None:
        """Go to a line and hold still there; the newest is followed.

        Args:
            index: The line; outside of what there is, the nearest.
            middle: Bring it to the middle of the view when it is not in sight.
        """
        last = self.count - 1
        if last < 0:
            return
        self._cursor = max(0, min(index, last))
        self.following = self._cursor == last
        if self.following:
            self._go_to_end()
        else:
            self._bring_in_sight(self._cursor, middle=middle)
        self.refresh()

    # ------------------------------------------------------------ changes

    def lines_changed(self, came: int, gone: int) -> None:
        """Bring the view to where it belongs after lines came at the end and went at the start."""
        rows_gone = self._count_rows(came, gone)
        top = round(self.scroll_y)  # fewer rows in all can move the view by themselves
        self._measure()
        self._cursor = max(0, self._cursor - gone)
        if self._anchor is not None:
            self._anchor = max(0, self._anchor - gone)
        if self.following:
            self._go_to_end()
        else:
            self.held += came
            if rows_gone:
                self._scroll_down_to(max(0, top - rows_gone))
        self._growth.ask()

    def draw_growth(self) -> None:
        """Draw what came in; at once for the first lines, some times a second while they pour in."""
        self.refresh()

    def lines_replaced(self) -> None:
        """Show another choice of lines, from its end."""
        self._break_again()
        self._measure()
        self.follow()

    def watch_following(self, following: bool) -> None:
        """Forget what was held back, and tell the parent."""
        self.set_class(not following, "-held")
        if following:
            self.held = 0
        self.post_message(self.FollowingChanged(self, following))

    def watch_wrap(self) -> None:
        """Break the lines, or cut them, with the same line in sight."""
        line = self.cursor
        self._break_again()
        self._measure()
        if self.is_attached:
            self.scroll_to(x=0, animate=False, force=True)
        self._settle(line)

    def watch_scroll_target_y(self, target: float) -> None:
        """Hold still when somebody scrolls up, follow when the end is reached.

        The target is watched, not the position: that moves in steps too small to tell from standing at the end.
        """
        if self._own_scroll:
            return
        before = self.cursor
        top = round(target)
        last_row = min(self.virtual_size.height - 1, top + self.size.height - 1)
        self._cursor = max(self._at(top)[0], min(before, self._at(last_row)[0]))
        self.following = top >= self.max_scroll_y
        self.refresh()

    def on_resize(self) -> None:
        """Keep the end in sight, or the line that was gone to, in a view of another size."""
        line = self.cursor
        if self.wrap:
            self._break_again()
            self._measure()
        self._settle(line)

    def on_click(self, event: events.Click) -> None:
        """Go to the line that was clicked."""
        row = round(self.scroll_y) + event.y - self.gutter.top
        if 0 <= row < self.virtual_size.height:
            self.go_to(self._at(row)[0])

    # ------------------------------------------------------------ actions

    def action_follow_end(self) -> None:
        """Go to the newest line and follow."""
        self.follow()

    def action_go_by(self, lines: int) -> None:
        """Go some lines down, or up."""
        self.go_to(self.cursor + lines)

    def action_go_first(self) -> None:
        """Go to the oldest line."""
        self.go_to(0)

    def action_page_up(self) -> None:
        """Go a page up."""
        self._page(-1, max(1, self.size.height - 1))

    def action_page_down(self) -> None:
        """Go a page down."""
        self._page(1, max(1, self.size.height - 1))

    def action_half_page(self, pages: int) -> None:
        """Go half a page down, or up."""
        self._page(pages, max(1, self.size.height // 2))

    def action_mark(self) -> None:
        """Mark lines from here on, or unmark them."""
        self._anchor = self.cursor if self._anchor is None else None
        self._hold()

    def action_mark_by(self, lines: int) -> None:
        """Mark some more lines down, or up."""
        if self._anchor is None:
            self._anchor = self.cursor
        self.go_to(self.cursor + lines)

    def unmark(self) -> None:
        """Mark no line any more."""
        self._anchor = None
        self.refresh()

    # ------------------------------------------------------------ rows

    def _hold(self) -> None:
        """Hold still where it stands."""
        self._cursor = max(0, self.cursor)
        self.following = self.following and self._anchor is None
        self.refresh()

    def _page(self, pages: int, step: int) -> None:
        row = self._row_of(self.cursor) + pages * step
        self._scroll_down_to(round(self.scroll_y) + pages * step)
        self.go_to(self._at(max(0, row))[0])

    def _settle(self, line: int) -> None:
        """Keep a line in sight after rows were made anew."""
        if self.following:
            self._go_to_end()
        else:
            self._bring_in_sight(line, middle=True)
        self.refresh()

    def _bring_in_sight(self, line: int, *, middle: bool) -> None:
        top, height = round(self.scroll_y), self.size.height
        first, end = self._row_of(line), self._row_of(line + 1)
        if top <= first and end <= top + height:
            return
        if middle:
            self._scroll_down_to(first - height // 2)
        else:
            self._scroll_down_to(first if first < top else min(first, end - height))

    def _go_to_end(self) -> None:
        self._scroll_down_to(self.max_scroll_y)

    def _scroll_down_to(self, row: int) -> None:
        """Scroll to a row, if there is a view to scroll; what it follows is for the caller to say."""
        if self.is_attached:
            self._own_scroll = True
            self.scroll_to(y=row, animate=False, force=True)
            self._own_scroll = False
