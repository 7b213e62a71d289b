"""A bounded log that follows its end, holds still while it is read, and can be filtered."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive

from widgets.line_view import LineView
from widgets.log_buffer import MAX_LINES, SIGNS, Change, Level, LogBuffer, LogText
from widgets.plain import clean, measured

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Sequence

__all__ = ["MAX_LINES", "SIGNS", "Level", "LogText", "LogView"]


class LogView(LineView):
    """The newest lines of a log.

    It follows the end. Scrolled up, it holds still and counts what comes in below; at the end it follows again. When
    the bound is reached while it holds still, the oldest lines go, and the view stays on the same text while it can.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("end", "follow_end", "Follow", tooltip="Go to the newest line and follow", id="log-follow"),
    ]
    """The rest of the keys are those of any scrolling container."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "log-view--stamp",
        "log-view--info",
        "log-view--warning",
        "log-view--error",
        "log-view--quiet",
    }
    """Parts that CSS can reach: the stamp, and the text by level."""

    DEFAULT_CSS = """
    LogView {
        height: 1fr;
        border: round $foreground 25%;
        border-title-color: $foreground;
        &:focus { border: round $border; }
        &.-held { border: round $warning; }
        & > .log-view--stamp { color: $foreground 60%; }
        & > .log-view--warning { color: $text-warning; }
        & > .log-view--error { color: $text-error; text-style: bold; }
        & > .log-view--quiet { color: $foreground 60%; }
    }
    """

    title: reactive[str] = reactive("")
    """What log this is; shown in the border with the state."""

    filter: reactive[re.Pattern[str] | None] = reactive["re.Pattern[str] | None"](None)
    """Only lines in which this is found are shown; None for all."""

    following: reactive[bool] = reactive(True, init=False)
    """Whether the newest line is kept in sight."""

    held: reactive[int] = reactive(0)
    """Shown lines that came in while the view holds still."""

    class FollowingChanged(Message):
        """The view began to follow, or to hold still."""

        def __init__(self, log_view: LogView, following: bool) -> None:
            super().__init__()
            self.log_view = log_view
            self.following = following

        @property
        def control(self) -> LogView:
            """The view that this is about."""
            return self.log_view

    def __init__(
        self,
        title: str = "",
        *,
        max_lines: int = MAX_LINES,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the name that all Textual widgets have for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._buffer = LogBuffer(max_lines)
        self.title = title

    def watch_title(self) -> None:
        """Write the border's title."""
        self._show_title()

    def watch_held(self) -> None:
        """Write the border's title."""
        self._show_title()

    def watch_filter(self) -> None:
        """Show what passes the new filter, from its end."""
        self._buffer.choose(self.filter)
        self._show_again()

    def watch_following(self, following: bool) -> None:
        """Forget what was held back, and tell the parent."""
        self.set_class(not following, "-held")
        if following:
            self.held = 0
        self._show_title()
        self.post_message(self.FollowingChanged(self, following))

    def watch_scroll_target_y(self, target: float) -> None:
        """Hold still when somebody scrolls up, follow when the end is reached.

        The target is watched, not the position: that moves in steps too small to tell from standing at the end.
        """
        self.following = round(target) >= self.max_scroll_y

    def on_resize(self) -> None:
        """Keep the end in sight in a view of another height."""
        if self.following:
            self._go_to_end()
        else:
            self.following = round(self.scroll_y) >= self.max_scroll_y

    def action_follow_end(self) -> None:
        """Go to the newest line and follow."""
        self.follow()

    def follow(self) -> None:
        """Go to the newest line and follow."""
        self._go_to_end()
        self.following = True

    @property
    def lines(self) -> Sequence[LogText]:
        """The lines that pass the filter, oldest first; a copy."""
        return tuple(self._buffer.shown)

    @property
    def kept(self) -> int:
        """Lines in memory, the filtered ones included."""
        return len(self._buffer.kept)

    def append(self, lines: Iterable[LogText]) -> None:
        """Add lines at the end; the oldest go when there are too many."""
        change = self._buffer.add(lines)
        if change != Change(0, 0):
            self._settle(change)
        elif self.filter is not None:
            self._show_title()

    def clear(self) -> None:
        """Forget all lines and follow."""
        self._buffer.clear()
        self._show_again()

    def pieces(self, index: int) -> Iterable[tuple[str, str]]:
        """Give a line: its stamp, the sign of its level, its text."""
        if not 0 <= index < len(self._buffer.shown):
            return ()
        line = self._buffer.shown[index]
        stamp = f"{clean(line.stamp)} " if line.stamp else ""
        text, _ = measured(line.text)
        part = f"log-view--{line.level}"
        return ((stamp, "log-view--stamp"), (SIGNS[line.level], part), (text, part))

    def _measure(self) -> None:
        """Tell the scrolling how much there is."""
        self.virtual_size = Size(self._buffer.width, len(self._buffer.shown))

    def _show_again(self) -> None:
        """Show another choice of lines, from its end."""
        self._measure()
        self.follow()
        self._show_title()
        self.refresh()

    def _settle(self, change: Change) -> None:
        """Bring the view to where it belongs after lines came at the end and went at the start."""
        self._measure()
        if self.following:
            self._go_to_end()
        else:
            self.held += change.came
            if change.gone:
                self.scroll_to(y=max(0, round(self.scroll_y) - change.gone), animate=False)
        if self.filter is not None:
            self._show_title()
        self.refresh()

    def _go_to_end(self) -> None:
        """Scroll to the newest line, if there is a view to scroll."""
        if self.is_attached:
            self.scroll_to(y=self.max_scroll_y, animate=False, force=True)

    def _show_title(self) -> None:
        """Write name, state and filter into the border."""
        held = f"{self.held:,} line{'' if self.held == 1 else 's'} held back, End: follow"
        parts = [clean(self.title), "following" if self.following else held]
        if self.filter is not None:
            parts.append(f"/{clean(self.filter.pattern)}/ {len(self._buffer.shown):,} of {self.kept:,}")
        self.border_title = Content(" · ".join(part for part in parts if part))
