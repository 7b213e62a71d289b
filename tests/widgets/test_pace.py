"""What is asked for often is done at once, then seldom, and the last of it is never left out."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from textual.widget import Widget

from tests.widgets.stage import Stage
from widgets.log_view import LogText, LogView
from widgets.pace import Pace


async def test_the_first_is_done_at_once_and_the_rest_together() -> None:
    widget, seen, value = Widget(), [], 0
    again = asyncio.Event()

    def do() -> None:
        seen.append(value)
        if len(seen) == 2:
            again.set()

    async with Stage(widget).run_test():
        pace = Pace(widget, 0.05, do)
        for value in range(100):  # noqa: B007 -- what is done reads it
            pace.ask()
        assert seen == [0]
        await asyncio.wait_for(again.wait(), 5)
        assert seen == [0, 99]


async def test_nothing_more_is_done_when_nothing_was_asked() -> None:
    widget, seen = Widget(), []
    async with Stage(widget).run_test():
        pace = Pace(widget, 0.0, lambda: seen.append(1))
        pace.ask()
        assert not widget._timers
        pace.ask()
        assert seen == [1, 1]


def test_before_the_widget_runs_it_is_done_each_time() -> None:
    seen: list[int] = []
    pace = Pace(Widget(), 10.0, lambda: seen.append(1))
    pace.ask()
    pace.ask()
    assert seen == [1, 1]


class Counted(LogView):
    """Counts how often what came in is drawn."""

    def __init__(self) -> None:
        super().__init__("server")
        self.drawn: list[int] = []
        self.again = asyncio.Event()

    def draw_growth(self) -> None:
        """Remember how many lines there were."""
        super().draw_growth()
        self.drawn.append(self.count)
        if len(self.drawn) > 1:
            self.again.set()


async def test_lines_that_pour_in_are_drawn_together() -> None:
    view = Counted()
    async with Stage(view).run_test(size=(80, 12)):
        for _ in range(50):
            view.append([LogText("line")] * 2)
        assert view.drawn == [2]
        await asyncio.wait_for(view.again.wait(), 5)
        assert view.drawn == [2, 100]


async def test_the_title_counts_the_last_of_lines_that_pour_in() -> None:
    view = Counted()
    view.filter = re.compile("line")
    async with Stage(view).run_test(size=(80, 12)):
        for _ in range(50):
            view.append([LogText("line"), LogText("other")])
        view.append([LogText("other")])
        await asyncio.wait_for(view.again.wait(), 5)
        assert "50 of 101" in str(view.border_title)


async def test_lines_lay_nothing_out_anew() -> None:
    view = LogView("server")
    async with Stage(view).run_test(size=(80, 12)) as pilot:
        await pilot.pause()
        laid: list[int] = []
        screen = pilot.app.screen
        lay_out = screen._refresh_layout

        def counted(*size: Any) -> None:
            laid.append(view.count)
            lay_out(*size)

        screen._refresh_layout = counted  # type: ignore[method-assign, assignment]
        for number in range(40):
            view.append([LogText(f"line {number}")])
            await pilot.pause()
        assert view.vertical_scrollbar.window_virtual_size == 40
        assert view.in_sight[-1] == 39
        assert laid == []
