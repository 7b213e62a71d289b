"""How a command's bad end is told to a person; the same words over SSH and on this machine."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from remote.errors import CommandFailed, CommandTimedOut

if TYPE_CHECKING:
    from collections.abc import Sequence

STDERR_TAIL = 4096
"""Bytes of stderr that are kept: the end is where programs say what went wrong."""
NOT_FOUND = 127
"""The status with which a shell says that there is no such command."""
NOT_EXECUTABLE = 126
"""The status with which a shell says that a command may not be run."""
_MAX_WORDS = 80


def without_stop(text: str) -> str:
    """Somebody else's words for the end of a sentence of ours, which has its own full stop."""
    return text.strip().rstrip(".").rstrip()


def call_of(argv: Sequence[str]) -> str:
    """A short name for a command: a program given to ``sh -c`` goes by the name in its ``$0``."""
    match list(argv):
        case ["sh", "-c", program, *rest]:
            words = rest[0] if rest else program
        case _:
            words = shlex.join(argv)
    first = words.splitlines()[0] if words else "(nothing)"
    return first if len(first) <= _MAX_WORDS and first == words else f"{first[:_MAX_WORDS]}..."


def command_failed(host: str, argv: Sequence[str], status: int, stderr: bytes) -> CommandFailed:
    """The error for a status other than 0; negative for a signal."""
    said = stderr[-STDERR_TAIL:].decode("utf-8", "replace").strip()
    if status == NOT_FOUND:
        end = "was not found there; is it installed and on the PATH of a login without a terminal?"
    elif status < 0:
        end = f"was ended by signal {-status}."
    else:
        end = f"ended with status {status}."
    last = f" It said: {said.splitlines()[-1]}" if said else ""
    message = f"{call_of(argv)} on {host} {end}{last}"
    return CommandFailed(message, host=host, argv=argv, status=status, stderr=said)


def command_timed_out(host: str, argv: Sequence[str], seconds: float) -> CommandTimedOut:
    """The error for a command that took too long and was ended."""
    message = f"{call_of(argv)} on {host} did not end in {seconds:g} s and was given up."
    return CommandTimedOut(message, host=host, argv=argv, seconds=seconds)
