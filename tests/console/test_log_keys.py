"""Every key of the logs, in the real app, on a small screen too."""

from __future__ import annotations

import stat
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from textual.widgets import Input

from console import clipboard
from console.commands import COMMANDS
from console.feed import LinesArrived
from console.job.events import LogLine, Source
from console.panels.logs import LogsPanel
from console.screens.shapes import ShapesScreen
from tests import samples
from tests.console.fakes_ui import FakeFeed, log_of, make_app, notices, screen_text, shown, until, was_told
from tests.widgets.stage import NASTY, safe

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

    from console.app import LongwaitApp

SIZES = [(80, 24), (120, 36)]


def server_line(number: int) -> LogLine:
    """A line of one of two ranks; each tenth an error, each fifth an access line."""
    stamp = f"[2026-02-24 03:19:{number % 60:02} DP{number % 2} TP0]"
    if number % 10 == 3:
        return LogLine(Source.SERVER, f"{stamp} ERROR number {number}", samples.NOW, "error")
    if number % 5 == 0:
        return LogLine(Source.SERVER, f'{stamp} INFO: "POST /generate HTTP/1.1" {number}', samples.NOW, "quiet")
    return LogLine(Source.SERVER, f"{stamp} Decode batch, #running-req: {number}, {'word ' * 40}", samples.NOW)


@pytest.fixture(params=SIZES, ids=str)
def size(request: pytest.FixtureRequest) -> tuple[int, int]:
    found: tuple[int, int] = request.param
    return found


@pytest.fixture(autouse=True)
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "longwait" / "clipboard.txt"


async def fill(pilot: Pilot[None], feed: FakeFeed, app: LongwaitApp, count: int = 60) -> None:
    feed.put(LinesArrived(tuple(server_line(number) for number in range(count))))
    await until(pilot, lambda: log_of(app, Source.SERVER).kept == count, "the lines")


async def type_in(pilot: Pilot[None], app: LongwaitApp, key: str, *typed: str) -> None:
    await pilot.press(key)
    await until(pilot, lambda: app.screen.query_one(LogsPanel).query_one(Input).has_focus, "the field")
    await pilot.press(*typed)


def number_at(app: LongwaitApp) -> int:
    return int("".join(filter(str.isdigit, log_of(app, Source.SERVER).line_at_cursor()[33:])))


async def test_search_marks_counts_and_goes(size: tuple[int, int]) -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test(size=size) as pilot:
        await fill(pilot, feed, app)
        view = log_of(app, Source.SERVER)
        await pilot.press("l")
        await until(pilot, lambda: view.has_focus, "the log")
        await type_in(pilot, app, "s", *"RUNNING-req: [24]8")
        await pilot.pause()
        assert "match 2 of 2" in screen_text(app)
        assert (view.kept, view.count) == (60, 60)
        await pilot.press("enter")
        await until(pilot, lambda: view.has_focus, "the log")
        assert number_at(app) == 48
        await pilot.press("N")
        assert number_at(app) == 28
        await pilot.pause()
        assert "match 1 of 2" in screen_text(app)
        await pilot.press("N")
        assert was_told(app, "There is no former match in the server's log.")
        await pilot.press("n")
        assert number_at(app) == 48
        await pilot.press("n")
        assert was_told(app, "There is no next match in the server's log.")
        feed.put(LinesArrived((server_line(48),)))
        await until(pilot, lambda: "match 2 of 3" in screen_text(app), "the live count")
        await pilot.press("escape")
        await until(pilot, lambda: view.search is None, "the end of the search")
        assert not app.screen.query_one(LogsPanel).query_one(Input).display


async def test_the_inverse_filters_and_counts_live() -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test(size=(80, 24)) as pilot:
        await fill(pilot, feed, app)
        view = log_of(app, Source.SERVER)
        await type_in(pilot, app, "slash", *"!decode", "enter")
        await until(pilot, lambda: "18 of 60 lines" in screen_text(app), "the count")
        assert view.count == 18
        assert not any("Decode" in line.text for line in view.lines)
        await until(pilot, lambda: view.has_focus, "the log")
        await pilot.press("N", "N", "n")
        assert view.cursor == 16
        feed.put(LinesArrived((server_line(3), server_line(4))))
        await until(pilot, lambda: "19 of 62 lines" in screen_text(app), "the live count")


