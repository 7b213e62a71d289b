"""The last row: the keys that work now, below the mouse too; and what a key of the panes makes the screen do."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from textual._compositor import Compositor
from textual.events import AppBlur, AppFocus

from console.screens.footer import KeysFooter
from tests import samples
from tests.console.fakes_ui import FakeControl, FakeFeed, make_app, screen_text, shown, until

if TYPE_CHECKING:
    import pytest

    from console.app import LongwaitApp


def last_row(app: LongwaitApp) -> str:
    """The footer."""
    return screen_text(app).split("\n")[-1]


def says(app: LongwaitApp, word: str) -> bool:
    """Whether it has a word."""
    return word in last_row(app)


async def test_each_key_that_is_shown_stands_there_once_and_can_be_clicked() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await until(pilot, lambda: "Help" in last_row(app), "the keys")
        said = [one.binding for one in app.screen.active_bindings.values() if one.binding.show and one.enabled]
        actions = {binding.action: binding for binding in reversed(said)}
        assert actions
        for binding in actions.values():
            assert last_row(app).count(f"{app.get_key_display(binding)} {binding.description}") == 1
        await pilot.click(offset=(last_row(app).index("Help"), 35))
        await until(pilot, lambda: type(app.screen).__name__ == "HelpScreen", "the help")


async def test_the_key_below_the_mouse_is_marked_and_a_blank_is_none() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await until(pilot, lambda: "Help" in last_row(app), "the keys")
        footer = app.screen.query_one(KeysFooter)
        plain, at = list(footer.render_line(0)), last_row(app).index("Help")
        await pilot.hover(offset=(at, 35))
        await until(pilot, lambda: list(footer.render_line(0)) != plain, "the mark")
        marked = list(footer.render_line(0))
        assert [one.text for one in marked] == [one.text for one in plain]
        assert {one.text.strip() for one in marked if one not in plain} == {"?", "Help"}
        await pilot.hover(offset=(119, 35))
        await until(pilot, lambda: list(footer.render_line(0)) == plain, "no mark")
        await pilot.click(offset=(119, 35))
        await pilot.pause()
        assert len(app.screen_stack) == 1


async def test_keys_stay_while_another_window_is_typed_into() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await until(pilot, lambda: "Help" in last_row(app), "the keys")
        before = last_row(app)
        app.post_message(AppBlur())
        await pilot.pause()
        app.screen.refresh_bindings()
        await pilot.pause()
        assert last_row(app) == before
        app.post_message(AppFocus())
        await pilot.pause()
        assert last_row(app) == before


async def test_a_key_that_moves_the_focus_draws_what_changes_and_lays_out_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    whole, reflow = Compositor.render_full_update, Compositor.reflow

    def counted_whole(self: Compositor, **more: Any) -> object:
        done.append("whole")
        return whole(self, **more)

    def counted_reflow(self: Compositor, *parts: Any) -> object:
        done.append("layout")
        return reflow(self, *parts)

    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await pilot.press("4", "1")  # once, so that what is laid out the first time is
        await until(pilot, lambda: "R Restart" in last_row(app), "the console's keys")
        await pilot.pause()
        monkeypatch.setattr(Compositor, "render_full_update", counted_whole)
        monkeypatch.setattr(Compositor, "reflow", counted_reflow)
        for key, word in (("4", "Follow"), ("1", "R Restart"), ("2", "R Restart"), ("3", "R Restart")):
            await pilot.press(key)
            await until(pilot, partial(says, app, word), word)
            await pilot.pause()
        assert done == []


async def test_on_a_narrow_screen_help_and_quit_stay() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(60, 24)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await until(pilot, partial(says, app, "q Quit"), "the way out")
        assert "h Health" in last_row(app)
        assert "? Help" in last_row(app)
        await pilot.resize_terminal(20, 24)
        await until(pilot, lambda: last_row(app).rstrip() == "? Help q Quit", "the way out")


async def test_a_pane_names_its_own_keys_and_the_way_back() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await until(pilot, partial(says, app, "q Quit"), "the keys")
        assert "esc" not in last_row(app)
        await pilot.press("2")
        await until(pilot, partial(says, app, "enter Open"), "what Enter does")
        await pilot.press("2")
        await until(pilot, partial(says, app, "esc Back"), "the way back")
        await pilot.press("5")
        await until(pilot, partial(says, app, "left Earlier"), "the timeline's keys")
        assert "q Quit" in last_row(app)


async def test_a_footer_of_a_terminal_that_is_only_looked_at_follows_the_run_too() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl())
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await pilot.press("5")
        await until(pilot, partial(says, app, "left Earlier"), "the timeline's keys")
        app.post_message(AppBlur())
        await until(pilot, lambda: not app.app_focus, "the blur")
        before = last_row(app)
        await shown(pilot, feed, samples.link_lost())
        await until(pilot, partial(says, app, "r Reconnect"), "the key that is of use now")
        assert says(app, "left Earlier")
        await shown(pilot, feed, samples.healthy())
        await until(pilot, lambda: last_row(app) == before, "the keys of before")
