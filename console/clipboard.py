"""What was copied, in a file: many terminals take no text from a program (OSC 52), and over SSH it may get lost."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_state_path

MOST_BYTES = 74_994
"""The longest text for OSC 52: some terminals take at most 100,000 characters of base64 and drop what is longer."""


class NotKept(Exception):  # noqa: N818 - what happened, like the other errors for people
    """The file could not be written; the message is a sentence for a person."""


def copies_path() -> Path:
    """Give the file that holds what was copied last."""
    return user_state_path("longwait") / "clipboard.txt"


def keep(text: str, path: Path) -> None:
    """Write what was copied in place of what was copied before, for this user's eyes only.

    Args:
        text: Any text; what can't be written as UTF-8 becomes a question mark.
        path: The file; its folder is made when it is not there.

    Raises:
        NotKept: It can't be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(path, flags, 0o600), "w", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - a path can't be opened without following links
            os.fchmod(file.fileno(), 0o600)
            file.write(text)
    except OSError as error:
        raise NotKept(f"The copy could not be kept in {path}: {error.strerror}.") from error


def short(path: Path) -> str:
    """Give a path as people write it, with ``~`` for the home folder."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
