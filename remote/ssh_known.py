"""The host keys that are trusted, read from known_hosts files as ssh(1) reads them.

asyncssh's own reading stops at a missing file or a bad line, and turns checking off for ``UserKnownHostsFile none``;
ssh takes such a file for an empty one.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import asyncssh

if TYPE_CHECKING:
    from collections.abc import Sequence

USER_FILES = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
"""Where ssh(1) looks when the config names no file."""
GLOBAL_FILES = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
"""Likewise, for the whole machine."""

_log = logging.getLogger(__name__)
_Keys = tuple[list[asyncssh.SSHKey], list[asyncssh.SSHKey], list[asyncssh.SSHKey]]


class KnownHosts:
    """Answers asyncssh's question which keys a host may show, and remembers whether there were any.

    Args:
        files: known_hosts files; those that can't be read count as empty.

    Attributes:
        files: Likewise.
        knows_host: Whether any key of the host that was asked for is known; tells an unknown host from a changed one.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self.files = tuple(files)
        self.knows_host = False
        self._known = asyncssh.SSHKnownHosts()
        for name in files:
            self._load(Path(name).expanduser())

    def _load(self, path: Path) -> None:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            _log.debug("no known hosts in %s", path)
            return
        for number, line in enumerate(text.splitlines(), 1):
            try:
                self._known.load(line)
            except ValueError:
                _log.warning("%s, line %d is no known_hosts line", path, number)

    def __call__(self, host: str, addr: str, port: int | None) -> _Keys:
        """Trusted keys, trusted authorities, revoked keys."""
        keys, authorities, revoked = self._known.match(host.lower(), addr, port)[:3]
        self.knows_host = bool(keys or authorities or revoked)
        return list(keys), list(authorities), list(revoked)
