r"""A command as the one line that SSH carries, such that any login shell hands it on unchanged.

SSH gives a command to the user's login shell as text (RFC 4254, section 6.5). ``shlex.join`` quotes for POSIX shells.
A C shell reads ``!`` inside single quotes too and takes no newline there; fish reads ``\`` there; bytes above 127 may
not survive a shell's locale. In a line with any of these they are written in octal, between quotes that all shells read
alike, and a POSIX shell on the host turns them back.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_READ_DIFFERENTLY = re.compile(rb"[^ -~]|[!\\]")
_UNSAFE = re.compile(rb"[^ -~]|[!\\']")
_UNPACK = 'eval "$(printf %b "$1")"'
r"""``%b`` takes ``\0`` and three octal digits for a byte (POSIX, printf)."""


def command_line(argv: Sequence[str]) -> str:
    """The line that runs a command, whatever the login shell is: sh, bash, zsh, csh, tcsh, fish.

    Args:
        argv: The command; bytes that are not UTF-8 as surrogates.
    """
    line = shlex.join(argv)
    raw = line.encode("utf-8", "surrogateescape")
    if not _READ_DIFFERENTLY.search(raw):
        return line
    packed = _UNSAFE.sub(lambda byte: b"\\0%03o" % byte[0][0], b"exec " + raw).decode("ascii")
    return f"exec sh -c '{_UNPACK}' longwait '{packed}'"
