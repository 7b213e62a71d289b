"""The log follows, holds still, filters, and stays bounded in memory and in work."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual import on
from textual.app import App

from tests.widgets.stage import NASTY, WIDTHS, Stage, rows, safe, screen_text
from widgets import line_view
from widgets.log_view import MAX_LINES, SIGNS, Level, LogText, LogView

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult


def numbered(numbers: Iterable[int]) -> list[LogText]:
    return [LogText(f"line {number}") for number in numbers]


class Listening(App[None]):
    """Notes what the log says."""

    def __init__(self, log_view: LogView) -> None:
        super().__init__()
        self.animation_level = "none"
        self.log_view = log_view
        self.heard: list[bool] = []

    def compose(self) -> ComposeResult:
        """Show the log alone."""
        yield self.log_view

    @on(LogView.FollowingChanged)
    def note(self, event: LogView.FollowingChanged) -> None:
        """Keep what was said."""
        assert event.control is self.log_view
        self.heard.append(event.following)


@pytest.mark.parametrize("width", WIDTHS)
async def test_it_follows(width: int) -> None:
    view = LogView("server")
    async with Stage(view).run_test(size=(width, 12)) as pilot:
        view.append(numbered(range(100)))
        await pilot.pause()
        assert rows(view)[-1].rstrip() == "  line 99"
        assert [row.strip() for row in rows(view)] == [f"line {number}" for number in range(90, 100)]
        assert all(cell_len(row) == view.size.width for row in rows(view))
        assert ("server · foll" if width == 20 else "server · following") in screen_text(pilot.app)


@pytest.mark.parametrize("key", ["up", "pageup", "home"])
async def test_scrolled_up_it_holds_still_and_counts(key: str) -> None:
    view = LogView("job")
    app = Listening(view)
    async with app.run_test(size=(80, 12)) as pilot:
        view.append(numbered(range(100)))
        view.focus()
        await pilot.press(key)
        await pilot.pause()
        before = rows(view)
        view.append(numbered(range(100, 103)))
        await pilot.pause()
        assert rows(view) == before
        assert not view.following
        assert view.held == 3
        assert "job · 3 lines held back" in screen_text(app)
        await pilot.press("end")
        await pilot.pause()
        assert rows(view)[-1].strip() == "line 102"
        assert (view.following, view.held) == (True, 0)
        assert "job · following" in screen_text(app)
        assert app.heard == [False, True]


async def test_reaching_the_end_by_scrolling_follows_again() -> None:
    view = LogView()
    async with Stage(view).run_test(size=(80, 12)) as pilot:
        view.append(numbered(range(100)))
        view.focus()
        seen = []
        for key in ("up", "up", "down", "down"):
            await pilot.press(key)
            seen.append(view.following)
        assert seen == [False, False, False, True]
        view.append(numbered([100]))
        await pilot.pause()
        assert rows(view)[-1].strip() == "line 100"


async def test_animated_scrolling_up_holds_still_at_once() -> None:
    view = LogView()
    app = Stage(view)
    app.animation_level = "full"
    async with app.run_test(size=(80, 12)):
        view.append(numbered(range(100)))
        view.action_page_up()
        view.append(numbered([100]))
        assert not view.following
        assert view.held == 1


async def test_memory_is_bounded_and_the_text_in_sight_stays() -> None:
    view = LogView(max_lines=100)
    async with Stage(view).run_test(size=(80, 12)) as pilot:
        view.append(numbered(range(100)))
        view.focus()
        await pilot.press("pageup", "pageup")
        await pilot.pause()
        before = rows(view)
        view.append(numbered(range(100, 130)))
        await pilot.pause()
        assert rows(view) == before
        assert (view.kept, len(view.lines), view.held) == (100, 100, 30)
        view.append(numbered(range(130, 400)))
        await pilot.pause()
        assert rows(view)[0].strip() == "line 300"
        assert (view.kept, view.held) == (100, 300)


async def test_a_view_of_another_height_keeps_the_end_in_sight() -> None:
    view = LogView()
    async with Stage(view).run_test(size=(80, 30)) as pilot:
        view.append(numbered(range(100)))
        for height in (10, 40, 12):
            await pilot.resize_terminal(80, height)
            await pilot.pause()
            assert rows(view)[-1].strip() == "line 99"
            assert view.following


async def test_lines_before_the_screen_and_while_hidden_are_kept() -> None:
    view = LogView()
    view.append(numbered(range(50)))
    async with Stage(view).run_test(size=(80, 12)) as pilot:
        await pilot.pause()
        assert rows(view)[-1].strip() == "line 49"
        view.display = False
        await pilot.pause()
        view.append(numbered(range(50, 90)))
        view.display = True
        await pilot.pause()
        await pilot.pause()
        assert rows(view)[-1].strip() == "line 89"
        assert view.following


async def test_filter() -> None:
    view = LogView("job", max_lines=50)
    async with Stage(view).run_test(size=(80, 12)) as pilot:
        view.append(numbered(range(40)))
        view.filter = re.compile(r"[05]$")
        await pilot.pause()
        assert [line.text for line in view.lines] == [f"line {number}" for number in range(0, 40, 5)]
        assert "/[05]$/ 8 of 40" in screen_text(pilot.app)
        view.append(numbered(range(40, 80)))
        await pilot.pause()
        assert [line.text for line in view.lines] == [f"line {number}" for number in range(30, 80, 5)]
        view.filter = re.compile("no such text")
        await pilot.pause()
        assert view.lines == ()
        assert view.following
        view.filter = None
        await pilot.pause()
        assert len(view.lines) == 50
        assert rows(view)[-1].strip() == "line 79"


async def test_the_filter_sees_the_text_as_drawn() -> None:
    view = LogView()
    async with Stage(view).run_test(size=(80, 12)):
        view.append([LogText("\x1b[31mTraceback\x1b[0m (most recent call last)")])
        view.filter = re.compile("^Traceback .most")
        assert len(view.lines) == 1


async def test_clear() -> None:
    view = LogView("job")
    async with Stage(view).run_test(size=(80, 12)) as pilot:
        view.append(numbered(range(100)))
        view.focus()
        await pilot.press("home")
        view.clear()
        await pilot.pause()
        assert (view.kept, view.lines, view.following) == (0, (), True)
        assert not any(row.strip() for row in rows(view))
        view.append(numbered([1]))
        await pilot.pause()
        assert rows(view)[0].strip() == "line 1"


@pytest.mark.parametrize("level", SIGNS)
async def test_level_is_a_sign_too(level: Level) -> None:
    view = LogView()
    async with Stage(view).run_test(size=(80, 12)) as pilot:
        view.append([LogText("text", level, "03:19:40")])
        await pilot.pause()
        assert rows(view)[0].rstrip() == f"03:19:40 {SIGNS[level]}text"


async def test_any_text_is_drawn_as_text() -> None:
    view = LogView(NASTY)
    async with Stage(view).run_test(size=(60, 12)) as pilot:
        view.append([LogText(NASTY, "error", NASTY), LogText("漢" * 200), LogText("x" * 1_000_000), LogText("")])
        view.filter = re.compile(r".|\[b]")
        await pilot.pause()
        shown = rows(view)
        assert "[b]bold[/b]" in shown[0]
        assert shown[1].rstrip()[-1] == shown[2].rstrip()[-1] == "…"
        assert all(cell_len(row) == view.size.width for row in shown)
        view.focus()
        await pilot.press("right", "right", "right")
        assert view.scroll_x > 0
        assert all(cell_len(row) == view.size.width for row in rows(view))
        assert safe(screen_text(pilot.app))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=80), max_size=12), st.integers(0, 90))
def test_every_row_is_exactly_as_wide_as_the_view(texts: list[str], across: int) -> None:
    view = LogView()
    view.append(LogText(text, "warning", "03:19:40") for text in texts)
    for index in range(len(texts) + 1):
        pieces = [text for text, _ in view.pieces(index)]
        assert safe("".join(pieces))
        assert "\n" not in "".join(pieces)
    assert len(view.lines) == len(texts)
    assert view.virtual_size.width >= max(
        (cell_len("".join(t for t, _ in view.pieces(i))) for i in range(len(texts))), default=0
    )
    assert list(view.pieces(-1 - across)) == []


async def test_only_lines_in_sight_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: set[int] = set()
    pieces = LogView.pieces

    def noted(self: LogView, index: int) -> Iterable[tuple[str, str]]:
        drawn.add(index)
        return pieces(self, index)

    monkeypatch.setattr(LogView, "pieces", noted)
    view = LogView()
    async with Stage(view).run_test(size=(80, 12)) as pilot:
        view.append(numbered(range(MAX_LINES)))
        await pilot.pause()
        drawn.clear()
        view.append(numbered(range(20_000)))
        await pilot.pause()
        assert rows(view)[-1].strip() == "line 19999"
        assert min(drawn) >= MAX_LINES - 10


async def test_of_a_line_that_comes_only_its_own_row_is_drawn() -> None:
    view = LogView()
    async with Stage(view).run_test(size=(80, 12)) as pilot:
        view.append(numbered(range(300)))
        await pilot.pause()
        rows(view)
        before = line_view._drawn.cache_info().misses
        view.append(numbered(range(900, 903)))
        view.draw_growth()
        await pilot.pause()
        assert [row.strip() for row in rows(view)[-3:]] == ["line 900", "line 901", "line 902"]
        assert 3 <= line_view._drawn.cache_info().misses - before <= 4


async def test_idle_it_keeps_no_timer() -> None:
    view = LogView()
    async with Stage(view).run_test(size=(80, 12)) as pilot:
        view.append(numbered(range(100)))
        await pilot.pause()
        assert not view._timers


@pytest.mark.parametrize(
    ("width", "title"),
    [
        (80, "server · following · all of it in many words"),
        (40, "server · following · all of it"),
        (32, "server · following · all"),
        (20, "server · following"),
    ],
)
async def test_the_title_says_as_much_as_fits(width: int, title: str) -> None:
    view = LogView("server")
    view.notes = ("all of it in many words", "all of it", "all")
    async with Stage(view).run_test(size=(width, 12)) as pilot:
        await pilot.pause()
        assert view.border_title == title
        await pilot.resize_terminal(80, 12)
        await pilot.pause()
        assert view.border_title == "server · following · all of it in many words"
