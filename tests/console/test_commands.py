"""The table of commands: one row for each, keys that can be remapped, guards that say why."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.binding import Binding

from console.app import LongwaitApp
from console.commands import COMMANDS, OperatorCommand, Situation, bindings, by_action, by_key, key_words
from console.key_faults import clashes
from console.replay_commands import REPLAYED
from console.screens.main import MainScreen

ALL_WELL = Situation()


def test_ids_keys_and_actions_are_unique() -> None:
    for part in ("id", "action", "name"):
        values = [getattr(command, part) for command in COMMANDS]
        assert len(set(values)) == len(values)


@pytest.mark.parametrize("known", [COMMANDS, REPLAYED], ids=["console", "replay"])
def test_no_two_commands_share_a_key_in_one_place(known: tuple[OperatorCommand, ...]) -> None:
    assert [(key, one.id, other.id) for key, one, other in clashes({}, known)] == []


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.id)
def test_each_command_has_an_action_on_the_main_screen_or_the_app(command: OperatorCommand) -> None:
    name = command.action.split("(")[0]
    owner = LongwaitApp if name.startswith("app.") else MainScreen
    assert callable(getattr(owner, f"action_{name.removeprefix('app.')}"))


def test_what_acts_asks_and_is_guarded() -> None:
    acting = [command for command in COMMANDS if command.acts]
    assert {command.id for command in acting} == {"restart", "start", "stop", "rollback", "restart-server"}
    for command in acting:
        assert command.asks
        assert "--read-only" in command.refusal(Situation(read_only=True))
        assert command.refusal(Situation(can_act=False, can_serve=False))
        assert not command.refusal(ALL_WELL)


def test_looking_is_never_refused() -> None:
    nothing = Situation(read_only=True, can_act=False, link="lost")
    refused = [command.id for command in COMMANDS if command.refusal(nothing)]
    assert refused == ["restart", "start", "stop", "rollback", "restart-server"]


def test_reconnecting_needs_a_broken_link() -> None:
    (reconnect,) = (command for command in COMMANDS if command.id == "reconnect")
    assert reconnect.refusal(Situation(link="up"))
    assert not reconnect.refusal(Situation(link="lost"))


def test_bindings_carry_the_ids() -> None:
    made = [binding for binding in bindings() if isinstance(binding, Binding)]
    assert [binding.id for binding in made] == [command.id for command in COMMANDS]


def test_the_page_on_the_console_names_every_key() -> None:
    page = (Path(__file__).parents[2] / "docs" / "console.md").read_text(encoding="utf-8")
    assert [command.id for command in COMMANDS if f"`{key_words(command, {})}`" not in page] == []


def test_the_page_on_the_console_names_every_id() -> None:
    page = (Path(__file__).parents[2] / "docs" / "console.md").read_text(encoding="utf-8")
    assert [command.id for command in COMMANDS if f"`{command.id}`" not in page] == []


def test_keys_can_be_remapped() -> None:
    keys = by_key({"health": "H,f5", "help": "?"})
    assert keys["H"].id == keys["f5"].id == "health"
    assert "h" not in keys
    assert keys["question_mark"].id == "help"
    assert key_words(COMMANDS[0], {"health": "H,f5"}) == "H or f5"


def test_a_command_is_found_by_its_action() -> None:
    found = by_action("act_on_job", ("stop",))
    assert found is not None
    assert found.id == "stop"
    assert by_action("scroll_down") is None
