"""Every command's key, pressed where it means something, has its effect; keys of the operator's own, and their faults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from textual.widgets import Input

from console.commands import COMMANDS, OperatorCommand, completed
from console.control import Verb
from console.doctor import check_keys
from console.job.events import Source
from console.key_faults import OWN, TAKEN, faults, is_key, unknown
from console.panels.header import HeaderLine
from console.panels.log_field import LogField
from console.panels.panel import Panel
from console.panels.server import DEFAULT_SPAN, ServerPanel
from console.replay_commands import REPLAYED
from console.screens.dataset import DatasetScreen
from console.screens.help import HelpScreen
from console.screens.shapes import ShapesScreen
from tests import samples
from tests.console.fakes_ui import (
    FakeControl,
    FakeFeed,
    lines,
    log_of,
    main_screen,
    make_app,
    notices,
    screen_text,
    shown,
    until,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from console.app import LongwaitApp
    from console.job.snapshot import Snapshot


@dataclass
class Stage:
    """The console while a key is pressed."""

    app: LongwaitApp
    feed: FakeFeed
    control: FakeControl

    @property
    def span(self) -> str:
        return main_screen(self.app).query_one(ServerPanel).span

    def told(self, beginning: str) -> bool:
        return any(note.startswith(beginning) for note in notices(self.app))

    def planned(self, verb: Verb) -> bool:
        return any(asked == verb for asked, _ in self.control.planned)

    def focus_in(self, pane: str) -> bool:
        found = main_screen(self.app).pane
        return found is not None and found.id == pane

    def is_filled_with(self, pane: str) -> bool:
        found = main_screen(self.app).maximized
        return isinstance(found, Panel) and found.id == pane

    def typing(self, aim: str) -> bool:
        box = main_screen(self.app).query_one(LogField)
        return box.is_open and box.aim == aim and isinstance(self.app.focused, Input)

    def is_open(self, screen: type) -> bool:
        return isinstance(self.app.screen, screen)


@dataclass(frozen=True)
class Effect:
    """What a key does.

    Attributes:
        seen: Whether it is seen.
        first: Keys pressed before it.
        snapshot: What is known of the run.
    """

    seen: Callable[[Stage], bool]
    first: tuple[str, ...] = ()
    snapshot: Callable[[], Snapshot] = field(default=samples.healthy)


IN_A_LOG = ("4",)

EFFECTS: dict[str, Effect] = {
    "health": Effect(lambda on: on.feed.pings == 1),
    "restart": Effect(lambda on: on.planned(Verb.RESTART)),
    "start": Effect(lambda on: on.planned(Verb.START)),
    "stop": Effect(lambda on: on.planned(Verb.STOP)),
    "rollback": Effect(lambda on: on.control.backs == 1),
    "restart-server": Effect(lambda on: on.told("Not yet: the run is still being opened.")),
    "act": Effect(lambda on: on.told("Nothing has been started, stopped or restarted")),
    "journal": Effect(lambda on: on.told("There is no journal yet")),
    "reconnect": Effect(lambda on: on.feed.reconnects == 1, snapshot=samples.link_lost),
    "logs": Effect(lambda on: on.focus_in("logs")),
    "filter": Effect(lambda on: on.typing("filter")),
    "search": Effect(lambda on: on.typing("search"), IN_A_LOG),
    "save-picture": Effect(lambda on: on.told("Saved ")),
    "next-match": Effect(lambda on: on.told("Nothing is looked for"), IN_A_LOG),
    "note": Effect(lambda on: on.told("There is no journal yet")),
    "former-match": Effect(lambda on: on.told("Nothing is looked for"), IN_A_LOG),
    "next-error": Effect(lambda on: on.told("There is no error line below"), IN_A_LOG),
    "former-error": Effect(lambda on: on.told("There is no error line above"), IN_A_LOG),
    "rank": Effect(lambda on: on.told("No line has named a rank"), IN_A_LOG),
    "kind": Effect(lambda on: log_of(on.app, Source.JOB).only is not None, IN_A_LOG),
    "copy": Effect(lambda on: on.told("Copied 1 line")),
    "copy-block": Effect(lambda on: on.told("Copied ") and " lines by OSC 52" in notices(on.app)[-1]),
    "mouse": Effect(lambda on: "mouse" in dict(on.app.screen.query_one(HeaderLine).passing)),
    "wrap": Effect(lambda on: log_of(on.app, Source.JOB).wrap),
    "shapes": Effect(lambda on: on.is_open(ShapesScreen)),
    "follow": Effect(lambda on: log_of(on.app, Source.SERVER).following, (*IN_A_LOG, "g")),
    "zoom": Effect(lambda on: on.is_filled_with("server"), ("3",)),
    "quiet": Effect(lambda on: on.app.quiet.on),
    "back": Effect(lambda on: main_screen(on.app).maximized is None and on.focus_in("server"), ("3", "z")),
    "verdict": Effect(lambda on: on.focus_in("verdict")),
    "datasets": Effect(lambda on: on.focus_in("progress")),
    "open-dataset": Effect(lambda on: on.is_open(DatasetScreen), ("2",)),
    "server": Effect(lambda on: on.focus_in("server")),
    "machine": Effect(lambda on: on.focus_in("machine") or on.is_filled_with("machine")),
    "span-shorter": Effect(lambda on: on.span != DEFAULT_SPAN),
    "span-longer": Effect(lambda on: on.span != DEFAULT_SPAN),
    "log-pane": Effect(lambda on: on.focus_in("logs")),
    "timeline": Effect(lambda on: on.focus_in("timeline")),
    "since": Effect(lambda on: on.told("You have not been away")),
    "status": Effect(lambda on: on.focus_in("status")),
    "help": Effect(lambda on: on.is_open(HelpScreen)),
    "quit": Effect(lambda on: on.app._exit),
}
"""What is seen of each command, by its id: a command that somebody adds wants a row here."""


def test_every_command_has_a_row() -> None:
    assert [command.id for command in COMMANDS if command.id not in EFFECTS] == []
    assert [name for name in EFFECTS if name not in {command.id for command in COMMANDS}] == []


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.id)
async def test_the_key_of_each_command_has_its_effect(
    command: OperatorCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    effect = EFFECTS[command.id]
    feed, control = FakeFeed(), FakeControl()
    app = make_app(feed, control)
    async with app.run_test(size=(120, 36)) as pilot:
        on = Stage(app, feed, control)
        await shown(pilot, feed, effect.snapshot())
        feed.put(lines(Source.SERVER, *(f"line {number}" for number in range(9))))
        await until(pilot, lambda: log_of(app, Source.SERVER).kept == 9, "the lines")
        for key in effect.first:
            await pilot.press(key)
            await pilot.pause()
        assert command.id in {"back", "follow"} or not effect.seen(on)
        await pilot.press(command.key.partition(",")[0])
        await until(pilot, lambda: effect.seen(on), f"what {command.id} does")


OURS = {"health": "f5", "note": "f2", "quit": "q,f10"}


async def test_a_command_with_another_key_leaves_those_that_shared_the_old_one() -> None:
    feed = FakeFeed()
    app = make_app(feed, FakeControl(), keymap=OURS)
    async with app.run_test(size=(120, 36)) as pilot:
        on = Stage(app, feed, FakeControl())
        await pilot.press("f5")
        await until(pilot, lambda: feed.pings == 1, "the question")
        await pilot.press("4")
        await until(pilot, lambda: on.focus_in("logs"), "the log")
        await pilot.press("n")
        await until(pilot, lambda: on.told("Nothing is looked for"), "the next match")
        await pilot.press("h")
        await pilot.press("f2")
        await until(pilot, lambda: on.told("There is no journal yet"), "the note")
        assert feed.pings == 1
        await pilot.press("f10")
        await until(pilot, lambda: app._exit, "the end")


def test_a_keymap_is_completed_with_those_that_share_its_keys() -> None:
    assert completed({}) == {}
    assert completed({"note": "f2"}) == {"note": "f2", "next-match": "n"}
    assert completed({"note": "R"}) == {"note": "R", "next-match": "n", "restart": "R"}
    assert completed({"health": "f5"}) == {"health": "f5"}


CLASHES = (
    ({"health": "R"}, ("Check health now", "health", "Restart the job", "restart", "Key R")),
    ({"help": "slash"}, ("Filter the log", "filter", "Help", "help", "Key /")),
    ({"note": "e"}, ("Write a note", "note", "Go to the next error", "next-error", "Key e")),
)


@pytest.mark.parametrize(("keymap", "named"), CLASHES)
def test_two_commands_on_one_key_are_both_named(keymap: dict[str, str], named: tuple[str, ...]) -> None:
    (fault,) = faults(keymap)
    assert [word for word in named if word not in fault] == []


def test_what_is_shared_by_default_is_no_clash() -> None:
    assert faults({}) == faults({}, REPLAYED) == ()
    assert faults({"note": "f2", "next-match": "f3"}) == ()
    assert faults({"next-match": "f2", "next-error": "n"}) != ()


@pytest.mark.parametrize("key", ["h", "?", "f5", "ctrl+x", "shift+f2", "question_mark", "ctrl+shift+a", "é"])
def test_keys_that_there_are(key: str) -> None:
    assert is_key(key)
    assert faults({"health": key, "help": "f1"}) == ()


@pytest.mark.parametrize("key", ["ctl+x", "f99", "hello", "ctrl+", "shift+hello"])
def test_keys_that_there_are_not(key: str) -> None:
    assert not is_key(key)
    (fault,) = faults({"health": key})
    assert fault.startswith(f"keys.health: {key} is no key")


def test_keys_that_are_taken_are_told() -> None:
    for key in (*OWN, *TAKEN):
        (fault,) = faults({"health": key})
        assert f'Key {key} of "Check health now" (health)' in fault


async def test_a_clash_is_told_when_the_console_opens() -> None:
    app = make_app(FakeFeed(), FakeControl(), keymap={"health": "R"})
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: any("stands for two commands" in note for note in notices(app)), "the notice")


MANY = {"health": "R", "note": "hello", "help": "slash", "reconnect": "tab"}
"""Keys of four kinds of fault."""


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_all_faults_of_the_keys_are_in_sight_when_the_console_opens(size: tuple[int, int]) -> None:
    app = make_app(FakeFeed(), FakeControl(), keymap=MANY)
    expected = faults(MANY)
    assert len(expected) == 4
    async with app.run_test(size=size, notifications=True) as pilot:

        def seen() -> str:
            return " ".join(screen_text(app).replace("▌", "").split())

        await until(pilot, lambda: all(fault in seen() for fault in expected), "all of them")
        await until(pilot, lambda: "4 faults under `keys` in the config" in seen(), "how many they are")


def test_the_doctor_tells_of_keys() -> None:
    assert check_keys({}) == ()
    assert [check.state for check in check_keys({"health": "f5"})] == ["ok"]
    (clash,) = check_keys({"health": "R"})
    assert (clash.state, len(clash.remedies)) == ("warn", 1)
    assert "restart" in clash.remedies[0]
    (strange,) = check_keys({"healht": "f5"})
    assert (strange.state, "healht" in strange.detail) == ("fail", True)
    assert unknown({"healht": "f5", "play": "x"}, REPLAYED) == ["healht"]
