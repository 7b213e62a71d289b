"""Where an address leads, by the SSH config: name, port, user, keys, known hosts, jump hosts; as ssh(1) reads it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import asyncssh

from remote.ssh_address import Address, split_jumps
from remote.ssh_dial import Dialer
from remote.ssh_keys import LoginKeys, load_keys
from remote.ssh_known import GLOBAL_FILES, USER_FILES, KnownHosts

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIG_FILES = ("~/.ssh/config", "/etc/ssh/ssh_config")
"""The user's settings come first, and the first value found counts; see ssh_config(5)."""

KNOWN_FIRST = "+ssh-ed25519,ecdsa-sha2-*,rsa-sha2-*"
"""Ask for the known types of host key first and for the others after them, as ssh(1) does: asyncssh alone would ask for
the known ones only, and a host that has none of them any more would hang up instead of showing its new key."""


@dataclass(frozen=True, slots=True)
class SshSettings:
    """What the caller decides; all else is the SSH config's.

    Attributes:
        config_files: SSH config files, the first value found counts; None for those of ssh(1).
        known_hosts: known_hosts files instead of the config's.
        identity: One private key file instead of the config's.
        connect_timeout_s: Seconds for one hop, from the first packet to the login.
        keepalive_s: Seconds of silence after which the host is asked whether it is there.
        keepalive_count: Unanswered questions after which the link is given up.
    """

    config_files: tuple[str, ...] | None = None
    known_hosts: tuple[str, ...] | None = None
    identity: str | None = None
    connect_timeout_s: float = 10.0
    keepalive_s: float = 3.0
    keepalive_count: int = 3


@dataclass(frozen=True, slots=True)
class Target:
    """One hop, ready to be connected to.

    Attributes:
        address: As it was written.
        host: The name or IP address that is connected to.
        port: Its port.
        user: Who logs in.
        jumps: The hosts to pass before it.
        keys: What can be offered.
        agent: Whether an agent is asked too.
        known: The trusted host keys.
        dialer: What connects to it when no jump host stands before it; None when a ``ProxyCommand`` does.
        options: What asyncssh is told besides name and port.
    """

    address: Address
    host: str
    port: int
    user: str
    jumps: tuple[Address, ...]
    keys: LoginKeys
    agent: bool
    known: KnownHosts
    dialer: Dialer | None
    options: dict[str, object] = field(repr=False)


def resolve(address: Address, settings: SshSettings) -> Target:
    """Read the SSH config for an address.

    Raises:
        ValueError: The config makes no sense (asyncssh.ConfigParseError is one).
        OSError: A config file that was named can't be read.
    """
    basis = _basis(address, settings)
    plain = asyncssh.SSHClientConnectionOptions(**basis, client_keys=None, known_hosts=b"", tunnel=None)
    config = plain.config
    known = KnownHosts(settings.known_hosts or _known_files(config))
    keys = load_keys(
        [settings.identity] if settings.identity else _words(config, "IdentityFile"), _words(config, "CertificateFile")
    )
    only = bool(config.get("IdentitiesOnly")) or settings.identity is not None
    agent = _agent_path(config)
    if only and not keys.public:
        agent = None
    options = basis | {
        "known_hosts": known,
        "client_keys": keys.pairs,
        "agent_path": agent,
        "agent_identities": keys.public if only else None,
        "proxy_command": _proxy_command(config),
        "server_host_key_algs": config.get("HostKeyAlgorithms") or KNOWN_FIRST,
        "keepalive_interval": settings.keepalive_s,
        "keepalive_count_max": settings.keepalive_count,
        "connect_timeout": settings.connect_timeout_s,
        **({} if config.get("Ciphers") else {"encryption_algs": CIPHERS}),
        **_NEVER,
    }
    del options["host"]
    del options["port"]
    jumps = split_jumps(cast("str | None", config.get("ProxyJump")))
    dialer = None if options["proxy_command"] else Dialer(plain.family, plain.local_addr)
    return Target(
        address, plain.host, plain.port, plain.username, jumps, keys, agent is not None, known, dialer, options
    )


CIPHERS = "^aes128-gcm@openssh.com,aes256-gcm@openssh.com"
"""Tried before asyncssh's own, whose first one takes it twice the time; a config's ``Ciphers`` come before these."""
_NEVER: dict[str, object] = {
    # Nothing of this machine is lent to the host, and a console has no terminal there. Of the environment, neither:
    # a job that runs for days must not depend on the language of the laptop that started it.
    "agent_forwarding": False,
    "x11_forwarding": False,
    "request_pty": False,
    "command": None,
    "env": None,
    "send_env": None,
    # Nobody is there to type, and a prompt would disturb the screen.
    "password_auth": False,
    "kbdint_auth": False,
    "pkcs11_provider": None,
}


def _basis(address: Address, settings: SshSettings) -> dict[str, object]:
    files = settings.config_files
    if files is None:
        files = tuple(name for name in CONFIG_FILES if os.access(Path(name).expanduser(), os.R_OK))
    return {
        "config": [str(Path(name).expanduser()) for name in files],
        "host": address.name,
        "port": () if address.port is None else address.port,
        "username": () if address.user is None else address.user,
        # Host certificates of OpenSSH count, those of TLS don't: known_hosts has none.
        "x509_trusted_certs": None,
    }


def _words(config: asyncssh.config.SSHConfig, option: str) -> list[str]:
    return list(cast("Sequence[str]", config.get(option) or ()))


def _known_files(config: asyncssh.config.SSHConfig) -> list[str]:
    """The known_hosts files; ``none`` is no file, and then no host is known."""
    user, shared = config.get("UserKnownHostsFile"), config.get("GlobalKnownHostsFile")
    return [
        *(USER_FILES if user is None else cast("Sequence[str]", user)),
        *(GLOBAL_FILES if shared is None else cast("Sequence[str]", shared)),
    ]


def _agent_path(config: asyncssh.config.SSHConfig) -> str | None:
    """The agent's socket, None when there is none or it is not wanted."""
    wanted = config.get("IdentityAgent", "SSH_AUTH_SOCK")
    path = os.environ.get("SSH_AUTH_SOCK") if wanted == "SSH_AUTH_SOCK" else cast("str | None", wanted)
    return path if path and Path(path).expanduser().is_socket() else None


def _proxy_command(config: asyncssh.config.SSHConfig) -> list[str] | None:
    """A ``ProxyCommand``, run by a shell as ssh(1) does.

    asyncssh takes the command's stderr for a part of the SSH stream, and its end for the stream's; so the command
    gets none, and the shell stays to keep the pipe open.
    """
    command = cast("str | None", config.get("ProxyCommand"))
    return ["sh", "-c", f"{{ {command}\n}} 2>/dev/null; exit $?"] if command else None
