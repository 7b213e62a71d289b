"""The logs on the screen: every line once, one pane or two, following, filtering."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual.widgets import Input

from console.feed import LinesArrived
from console.job.events import Source
from console.panels.logs import LogsPanel
from tests.console.fakes_ui import (
    FakeFeed,
    lines,
    log_of,
    main_screen,
    make_app,
    notices,
    until,
)
from widgets.log_view import LogView

if TYPE_CHECKING:
    from console.app import LongwaitApp


async def test_every_line_reaches_its_pane_once_and_in_order() -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test() as pilot:
        for number in range(200):
            feed.put(lines(Source.SERVER, f"s{number}"), lines(Source.JOB, f"j{number}"), lines(Source.PROGRESS, "{}"))
        await until(pilot, lambda: log_of(app, Source.JOB).kept == 200, "all lines")
        assert [line.text for line in log_of(app, Source.SERVER).lines] == [f"s{number}" for number in range(200)]


def logs_in_sight(app: LongwaitApp) -> list[str | None]:
    return [view.id for view in main_screen(app).query(LogView) if view.display]


async def test_l_goes_from_log_to_log_even_when_one_is_shown_at_a_time() -> None:
    app = make_app(FakeFeed(), None)
    async with app.run_test(size=(80, 24)) as pilot:
        assert logs_in_sight(app) == ["log-server"]
        await pilot.press("l")
        await until(pilot, lambda: log_of(app, Source.SERVER).has_focus, "the server's log")
        await pilot.press("l")
        await until(pilot, lambda: log_of(app, Source.JOB).has_focus, "the job's log")
        assert logs_in_sight(app) == ["log-job"]
        await pilot.press("l")
        await until(pilot, lambda: log_of(app, Source.SERVER).has_focus, "the server's log again")
        assert logs_in_sight(app) == ["log-server"]


async def test_f_goes_back_to_the_end() -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test(size=(80, 24)) as pilot:
        feed.put(lines(Source.SERVER, *map(str, range(100))))
        view = log_of(app, Source.SERVER)
        await until(pilot, lambda: view.kept == 100, "the lines")
        await pilot.press("l")
        await until(pilot, lambda: view.has_focus, "the log")
        await pilot.press("home")
        await until(pilot, lambda: not view.following, "holding still")
        await pilot.press("f")
        await until(pilot, lambda: view.following, "following")


async def test_a_filter_is_typed_kept_and_cleared() -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test(size=(80, 24)) as pilot:
        feed.put(lines(Source.SERVER, "Decode batch", "quiet", "an Error"))
        view = log_of(app, Source.SERVER)
        field = app.screen.query_one(LogsPanel).query_one(Input)
        await until(pilot, lambda: view.kept == 3, "the lines")
        await pilot.press("slash")
        await until(pilot, lambda: field.has_focus, "the field")
        await pilot.press(*"err", "R", "q")
        await pilot.press("backspace", "backspace", "enter")
        assert notices(app) == []
        await until(pilot, lambda: view.has_focus, "the log")
        assert [line.text for line in view.lines] == ["an Error"]
        await pilot.press("slash")
        await until(pilot, lambda: field.has_focus, "the field")
        await pilot.press("escape")
        await until(pilot, lambda: len(view.lines) == 3, "all lines")
        assert not field.display


async def test_a_feed_with_much_to_tell_does_not_keep_keys_waiting() -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test() as pilot:
        feed.put(*(LinesArrived(lines(Source.SERVER, "x").lines) for _ in range(500)))
        await asyncio.wait_for(pilot.press("h"), 5)
        await until(pilot, lambda: feed.pings == 1, "the question")
