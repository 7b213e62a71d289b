"""vi's letters stand beside the arrows wherever something scrolls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.content import Content
from textual.widgets import Static

from tests.widgets.stage import Stage
from widgets.diff_view import DiffView
from widgets.log_view import LogText, LogView
from widgets.moves import Scrolling

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.widget import Widget

ROWS = 200


def a_text() -> Widget:
    return Scrolling(Static(Content("\n".join(map(str, range(ROWS))))))


def a_diff() -> Widget:
    view = DiffView(tuple(f"+line {number}" for number in range(ROWS)))
    view.styles.height = 10
    return view


PAIRS = (
    ("down", "up", 1),
    ("j", "k", 1),
    ("pagedown", "pageup", 10),
    ("ctrl+d", "ctrl+u", 5),
    ("end", "home", ROWS - 10),
    ("G", "g", ROWS - 10),
)


@pytest.mark.parametrize("made", [a_text, a_diff])
async def test_each_key_moves_and_its_fellow_moves_back(made: Callable[[], Widget]) -> None:
    widget = made()
    async with Stage(widget).run_test(size=(40, 10)) as pilot:
        widget.focus()
        for there, back, rows in PAIRS:
            await pilot.press(there)
            await pilot.pause()
            assert widget.scroll_y == rows, there
            await pilot.press(back)
            await pilot.pause()
            assert widget.scroll_y == 0, back


async def test_a_diff_is_read_sideways_too() -> None:
    widget = DiffView(("+" + "x" * 200,))
    async with Stage(widget).run_test(size=(40, 10)) as pilot:
        widget.focus()
        for there, back in (("l", "h"), ("right", "left")):
            await pilot.press(there)
            await pilot.pause()
            assert widget.scroll_x > 0
            await pilot.press(back)
            await pilot.pause()
            assert widget.scroll_x == 0


async def test_a_log_moves_its_line_and_follows_again() -> None:
    log = LogView("log")
    async with Stage(log).run_test(size=(40, 12)) as pilot:
        log.append([LogText(str(number)) for number in range(ROWS)])
        log.focus()
        await pilot.press("ctrl+u")
        await pilot.pause()
        assert not log.following
        assert log.cursor == ROWS - 1 - log.size.height // 2
        await pilot.press("ctrl+d", "G")
        await pilot.pause()
        assert log.following