async def test_a_filter_and_a_search_stand_together_and_end_one_by_one() -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test(size=(80, 24)) as pilot:
        await fill(pilot, feed, app)
        view = log_of(app, Source.SERVER)
        await type_in(pilot, app, "slash", *"error", "enter")
        await until(pilot, lambda: view.has_focus, "the log")
        await type_in(pilot, app, "s", *"3", "enter")
        await until(pilot, lambda: view.has_focus, "the log")
        assert (view.count, view.hits) == (6, 6)
        await pilot.press("escape")
        await until(pilot, lambda: view.search is None, "the end of the search")
        assert view.count == 6
        assert "filter error" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: view.count == 60, "all lines")


async def test_n_without_anything_to_find_says_so() -> None:
    app = make_app(FakeFeed(), None)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("l", "n")
        assert notices(app) == ["Nothing is looked for: s searches, / filters."]


async def test_e_goes_from_error_to_error() -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test(size=(80, 24)) as pilot:
        await fill(pilot, feed, app)
        view = log_of(app, Source.SERVER)
        await pilot.press("E")
        await until(pilot, lambda: view.has_focus, "the log")
        assert (number_at(app), view.following) == (53, False)
        await pilot.press("E")
        assert number_at(app) == 43
        await pilot.press("e", "e")
        assert number_at(app) == 53
        assert was_told(app, "There is no error line below this one in the server's log.")
        await pilot.press("f")
        assert view.following


async def test_d_shows_rank_by_rank() -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("d")
        assert was_told(app, "No line has named a rank yet")
        await fill(pilot, feed, app)
        view = log_of(app, Source.SERVER)
        counts = []
        for _ in range(3):
            await pilot.press("d")
            counts.append((view.only[0] if view.only else "", view.count))
        assert counts == [("DP0", 30), ("DP1", 30), ("", 60)]
        assert log_of(app, Source.JOB).only is None


async def test_t_shows_kind_by_kind() -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test(size=(80, 24)) as pilot:
        await fill(pilot, feed, app)
        view = log_of(app, Source.SERVER)
        counts = []
        for _ in range(3):
            await pilot.press("t")
            await pilot.pause()
            counts.append(view.count)
        assert counts == [42, 6, 60]
        await pilot.press("d", "t")
        await until(pilot, lambda: "DP0 · figures only 24 of 60" in screen_text(app), "what is shown")


async def test_w_breaks_long_lines() -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test(size=(80, 24)) as pilot:
        await fill(pilot, feed, app)
        before = screen_text(app)
        await pilot.press("w")
        await until(pilot, lambda: screen_text(app) != before, "broken lines")
        assert log_of(app, Source.SERVER).virtual_size.height > 120
        await pilot.press("w")
        await until(pilot, lambda: screen_text(app) == before, "cut lines")


async def test_y_copies_the_line_as_the_log_has_it(size: tuple[int, int], copies: Path) -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test(size=size) as pilot:
        await pilot.press("l")
        await until(pilot, lambda: log_of(app, Source.SERVER).has_focus, "the log")
        await pilot.press("y")
        assert notices(app) == ["There is no line to copy."]
        await fill(pilot, feed, app)
        await pilot.press("y")
        assert app.clipboard == server_line(59).text
        assert copies.read_text(encoding="utf-8") == app.clipboard
        assert stat.S_IMODE(copies.stat().st_mode) == 0o600
        assert stat.S_IMODE(copies.parent.stat().st_mode) == 0o700
        assert was_told(app, f"Copied 1 line by OSC 52 and into {copies}.")


async def test_big_y_copies_the_marked_lines_or_those_in_sight(copies: Path) -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test(size=(80, 24)) as pilot:
        await fill(pilot, feed, app)
        view = log_of(app, Source.SERVER)
        await pilot.press("l")
        await until(pilot, lambda: view.has_focus, "the log")
        await pilot.press("k", "v", "k", "k", "Y")
        assert [line.split(" TP0] ")[0][-3:] for line in app.clipboard.splitlines()] == ["DP0", "DP1", "DP0"]
        assert not view.marked
        await pilot.press("f", "Y")
        assert len(copies.read_text(encoding="utf-8").splitlines()) == len(view.in_sight) == view.size.height


