"""The panes at every size of terminal: what matters is in sight, digits and Esc bring the rest."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from textual import events

from console.job.events import Source
from console.panels.panel import Panel
from console.panels.verdict import TimeLeft
from tests import samples
from tests.console.fakes_ui import (
    FakeControl,
    FakeFeed,
    lines,
    log_of,
    main_screen,
    make_app,
    screen_text,
    shown,
    until,
)
from widgets.card import Card

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.pilot import Pilot

    from console.app import LongwaitApp
    from console.job.snapshot import Snapshot

WHOLE = [(60, 24), (80, 24), (99, 30), (120, 36), (200, 50)]
"""Sizes at which every dataset and every state is in sight."""

SMALL = [(80, 18), (40, 12), (20, 8)]
"""Sizes at which panes give way."""

TINY = [(10, 3), (1, 1), (200, 3), (5, 60)]
"""Sizes at which nothing can be read, and nothing may break."""


def has_end(text: str) -> bool:
    return any(word in text for word in ("Ends", "Ended", "left"))


@pytest.mark.parametrize("size", [*WHOLE, *SMALL])
async def test_verdict_and_end_are_in_sight_at_every_size(size: tuple[int, int]) -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=size) as pilot:
        for sample in samples.ALL.values():
            snapshot = sample()
            await shown(pilot, feed, snapshot)
            text = screen_text(app)
            assert snapshot.verdict.verdict.value.upper() in text
            assert has_end(text)
            assert ("Do: " in text) == (snapshot.verdict.action is not None)
            if size in WHOLE:
                assert [view.name for view in snapshot.datasets if view.name not in text] == []
                assert [word for word in ("KV", "tok/s", "link", "health", "job") if word not in text] == []


@pytest.mark.parametrize("sample", [samples.connecting, samples.intervene])
async def test_resizing_never_breaks_it(sample: Callable[[], Snapshot]) -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, feed, sample())
        feed.put(lines(Source.SERVER, *(f"line {number}" for number in range(30))))
        for size in (*TINY, *SMALL, *WHOLE, (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert len(screen_text(app).split("\n")) == size[1]
        assert sample().verdict.verdict.value.upper() in screen_text(app)


async def test_the_verdict_is_large_and_the_time_left_a_block_where_there_is_room() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    seen = []
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, feed, samples.healthy())
        for size in ((80, 24), (80, 30), (120, 29), (120, 36), (200, 50), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert screen_text(app).count("80 % sure") == 1
            screen = main_screen(app)
            block = screen.query_one(TimeLeft)
            seen.append((screen.query_one(Card).has_class("-large"), block.has_class("-block"), block.region.height))
            assert "17 h 26 min" in screen_text(app).replace("\n", " ") or block.region.height >= 5
    assert [(large, is_block) for large, is_block, _ in seen] == [
        (False, False),
        (True, False),
        (False, True),
        (True, True),
        (True, True),
        (False, False),
    ]


async def test_a_word_that_leaves_no_room_beside_it_is_large_only_where_there_are_rows() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.intervene())
        card = main_screen(app).query_one(Card)
        for size, large, under in (
            ((120, 36), True, False),
            ((200, 50), True, True),
            ((99, 30), False, True),
            ((99, 44), True, True),
        ):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert (card.has_class("-large"), card.has_class("-under")) == (large, under)
            assert "INTERVENE" in screen_text(app)
            assert "no token for 12 min" in " ".join(screen_text(app).split())


def is_in(app: LongwaitApp, pane: str) -> bool:
    found = main_screen(app).pane
    return found is not None and found.id == pane


def filled(app: LongwaitApp) -> str | None:
    found = main_screen(app).maximized
    return found.id if isinstance(found, Panel) else None


async def fills(pilot: Pilot[None], app: LongwaitApp, pane: str | None) -> None:
    await until(pilot, lambda: filled(app) == pane, f"{pane} over the whole screen")
    await pilot.pause()


PANES = {"1": "verdict", "2": "progress", "3": "server", "4": "logs", "5": "timeline", "6": "machine", "7": "status"}


@pytest.mark.parametrize(("digit", "pane"), PANES.items())
@pytest.mark.parametrize("size", [(40, 12), (120, 36)])
async def test_a_digit_goes_to_a_pane_again_fills_the_screen_and_again_brings_all_back(
    size: tuple[int, int], digit: str, pane: str
) -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=size) as pilot:
        await shown(pilot, feed, samples.healthy())
        has_room = main_screen(app).query_one(f"#{pane}", Panel).is_on_screen
        await pilot.press(digit)
        if has_room:
            await until(pilot, partial(is_in, app, pane), pane)
            assert filled(app) is None
            await pilot.press(digit)
        await fills(pilot, app, pane)
        await until(pilot, partial(is_in, app, pane), pane)
        region = main_screen(app).query_one(f"#{pane}", Panel).region
        assert (region.width, region.height) == (size[0], size[1] - 2)
        await pilot.press(digit)
        await fills(pilot, app, None)


async def test_a_digit_pressed_twice_in_one_burst_fills_the_screen() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, feed, samples.healthy())
        for pane, digit in (("server", "3"), ("verdict", "1")):
            for _ in range(2):
                app.post_message(events.Key(digit, digit))
            await fills(pilot, app, pane)
            await pilot.press("escape")
            await fills(pilot, app, None)


async def test_while_a_pane_fills_the_screen_another_digit_fills_it_with_another() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await pilot.press("3", "3")
        await fills(pilot, app, "server")
        await pilot.press("2")
        await fills(pilot, app, "progress")
        await pilot.press("escape")
        await fills(pilot, app, None)


async def test_esc_goes_back_step_by_step_and_never_quits() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        feed.put(lines(Source.SERVER, *(f"line {number}" for number in range(30))))
        await pilot.press("4", "4")
        await fills(pilot, app, "logs")
        await pilot.press("slash", *"line 2", "enter")
        view = log_of(app, Source.SERVER)
        await until(pilot, lambda: view.count == 11, "the filter")
        await pilot.press("escape")
        await until(pilot, lambda: view.filter is None, "no filter")
        assert filled(app) == "logs"
        await pilot.press("escape")
        await fills(pilot, app, None)
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is None, "no focus")
        await pilot.press("escape", "escape")
        await pilot.pause()
        assert not app._exit


async def test_letters_move_in_the_pane_that_fills_the_screen() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(40, 12)) as pilot:
        await shown(pilot, feed, samples.intervene())
        await pilot.press("1", "1")
        await fills(pilot, app, "verdict")
        card = main_screen(app).query_one(Card)
        await until(pilot, lambda: card.max_scroll_y > 0, "more than fits")
        for down, up in (("j", "k"), ("down", "up"), ("ctrl+d", "ctrl+u"), ("G", "g"), ("end", "home")):
            await pilot.press(down)
            await until(pilot, lambda: card.scroll_y > 0, down)
            await pilot.press(up)
            await until(pilot, lambda: card.scroll_y == 0, up)


async def test_the_mouse_goes_to_panes_scrolls_them_and_presses_keys() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.intervene())
        for pane in ("server", "status", "progress", "verdict", "logs"):
            await pilot.click(f"#{pane}", offset=(2, 2))
            await until(pilot, partial(is_in, app, pane), pane)
        footer = screen_text(app).split("\n")[-1]
        await pilot.click(offset=(footer.index("Help"), 35))
        await until(pilot, lambda: type(app.screen).__name__ == "HelpScreen", "the help")
        box = app.screen.query_one("#page")
        await pilot.pause()
        await pilot._post_mouse_events([events.MouseScrollDown], box, (10, 10), 0)
        await until(pilot, lambda: box.scroll_y > 0, "the wheel")


@pytest.mark.parametrize("size", [(60, 24), (80, 24), (120, 36)])
async def test_a_pane_that_fills_the_screen_leaves_the_verdict_in_the_top_line(size: tuple[int, int]) -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=size) as pilot:
        await shown(pilot, feed, samples.healthy())
        await pilot.press("4", "4")
        await until(pilot, lambda: main_screen(app).maximized is not None)
        assert "✓ WAIT" in screen_text(app).split("\n")[0]
        await shown(pilot, feed, samples.intervene())
        assert "✗ INTERVENE" in screen_text(app).split("\n")[0]
        await pilot.press("escape")
        await until(pilot, lambda: main_screen(app).maximized is None)
        assert "INTERVENE" not in screen_text(app).split("\n")[0]
