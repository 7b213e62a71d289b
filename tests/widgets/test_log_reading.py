"""Reading a log: the line to act on, marking, searching, going to errors, breaking long lines, copying."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.widgets.stage import NASTY, Stage, rows, safe, screen_text
from widgets.log_buffer import LogBuffer
from widgets.log_find import Without
from widgets.log_view import LogText, LogView

if TYPE_CHECKING:
    from textual.pilot import Pilot


def numbered(*numbers: int) -> list[LogText]:
    return [LogText(f"line {number}", "error" if number % 10 == 3 else "info") for number in numbers]


def filled(count: int = 100, max_lines: int = 5_000) -> LogView:
    view = LogView("server", max_lines=max_lines)
    view.append(numbered(*range(count)))
    return view


async def press(pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.pause()


@pytest.mark.parametrize(
    ("keys", "cursor"),
    [
        (("up",), 98),
        (("k", "k", "k", "j"), 97),
        (("home",), 0),
        (("g", "down", "j"), 2),
        (("home", "up"), 0),
        (("pageup",), 90),
        (("pageup", "pagedown"), 99),
        (("home", "end"), 99),
    ],
)
async def test_keys_move_the_line_and_hold(keys: tuple[str, ...], cursor: int) -> None:
    view = filled()
    async with Stage(view).run_test(size=(80, 12)) as pilot:
        view.focus()
        await press(pilot, *keys)
        assert view.cursor == cursor
        assert view.following == (cursor == 99)
        assert cursor in view.in_sight


async def test_the_line_stays_the_same_while_lines_come_and_go() -> None:
    view = filled(100, max_lines=100)
    async with Stage(view).run_test(size=(80, 12)) as pilot:
        view.focus()
        await press(pilot, "up", "up", "v", "up")
        view.append(numbered(*range(100, 130)))
        assert view.line_at_cursor() == "line 96"
        assert view.chosen() == ["line 96", "line 97"]
        await pilot.pause()
        assert "server · 30 lines held back" in screen_text(pilot.app)
        await press(pilot, "end")
        assert (view.line_at_cursor(), list(view.marked)) == ("line 129", [])


async def test_marking_with_shift_and_unmarking() -> None:
    view = filled()
    async with Stage(view).run_test(size=(80, 12)) as pilot:
        view.focus()
        await press(pilot, "shift+up", "shift+up", "shift+down")
        assert view.chosen() == ["line 98", "line 99"]
        view.unmark()
        assert view.chosen() == [f"line {number}" for number in range(90, 100)]
        await press(pilot, "v")
        assert not view.following
        await press(pilot, "v")
        assert not view.marked


async def test_the_mouse_goes_to_a_line() -> None:
    view = filled()
    async with Stage(view).run_test(size=(80, 12)) as pilot:
        await pilot.click(LogView, offset=(5, 3))
        await pilot.pause()
        assert view.line_at_cursor() == "line 92"
        assert not view.following


async def test_the_wheel_takes_the_line_along() -> None:
    view = filled()
    async with Stage(view).run_test(size=(80, 12)):
        view.scroll_to(y=20, animate=False)
        assert not view.following
        assert view.cursor in view.in_sight
        view.scroll_to(y=90, animate=False)
        assert view.following


async def test_searching_counts_marks_and_goes() -> None:
    view = filled(50)
    async with Stage(view).run_test(size=(80, 12)) as pilot:
        view.search = re.compile("[27]$")
        await pilot.pause()
        assert (view.hits, view.kept, len(view.lines)) == (10, 50, 50)
        assert "'[27]$' 10 of 10" in screen_text(pilot.app)
        assert view.go_to_nearest_hit()
        assert view.line_at_cursor() == "line 47"
        assert ("7", "log-view--found") in list(view.pieces(47))
        assert view.go_to_hit(back=True)
        assert (view.line_at_cursor(), view.hit) == ("line 42", 9)
        assert view.go_to_hit(back=False)
        assert not view.go_to_hit(back=False)
        assert view.line_at_cursor() == "line 47"
        view.append(numbered(52, 53))
        assert view.hits == 11
        view.search = Without(re.compile("line"))
        assert view.hits == 0


async def test_a_match_right_of_the_view_is_brought_in_sight() -> None:
    view = LogView()
    view.append([LogText("short"), LogText("x" * 300 + "needle" + "y" * 300), LogText("short needle")])
    async with Stage(view).run_test(size=(80, 12)) as pilot:
        view.search = re.compile("needle")
        view.focus()
        view.go_to_nearest_hit()
        await pilot.pause()
        assert view.scroll_x == 0
        view.go_to_hit(back=True)
        await pilot.pause()
        assert "needle" in rows(view)[1]


async def test_errors_are_gone_to() -> None:
    view = filled(50)
    async with Stage(view).run_test(size=(80, 12)):
        assert view.go_to_level("error", back=True)
        assert view.line_at_cursor() == "line 43"
        assert not view.go_to_level("error", back=False)
        assert view.go_to_level("error", back=True)
        assert view.go_to_level("error", back=False)
        assert view.line_at_cursor() == "line 43"
        assert not LogView().go_to_level("error", back=True)


async def test_a_choice_keeps_the_gaps() -> None:
    view = LogView("server")
    view.append([LogText("a"), LogText("-- 5 bytes are gone --", "gap"), LogText("b", "error")])
    async with Stage(view).run_test(size=(80, 12)) as pilot:
        view.only = ("errors", lambda line: line.level == "error")
        await pilot.pause()
        assert [line.text for line in view.lines] == ["-- 5 bytes are gone --", "b"]
        assert "errors 2 of 3" in screen_text(pilot.app)
        assert rows(view)[0].startswith("! -- 5 bytes")


async def test_long_lines_are_broken_and_put_together_again() -> None:
    view = LogView("server")
    view.append([LogText("w " * 60 + "end", "error", "03:19:40"), LogText("short", "info", "03:19:41")])
    async with Stage(view).run_test(size=(60, 12)) as pilot:
        view.wrap = True
        await pilot.pause()
        shown = rows(view)
        whole = shown[0].strip()[11:] + "".join(row.strip().rjust(1) for row in shown[1:3])
        assert shown[0].startswith("03:19:40 ✗ w w")
        assert shown[1].startswith(" " * 11 + "w") or shown[1].startswith(" " * 12 + "w")
        assert whole.replace(" ", "") == "w" * 60 + "end"
        assert [row.strip() for row in shown if "short" in row] == ["03:19:41   short"]
        view.wrap = False
        await pilot.pause()
        assert rows(view)[0].rstrip().endswith("…")


@pytest.mark.parametrize("width", [20, 80, 200])
async def test_broken_lines_follow_and_hold(width: int) -> None:
    view = LogView("server", max_lines=60)
    view.wrap = True
    async with Stage(view).run_test(size=(width, 14)) as pilot:
        view.append(LogText(f"line {number} " + "漢字 word " * (number % 30)) for number in range(100))
        await pilot.pause()
        assert view.in_sight[-1] == 59
        view.focus()
        await press(pilot, "pageup", "up")
        held = view.line_at_cursor()
        before = rows(view)
        view.append(LogText(f"more {number}" * 9) for number in range(10))
        await pilot.pause()
        assert (rows(view), view.line_at_cursor(), view.held) == (before, held, 10)
        await pilot.resize_terminal(width + 7, 14)
        await pilot.pause()
        assert view.line_at_cursor() == held
        assert view.cursor in view.in_sight
        view.append(LogText(f"many {number}") for number in range(200))
        await press(pilot, "end")
        assert rows(view)[-1].strip() == "many 199"


async def test_nothing_from_outside_breaks_a_row_broken_or_not() -> None:
    view = LogView(NASTY)
    view.append([LogText(NASTY * 30, "error", NASTY), LogText("漢" * 3_000), LogText("x" * 1_000_000), LogText("")])
    async with Stage(view).run_test(size=(60, 20)) as pilot:
        view.search = re.compile(r"\[b]|漢")
        view.notes = (NASTY, "short")
        view.focus()
        for wrap in (True, False):
            view.wrap = wrap
            await pilot.pause()
            for key in ("home", "down", "down", "end"):
                await press(pilot, key)
                assert all(cell_len(row) == view.size.width for row in rows(view))
                assert safe(screen_text(pilot.app))
                assert safe(view.line_at_cursor())


async def test_a_copy_is_the_line_as_it_was_written() -> None:
    view = LogView()
    view.append([LogText("Decode batch", "info", "04:19:40", written="[2026-02-24 03:19:40] Decode\x1b[31m batch")])
    async with Stage(view).run_test(size=(60, 12)):
        assert view.line_at_cursor() == "[2026-02-24 03:19:40] Decode batch"
        assert view.chosen() == [view.line_at_cursor()]


async def test_an_empty_log_can_be_read() -> None:
    view = LogView()
    async with Stage(view).run_test(size=(60, 12)) as pilot:
        view.focus()
        await press(pilot, "up", "down", "v", "pageup", "home", "shift+up", "end")
        assert (view.cursor, view.line_at_cursor(), view.chosen()) == (-1, "", [])
        view.wrap = True
        await press(pilot, "up", "pagedown")
        assert not any(row.strip() for row in rows(view))


def test_characters_are_bounded_too() -> None:
    buffer = LogBuffer(max_lines=1_000, max_characters=50_000)
    buffer.add(LogText("x" * 1_500, written="y" * 1_500) for _ in range(200))
    assert len(buffer.kept) == len(buffer.shown) == 16
    assert buffer.characters <= 50_000


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.lists(st.sampled_from("ab"), max_size=6), max_size=8),
    st.sampled_from([None, re.compile("a"), Without(re.compile("b"))]),
    st.integers(1, 8),
)
def test_hits_are_those_of_the_shown_lines(
    batches: list[list[str]], finder: re.Pattern[str] | Without | None, most: int
) -> None:
    buffer = LogBuffer(most)
    buffer.look_for(re.compile("a"))
    for batch in batches:
        buffer.add(LogText(text, "error" if text == "a" else "info") for text in batch)
        buffer.choose(finder)
        places = [place for place, line in enumerate(buffer.shown) if line.text == "a"]
        assert buffer.hits == len(places)
        for index in range(-1, len(buffer.shown) + 1):
            after = next((place for place in places if place > index), None)
            before = next((place for place in reversed(places) if place < index), None)
            assert buffer.next_hit(index, back=False) == buffer.next_level(index, "error", back=False) == after
            assert buffer.next_hit(index, back=True) == before
            if 0 <= index < len(buffer.shown):
                assert buffer.next_level(index, "error", back=True) == before
