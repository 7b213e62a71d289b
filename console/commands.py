"""The operator's commands by key, by action and by name; the commands themselves stand in ``command_table``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual.binding import Binding

from console.command import OperatorCommand, Situation
from console.command_table import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from textual.binding import ActiveBinding

__all__ = ["COMMANDS", "OperatorCommand", "Situation"]


def bindings(
    commands: Iterable[OperatorCommand] = COMMANDS,
) -> list[Binding | tuple[str, str] | tuple[str, str, str]]:
    """Give the keys of commands, with ids so that they can be remapped."""
    return [
        Binding(command.key, command.action, command.label, show=command.shown, tooltip=command.help, id=command.id)
        for command in commands
    ]


def in_footer(
    active: ActiveBinding, commands: Iterable[OperatorCommand] = COMMANDS, *, beside_logs: bool
) -> ActiveBinding:
    """Give a key as the footer shows or hides it; one that is no command's is left as it is.

    Args:
        active: The key.
        commands: The commands of the screen.
        beside_logs: A log has the focus.
    """
    command = by_id(active.binding.id, commands)
    if command is None:
        return active
    show = command.beside_logs if beside_logs else command.shown
    return active._replace(binding=replace(active.binding, show=show))


def keys_of(command: OperatorCommand, keymap: Mapping[str, str]) -> tuple[str, ...]:
    """Give a command's keys, in Textual's names of keys.

    Args:
        command: The command.
        keymap: Command ids to keys, several separated by commas; a command that is not named keeps its own.
    """
    made = Binding.make_bindings([Binding(keymap.get(command.id) or command.key, command.action)])
    return tuple(binding.key for binding in made)


def completed(keymap: Mapping[str, str], commands: Iterable[OperatorCommand] = COMMANDS) -> dict[str, str]:
    """Give a keymap that Textual applies as it is meant.

    Textual takes a command's old key away from every other command that shares it, and the new key from the one that
    has it. So all commands that share a key with one that was given another are named, too, each with its own keys.

    Args:
        keymap: Command ids to keys, several separated by commas.
        commands: The commands of the screen.
    """
    whole = dict(keymap)
    known = tuple(commands)
    while True:
        moved = [command for command in known if command.id in whole]
        touched = {key for command in moved for names in (keymap, {}) for key in keys_of(command, names)}
        more = {
            command.id: command.key
            for command in known
            if command.id not in whole and not touched.isdisjoint(keys_of(command, {}))
        }
        if not more:
            return whole
        whole |= more


def alone(keymap: Mapping[str, str], commands: Iterable[OperatorCommand] = COMMANDS) -> frozenset[str]:
    """Give the ids of the commands that share no key with another: they need no limit to where they are meant.

    Args:
        keymap: Command ids to keys, several separated by commas.
        commands: The commands of the screen.
    """
    known = tuple(commands)
    return frozenset(
        one.id for one in known if all(len(sharing(key, keymap, known)) == 1 for key in keys_of(one, keymap))
    )


def by_key(keymap: Mapping[str, str], commands: Iterable[OperatorCommand] = COMMANDS) -> dict[str, OperatorCommand]:
    """Give the command behind each key, in Textual's names of keys.

    Args:
        keymap: Command ids to keys, several separated by commas; commands that are not named keep their keys.
        commands: Which commands.
    """
    return {key: command for command in commands for key in keys_of(command, keymap)}


def sharing(key: str, keymap: Mapping[str, str], among: Iterable[OperatorCommand] = COMMANDS) -> list[OperatorCommand]:
    """Give the commands that a key may mean, in Textual's name of the key."""
    return [command for command in among if key in by_key(keymap, (command,))]


def by_id(name: str | None, commands: Iterable[OperatorCommand] = COMMANDS) -> OperatorCommand | None:
    """Give the command of an id; None for what is no command."""
    return next((command for command in commands if command.id == name), None)


def by_action(
    action: str, parameters: tuple[object, ...] = (), commands: Iterable[OperatorCommand] = COMMANDS
) -> OperatorCommand | None:
    """Give the command that an action belongs to; None when it is no command's."""
    called = f"{action}({', '.join(repr(parameter) for parameter in parameters)})" if parameters else action
    return next((command for command in commands if command.action == called), None)


WRITTEN = {"comma": ",", "escape": "Esc", "enter": "Enter", "space": "Space"}
"""Keys that a person calls otherwise than Textual does."""


def words_of(command_id: str, keymap: Mapping[str, str]) -> str:
    """Give the keys of the command of an id as a person reads them; empty when there is no such command."""
    command = by_id(command_id)
    return key_words(command, keymap) if command is not None else ""


def key_words(command: OperatorCommand, keymap: Mapping[str, str]) -> str:
    """Give a command's keys as a person reads them."""
    keys = keymap.get(command.id, command.key).split(",")
    return " or ".join(WRITTEN.get(key, key) for key in keys)
