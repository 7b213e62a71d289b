"""What is wrong with the operator's own keys: two commands on one key, a key that a pane has for itself, no key at all.

The same sentences come when the console opens and from ``longwait doctor``.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from textual.keys import REPLACED_KEYS, Keys, key_to_character

from console.commands import COMMANDS, keys_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from console.commands import OperatorCommand

OWN = {
    "up": "goes a line up",
    "k": "goes a line up",
    "down": "goes a line down",
    "j": "goes a line down",
    "pageup": "goes a page up",
    "pagedown": "goes a page down",
    "ctrl+u": "goes half a page up",
    "ctrl+d": "goes half a page down",
    "home": "goes to the top",
    "g": "goes to the top",
    "end": "goes to the end",
    "G": "goes to the end",
    "v": "marks lines of a log",
}
"""Keys that a pane with the focus takes before any command."""

TAKEN = {
    "tab": "goes to the next pane",
    "shift+tab": "goes to the former pane",
    "ctrl+p": "opens the palette",
    "ctrl+q": "closes the console",
}
"""Keys that mean the same on every screen."""

_MODIFIERS = ("ctrl+", "shift+", "alt+", "meta+", "super+", "hyper+")

_NAMES = frozenset(key.value for key in Keys)


def is_key(name: str) -> bool:
    """Tell whether a terminal can send a key of this name.

    Args:
        name: One character, or a name as Textual has it: ``f5``, ``ctrl+x``, ``question_mark``, ``shift+f2``.
    """
    while any(name.startswith(modifier) for modifier in _MODIFIERS):
        name = name.partition("+")[2]
    return len(name) == 1 or name in _NAMES or _character(name) is not None


def unknown(keymap: Mapping[str, str], known: Iterable[OperatorCommand] = COMMANDS) -> list[str]:
    """Give the ids in a keymap that belong to no command, in order."""
    return sorted(set(keymap) - {command.id for command in known})


def clashes(
    keymap: Mapping[str, str], known: Sequence[OperatorCommand] = COMMANDS
) -> Iterator[tuple[str, OperatorCommand, OperatorCommand]]:
    """Give each key that two commands share where both can be meant, with the two; the first of them is the one run.

    Args:
        keymap: Command ids to keys, several separated by commas.
        known: The commands of the screen.
    """
    sets = [(command, keys_of(command, keymap)) for command in known]
    for (one, its), (other, others) in combinations(sets, 2):
        if one.meets(other):
            yield from ((key, one, other) for key in its if key in others)


def faults(keymap: Mapping[str, str], known: Sequence[OperatorCommand] = COMMANDS) -> tuple[str, ...]:
    """Say what is wrong with the operator's keys, a sentence or two for each fault; nothing when all is well.

    Args:
        keymap: Command ids to keys, several separated by commas.
        known: The commands of the screen.
    """
    found = [
        f"Key {_shown(key)} stands for two commands, {_named(one)} and {_named(other)}: it runs the first. "
        f"Give one of them another key under `keys`."
        for key, one, other in clashes(keymap, known)
    ]
    given = ((key, command) for command in known for key in keymap.get(command.id, "").split(","))
    return (*found, *(why for key, command in given if (why := _no_good(key.strip(), command))))


def _no_good(name: str, command: OperatorCommand) -> str:
    """Say why a key given to a command is none that will run it; empty when it will."""
    if not name:
        return ""
    if not is_key(name):
        return f"keys.{command.id}: {name} is no key. A key is one character, or a name such as f5, ctrl+x or pageup."
    if name in TAKEN:
        return f"Key {name} of {_named(command)} {TAKEN[name]}: the command can't be reached by it."
    if name in OWN:
        return f"Key {name} of {_named(command)} {OWN[name]} in a pane that has the focus, and runs it elsewhere only."
    return ""


def _named(command: OperatorCommand) -> str:
    return f'"{command.name}" ({command.id})'


def _shown(key: str) -> str:
    """Give a key as it is typed, where it is a character."""
    return _character(key) or key


def _character(name: str) -> str | None:
    """Give the character that a key of this name types; None when it types none."""
    return key_to_character(REPLACED_KEYS.get(name, name)) if "+" not in name else None
