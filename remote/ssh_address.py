"""What an operator writes for a host, taken apart: ``gpu01``, ``me@gpu01:2222``, ``ssh://me@[::1]:22``."""

from __future__ import annotations

from dataclasses import dataclass

_MAX_PORT = 65_535


@dataclass(frozen=True, slots=True)
class Address:
    """A host as it was written.

    Attributes:
        name: A name, an alias of the SSH config, or an IP address.
        user: The user, None when none was written: then the SSH config or the local name counts.
        port: The port, None when none was written.
    """

    name: str
    user: str | None = None
    port: int | None = None


def parse_address(text: str) -> Address:
    """Take an address apart; a name with several colons and no brackets is an IPv6 address.

    Raises:
        ValueError: It has no name, or a port that is none.
    """
    user, at, place = text.strip().removeprefix("ssh://").rstrip("/").rpartition("@")
    if place.startswith("["):
        name, _, rest = place[1:].partition("]")
        port = rest.removeprefix(":")
    elif place.count(":") == 1:
        name, _, port = place.partition(":")
    else:
        name, port = place, ""
    if not name or name.startswith("-") or any(c.isspace() for c in name):
        raise ValueError(f"{text!r} has no host name")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) <= _MAX_PORT):
        raise ValueError(f"{port!r} in {text!r} is no port")
    return Address(name, user if at and user else None, int(port) if port else None)


def split_jumps(text: str | None) -> tuple[Address, ...]:
    """The hosts of a ``ProxyJump`` setting, in the order in which they are passed; see ssh_config(5).

    Raises:
        ValueError: One of them is no address.
    """
    return tuple(parse_address(part) for part in (text or "").split(",") if part.strip())
