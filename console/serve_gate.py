"""Who may use the console in a browser: a key that only the printed address carries, and no other site's pages; pure.

A port on loopback is open to every user of the machine, and to every page that is open in the operator's browser: a
page may open a WebSocket to any address. So nothing is given without the key, and a WebSocket only to our own page.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from ipaddress import ip_address

LOOPBACK = "127.0.0.1"
"""Where the console is served unless another address is asked for."""

_NAMED = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::\d{1,5})?")
"""A ``Host`` header: name or address, and maybe a port."""


def is_loopback(host: str) -> bool:
    """Whether an address, or a name, is this machine's own and no other's.

    Args:
        host: As in ``--host`` or in a URL; an IPv6 address may stand in brackets.
    """
    bare = host.strip("[]").lower()
    try:
        return ip_address(bare).is_loopback
    except ValueError:
        return bare == "localhost"


@dataclass(frozen=True, slots=True)
class Gate:
    """Decides on each request.

    Attributes:
        key: The secret that the printed address carries and the cookie keeps.
        bound: The address that is listened on.
    """

    key: str
    bound: str = LOOPBACK

    def knows(self, key: str | None) -> bool:
        """Whether a key is ours; takes as long for a near miss as for any other."""
        # A cookie may hold bytes that are no text: they come as lone surrogates.
        return key is not None and hmac.compare_digest(key.encode("utf-8", "surrogatepass"), self.key.encode())

    def stranger(self, host: str, origin: str | None = None, *, needs_origin: bool = False) -> str:
        """Say why a request is not answered whatever key it has; empty when it may be.

        Through ``ssh -L`` the browser's port is another than ours, so ports are compared with each other only.

        Args:
            host: Its ``Host`` header.
            origin: Its ``Origin`` header; None when it has none.
            needs_origin: It opens a WebSocket: a browser always says from which page.
        """
        named = _NAMED.fullmatch(host)
        if named is None:
            return "The request names no host."
        if is_loopback(self.bound) and not is_loopback(named["name"]):
            # A name of a stranger's that leads to loopback makes his page pass for ours (DNS rebinding).
            return f"This console is served to this machine only, not as {named['name']}."
        if needs_origin and origin not in {f"http://{host}", f"https://{host}"}:
            return "Another site's page may not open this console."
        return ""