async def test_a_long_copy_goes_into_the_file_only(copies: Path) -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test(size=(80, 24)) as pilot:
        feed.put(LinesArrived(tuple(LogLine(Source.SERVER, "x" * 1_900, samples.NOW) for _ in range(60))))
        view = log_of(app, Source.SERVER)
        await until(pilot, lambda: view.kept == 60, "the lines")
        await pilot.press("l")
        await until(pilot, lambda: view.has_focus, "the log")
        await pilot.press("v", "home", "Y")
        assert app.clipboard == ""
        assert len(copies.read_text(encoding="utf-8")) == 60 * 1_901
        assert was_told(app, f"Copied 60 lines into {copies} only: 114,060 bytes are more")


async def test_a_copy_that_cannot_be_kept_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test(size=(80, 24)) as pilot:
        await fill(pilot, feed, app)
        await pilot.press("y")
        assert was_told(app, "The copy could not be kept in ")


def test_a_copy_follows_no_link(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine", encoding="utf-8")
    (tmp_path / "clipboard.txt").symlink_to(target)
    with pytest.raises(clipboard.NotKept, match="could not be kept"):
        clipboard.keep("\ud800x", tmp_path / "clipboard.txt")
    assert target.read_text(encoding="utf-8") == "mine"
    clipboard.keep("\ud800x", tmp_path / "other.txt")
    assert (tmp_path / "other.txt").read_text(encoding="utf-8") == "?x"


@pytest.mark.parametrize(("size", "key"), [((80, 24), "escape"), ((120, 36), "u"), ((80, 24), "q")])
async def test_u_lists_what_is_not_understood(size: tuple[int, int], key: str) -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    calm = samples.healthy()
    shapes = (("New report v#: run=#", 1_412), (NASTY, 31), ("x" * 160, 1))
    odd = replace(calm, logs=(replace(calm.logs[0], shapes=shapes), calm.logs[1], replace(calm.logs[0], lines=0)))
    async with app.run_test(size=size) as pilot:
        await shown(pilot, feed, odd)
        assert "understood 97 %" in screen_text(app)
        await pilot.press("u")
        await until(pilot, lambda: isinstance(app.screen, ShapesScreen), "the list")
        await until(pilot, lambda: "1,412 x" in screen_text(app), "the shapes")
        text = screen_text(app)
        assert "Server's log: understood 97 % of 18,204 lines; 546 were not." in text
        assert "Job's log: understood all 88 lines." in text
        assert "New report v#: run=#" in text
        assert "[b]bold[/b]" in text
        assert safe(text)
        await pilot.press(key)
        await until(pilot, lambda: not isinstance(app.screen, ShapesScreen), "the main screen")


async def test_a_gap_is_a_line_of_its_own_whatever_is_chosen() -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test(size=(80, 24)) as pilot:
        await fill(pilot, feed, app)
        feed.put(LinesArrived((LogLine(Source.SERVER, "-- 1,234 bytes are gone --", samples.NOW, "gap"),)))
        view = log_of(app, Source.SERVER)
        await until(pilot, lambda: view.kept == 61, "the gap")
        await pilot.press("t", "d")
        await pilot.pause()
        assert "! -- 1,234 bytes are gone --" in screen_text(app)


async def test_the_footer_shows_the_keys_of_the_logs_where_they_are_of_use(size: tuple[int, int]) -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    near = [command for command in COMMANDS if command.beside_logs]
    async with app.run_test(size=size) as pilot:
        await fill(pilot, feed, app)
        assert "s Search" not in screen_text(app)
        await pilot.press("l")
        await until(pilot, lambda: "s Search" in screen_text(app), "the keys of the logs")
        for command in near:
            assert f"{command.key} {command.label}" in screen_text(app)
        await pilot.press("1")
        await until(pilot, lambda: "h Health" in screen_text(app), "the keys of the console")
        assert "s Search" not in screen_text(app)


async def test_escape_ends_what_was_begun_last(size: tuple[int, int]) -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test(size=size) as pilot:
        await fill(pilot, feed, app)
        view = log_of(app, Source.SERVER)
        await pilot.press("l", "z")
        await until(pilot, lambda: app.screen.maximized is not None, "the whole screen")
        await type_in(pilot, app, "slash", *"ERROR")
        await until(pilot, lambda: view.count == 6, "the filter")
        await pilot.press("escape")
        await until(pilot, lambda: view.count == 60 and view.has_focus, "all lines")
        await pilot.press("v", "k")
        assert view.marked
        await pilot.press("escape")
        assert not view.marked
        assert app.screen.maximized is not None
        await pilot.press("escape")
        await until(pilot, lambda: app.screen.maximized is None, "all panes")
