"""asyncssh's and the system's errors as sentences: what was tried, what happened, what to do."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING

import asyncssh

from remote.errors import CannotConnect, HostKeyRejected, LoginRefused

if TYPE_CHECKING:
    from remote.ssh_target import Target

FAILURES = (OSError, ValueError, asyncssh.Error, asyncssh.ChannelListenError)
"""What connecting may raise; TimeoutError is an OSError."""
_SSH_PORT = 22


def cannot_resolve(name: str, error: Exception) -> CannotConnect:
    """The SSH config, or the address, makes no sense."""
    message = f"{name} can't be connected to: {error}. Check the SSH config; `ssh -G {name}` shows how ssh reads it."
    return CannotConnect(message, host=name)


def cannot_connect(name: str, target: Target, error: Exception, timeout_s: float) -> CannotConnect:
    """The error for a failed attempt.

    Args:
        name: The host as the operator wrote it.
        target: The hop that failed: the host, or one of its jump hosts.
        error: What happened.
        timeout_s: Seconds the attempt had.
    """
    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        return _host_key(name, target, revoked="revoked" in str(error))
    if isinstance(error, asyncssh.KeyExchangeFailed) and "host key" in str(error):
        return _host_key(name, target, revoked=False)
    if isinstance(error, asyncssh.PermissionDenied) or "Too many authentication failures" in str(error):
        return _login(name, target, error)
    return CannotConnect(f"{_where(name, target)} {_what(target, error, timeout_s)}", host=name)


def _where(name: str, target: Target) -> str:
    place = target.host if target.port == _SSH_PORT else f"{target.host}:{target.port}"
    hop = target.address.name
    if hop in {name, name.rpartition("@")[2].partition(":")[0]}:
        return name if place in name else f"{name} ({place})"
    return f"{hop} ({place}), on the way to {name},"


def _what(target: Target, error: Exception, timeout_s: float) -> str:
    """What happened, and what to do."""
    match error:
        case socket.gaierror():
            return f"has a name that can't be resolved ({target.host}). Check the spelling, the network and the VPN."
        case TimeoutError():
            return f"did not answer in {timeout_s:g} s. Is it up, and is the VPN on?"
        case _ if _refused(error):
            return f"refused the connection: nothing listens on port {target.port}. Is sshd running, is the port right?"
        case asyncssh.ChannelOpenError():
            return f"can't be reached from its jump host ({error.reason or 'no reason given'})."
        case asyncssh.ConnectionLost() | ConnectionError():
            return (
                "hung up before the login was done. Is it an SSH port, and does a firewall or fail2ban stand before it?"
            )
        case _:
            return f"can't be connected to: {getattr(error, 'strerror', None) or error}."


def _refused(error: Exception) -> bool:
    """Whether every address of a name refused; asyncio packs several refusals into one OSError."""
    return isinstance(error, ConnectionRefusedError) or (
        isinstance(error, OSError) and error.errno is None and f"[Errno {errno.ECONNREFUSED}]" in str(error)
    )


def _host_key(name: str, target: Target, *, revoked: bool) -> HostKeyRejected:
    hop = target.address.name
    port = "" if target.port == _SSH_PORT else f"-p {target.port} "
    entry = target.host if target.port == _SSH_PORT else f"[{target.host}]:{target.port}"
    if revoked:
        message = f"{_where(name, target)} shows a host key that is marked as revoked. Do not connect; ask who runs it."
    elif target.known.knows_host:
        message = (
            f"{_where(name, target)} shows another host key than the known one. Someone may be in between; ask who "
            f'runs the host. If it was set up anew: `ssh-keygen -R "{entry}"`, then `ssh {hop}` once, and compare.'
        )
    else:
        message = (
            f"{_where(name, target)} is not known yet: its host key is in none of the known_hosts files. "
            f"Run `ssh {hop}` once and compare the key it shows (`ssh-keyscan {port}{target.host}` prints the keys)."
        )
    return HostKeyRejected(message, host=name)


def _login(name: str, target: Target, error: Exception) -> LoginRefused:
    offered = [*target.keys.offered, *(["the agent's keys"] if target.agent else [])]
    tried = f"refused {', '.join(offered)}" if offered else "was offered no key, since there is none to offer"
    notes = f" Not used: {'; '.join(target.keys.notes)}." if target.keys.notes else ""
    many = (
        " It hung up after too many keys: name one with IdentityFile and IdentitiesOnly."
        if "Too many" in str(error)
        else ""
    )
    message = (
        f"{_where(name, target)} let user {target.user} not in: it {tried}.{many}{notes} "
        f"Check the user and that the public key is in its authorized_keys; `ssh -v {target.address.name}` shows more."
    )
    return LoginRefused(message, host=name)
