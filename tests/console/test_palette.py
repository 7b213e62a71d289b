"""The palette: every command by its name, kept between two openings, run when it is picked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.command import CommandPalette
from textual.widgets import Input

from console import app as app_module
from console.commands import COMMANDS
from console.screens.help import open_help
from console.screens.main import MainScreen
from console.screens.palette import PaletteScreen, entries, open_palette
from tests import samples
from tests.console.fakes_ui import (
    FakeControl,
    FakeFeed,
    asked,
    main_screen,
    make_app,
    notices,
    screen_text,
    shown,
    until,
)
from widgets.choices import Choices

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from console.app import LongwaitApp


async def opened(pilot: Pilot[None]) -> PaletteScreen:
    """Open the palette, and give it once its field can be typed into."""
    await pilot.press("ctrl+p")
    await until(pilot, lambda: isinstance(pilot.app.screen, PaletteScreen), "the palette")
    await until(pilot, lambda: isinstance(pilot.app.focused, Input), "its field")
    await pilot.pause()
    assert isinstance(pilot.app.screen, PaletteScreen)
    return pilot.app.screen


def listed(app: LongwaitApp) -> list[str]:
    return [choice.name for choice in app.screen.query_one(Choices).choices]


async def test_it_runs_what_was_typed() -> None:
    feed = FakeFeed()
    app = make_app(feed, None)
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        await pilot.press(*"check health")
        await until(pilot, lambda: listed(app)[:1] == ["Check health now (h)"], "the command")
        assert "Check health now (h)" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, MainScreen), "the main screen")
        await until(pilot, lambda: feed.pings == 1, "the question")


async def test_all_commands_stand_in_their_order_with_the_operator_s_keys_before_anything_is_typed() -> None:
    app = make_app(FakeFeed(), FakeControl(), keymap={"health": "f5"})
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        names = listed(app)
        assert [name.rpartition(" (")[0] for name in names[: len(COMMANDS)]] == [one.name for one in COMMANDS]
        assert "Check health now (f5)" in names
        assert "Theme" in names[len(COMMANDS) :]


async def test_one_that_can_not_run_says_why_in_the_list_and_when_it_is_picked() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl(), read_only=True)
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await opened(pilot)
        await pilot.press(*"stop the job")
        await until(pilot, lambda: listed(app)[:1] == ["Stop the job (K)"], "the command")
        assert "This console is read-only" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: any("read-only" in note for note in notices(app)), "the reason")


async def test_an_act_that_is_picked_is_asked_about() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await opened(pilot)
        await pilot.press(*"stop the job", "enter")
        await asked(pilot)


async def test_it_begins_anew_at_each_opening_and_is_the_same_screen() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(120, 36)) as pilot:
        first = await opened(pilot)
        everything = listed(app)
        await pilot.press(*"health", "down")
        await until(pilot, lambda: listed(app) != everything, "what was found")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, MainScreen), "the main screen")
        await shown(pilot, feed, samples.link_lost())
        again = await opened(pilot)
        assert again is first
        assert listed(app) == everything
        assert app.screen.query_one(Input).value == ""
        assert app.screen.query_one(Choices).here == 0
        reconnect = next(one for one in app.screen.query_one(Choices).choices if one.name.startswith("Reconnect"))
        assert "nothing to reconnect" not in reconnect.help  # refused at first, and not now


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 36)])
async def test_the_marked_one_stays_in_sight_and_the_list_ends_where_it_ends(size: tuple[int, int]) -> None:
    app = make_app(FakeFeed(), FakeControl())
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        choices = app.screen.query_one(Choices)
        for key in ("pagedown", "down", "pagedown", "up", "ctrl+end", "down", "pageup", "ctrl+home", "up"):
            await pilot.press(key)
            await pilot.pause()
            assert 0 <= choices.here < len(choices.choices)
            assert choices.choices[choices.here].name[:20] in screen_text(app)
        assert choices.here == 0


async def test_a_click_picks() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        choices = app.screen.query_one(Choices)
        place = listed(app).index("Check health now (h)")
        await pilot.click(choices, offset=(5, 2 * place + 1))
        await until(pilot, lambda: feed.pings == 1, "the question")


async def test_what_has_no_such_name_is_said_and_enter_does_nothing() -> None:
    app = make_app(FakeFeed(), FakeControl())
    async with app.run_test(size=(80, 24)) as pilot:
        palette = await opened(pilot)
        await pilot.press(*"xyzzy")
        await until(pilot, lambda: "No command has such a name." in screen_text(app), "the words")
        await pilot.press("enter", "down")
        await pilot.pause()
        assert app.screen is palette


async def test_over_a_dialog_it_has_no_command_that_acts() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await pilot.press("K")
        await asked(pilot)
        await opened(pilot)
        assert "Theme" in listed(app)
        assert [name for name in listed(app) if name.startswith(("Stop", "Restart", "Start"))] == []


async def test_themes_are_chosen_in_a_palette_of_their_own() -> None:
    app = make_app(FakeFeed(), FakeControl())
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        await pilot.press(*"theme", "enter")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette), "the themes")


def test_help_and_palette_are_read_before_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(app_module, "import_module", read.append)
    app_module.get_ready()
    assert sorted(read) == [open_help.__module__, open_palette.__module__]


async def test_entries_are_those_of_the_screen_below() -> None:
    app = make_app(FakeFeed(), FakeControl())
    async with app.run_test(size=(120, 36)):
        names = [entry.name for entry in entries(main_screen(app))]
        assert len(names) > len(COMMANDS)
        assert len(set(names)) == len(names)
