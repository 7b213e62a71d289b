"""A remote command that ends when its channel does.

SSH has a request that sends a signal, but OpenSSH refuses it to root, and a command that prints nothing never learns
that nobody listens. So a small shell stands before the command and reads the channel's stdin, on which nothing ever
comes: its end means that we left, or that the link is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LEASH = (
    'exec 3<&0 </dev/null; "$@" 3<&- & p=$!; '
    "{ while read -r _ <&3; do :; done; kill -TERM $p; sleep 2; kill -KILL $p; } >/dev/null 2>&1 & w=$!; "
    "exec 3<&-; wait $p; s=$?; kill $w 2>/dev/null; exit $s"
)
"""Two seconds are for a command's own clean-up. Only the command itself is signalled, not its group: some SSH servers
start commands in their own group."""


def leashed(argv: Sequence[str]) -> list[str]:
    """The command behind the shell that ends it; its exit status is kept, 128 and more for a signal."""
    return ["sh", "-c", LEASH, "longwait", *argv]
