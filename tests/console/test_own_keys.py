"""The operator's own keys on lists, boards and help: those of the commands that they mean; answers stay what they are."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from textual.binding import Binding

from console.commands import COMMANDS, by_id
from console.screens.act import ActScreen
from console.screens.dataset import DatasetScreen
from console.screens.help import HelpScreen
from console.screens.journal import JournalScreen
from console.screens.main import MainScreen
from console.screens.moment import MomentScreen
from console.screens.own_keys import follows, key_of
from console.screens.pings import PingScreen
from console.screens.server_acting import ServerBoard
from console.screens.shapes import ShapesScreen
from tests import samples
from tests.console.fakes_ui import FakeControl, FakeFeed, asked, make_app, screen_text, shown, until
from tests.console.test_dataset_screen import DETAIL
from widgets.confirm import Confirm
from widgets.page import Page
from widgets.typed_confirm import TypedConfirm

if TYPE_CHECKING:
    from textual.pilot import Pilot
    from textual.screen import ModalScreen

OURS = {
    "quit": "f10",
    "help": "f1",
    "filter": "f3",
    "next-match": "f4",
    "former-match": "f5",
    "act": "f6",
    "copy": "f7",
    "copy-block": "f8",
    "confirm-go": "enter",
}
"""Keys of the operator's own, and an id by which somebody might have the dialog's yes moved."""

FOLLOWING = (ActScreen, DatasetScreen, HelpScreen, JournalScreen, MomentScreen, PingScreen, ServerBoard, ShapesScreen)


def ids(screen: type[Any]) -> dict[str, str]:
    """Give the ids of a screen's own keys, with the keys."""
    bound = [one for base in screen.__mro__ for one in base.__dict__.get("BINDINGS", ()) if isinstance(one, Binding)]
    return {one.id: one.key for one in bound if one.id}


@pytest.mark.parametrize("screen", FOLLOWING, ids=lambda screen: screen.__name__)
def test_each_follows_commands_by_the_keys_that_these_have(screen: type[ModalScreen[Any]]) -> None:
    found = ids(screen)
    assert "quit" in found
    assert {name: key for name, key in found.items() if (known := by_id(name)) is None or known.key != key} == {}


@pytest.mark.parametrize("screen", [Confirm, TypedConfirm])
def test_the_answers_of_a_dialog_follow_nothing(screen: type[ModalScreen[Any]]) -> None:
    assert ids(screen) == {}


def test_what_is_no_command_can_not_be_followed() -> None:
    with pytest.raises(ValueError, match="no command is called healht"):
        follows("healht", "close", "Close")
    assert follows("health", "again", "Again").key == next(one.key for one in COMMANDS if one.id == "health")


async def gone(pilot: Pilot[None], *keys: str) -> None:
    """Press keys, and wait until the main screen is there alone."""
    await pilot.press(*keys)
    await until(pilot, lambda: isinstance(pilot.app.screen, MainScreen), "the main screen")


async def test_the_help_follows_and_names_the_keys() -> None:
    app = make_app(FakeFeed(), FakeControl(), keymap=OURS)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen), "the help")
        await until(pilot, lambda: "f3 searches, Esc closes" in screen_text(app), "its keys")
        page = app.screen.query_one(Page)
        await pilot.press("slash", "q", "n", "question_mark")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)  # the former keys mean nothing any more
        await pilot.press("f3", *"retraction", "enter")
        await until(pilot, lambda: page.here == 0, "the first match")
        await pilot.press("f4")
        await until(pilot, lambda: page.here == 1, "the next")
        await pilot.press("f5")
        await until(pilot, lambda: page.here == 0, "the former")
        await gone(pilot, "f1")
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen), "the help again")
        await gone(pilot, "escape")


async def test_a_dataset_follows_and_names_the_keys() -> None:
    feed = FakeFeed(details={DETAIL.name: DETAIL})
    app = make_app(feed, FakeControl(), keymap=OURS)
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await pilot.press("2", "enter")
        await until(pilot, lambda: isinstance(app.screen, DatasetScreen), "the dataset")
        await until(pilot, lambda: "f7 f8 copy   f1 help" in screen_text(app), "its keys")
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen), "its help")
        await pilot.press("f10")
        await until(pilot, lambda: isinstance(app.screen, DatasetScreen), "the dataset again")
        await gone(pilot, "f10")


async def test_a_dialog_says_yes_by_y_alone_whatever_the_config_says() -> None:
    feed, control = FakeFeed(), FakeControl()
    app = make_app(feed, control, keymap=OURS)
    async with app.run_test(size=(120, 36)) as pilot:
        await shown(pilot, feed, samples.healthy())
        await pilot.press("K")
        await asked(pilot)
        await gone(pilot, "enter")  # the focus is on the button that changes nothing
        assert control.carried == []
        await pilot.press("K")
        await asked(pilot)
        await pilot.press("y")
        await until(pilot, partial(lambda: len(control.carried) == 1), "the act")


async def test_a_key_that_is_not_there_is_unknown() -> None:
    app = make_app(FakeFeed(), FakeControl())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen), "the help")
        assert (key_of(app.screen, "filter"), key_of(app.screen, "restart")) == ("/", "--")
