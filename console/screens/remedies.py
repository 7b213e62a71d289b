"""Which key does what the verdict asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console import commands

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.command import Situation

RESTART, START, STOP, SERVER = "restart", "start", "stop", "restart-server"
"""Ids of commands."""

REMEDIES: dict[str, str] = {
    "job_dead": START,
    "job_stalled": RESTART,
    "server_down": SERVER,
    "server_stalled": SERVER,
    "error_storm": STOP,
    "runaway_completions": STOP,
    "resume_broken": STOP,
    "over_budget": RESTART,
    "wrong_script": RESTART,
}
"""The command that does the first thing that a cause asks for. Causes that want something else first, room on a disk or
another setting, have none."""

WANT_SCRIPT = frozenset({"over_budget", "wrong_script"})
"""Causes that a restart mends only together with another script."""


def remedy(cause: str, keymap: Mapping[str, str], situation: Situation, *, has_script: bool) -> str:
    """Give the key that does what the verdict asks for.

    Args:
        cause: The verdict's.
        keymap: Command ids to the operator's own keys.
        situation: What the guards look at.
        has_script: A restart puts another script in place.

    Returns:
        The key as a person reads it; empty where no key does it, or not now.
    """
    command = commands.by_id(REMEDIES.get(cause))
    if command is None or command.refusal(situation) or (cause in WANT_SCRIPT and not has_script):
        return ""
    return commands.key_words(command, keymap)
