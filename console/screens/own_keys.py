"""The operator's own keys on what lies over the main screen.

A key there that means what a command means has the command's id: Textual then gives it the operator's key for that
command. Esc, Enter, arrows and the answers of a dialog have no id and stay what they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.binding import Binding

from console import commands
from console.job import units

if TYPE_CHECKING:
    from textual.screen import Screen


def follows(command_id: str, action: str, label: str, *, shown: bool = False, tooltip: str = "") -> Binding:
    """Give the binding of an action that is run by the keys of a command.

    Args:
        command_id: The command's id.
        action: What the key does here.
        label: That in a word or two.
        shown: It stands among the keys of a footer.
        tooltip: What it does, in a sentence.

    Raises:
        ValueError: No command has this id.
    """
    command = commands.by_id(command_id)
    if command is None:
        raise ValueError(f"no command is called {command_id}")
    return Binding(command.key, action, label, show=shown, tooltip=tooltip, id=command_id)


def key_of(screen: Screen[Any], command_id: str) -> str:
    """Give the key that follows a command on a screen, as a person reads it; ``--`` where there is none."""
    bound = (active.binding for active in screen.active_bindings.values() if active.node is screen)
    found = next((binding for binding in bound if binding.id == command_id), None)
    return units.UNKNOWN if found is None else screen.app.get_key_display(found)
