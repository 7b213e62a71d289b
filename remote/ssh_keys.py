"""The keys that a login may use, gathered as ssh(1) does: a key that can't be used is noted, never a failure."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import asyncssh

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_FILES = ("~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ecdsa_sk", "~/.ssh/id_ed25519", "~/.ssh/id_ed25519_sk")
"""Tried when neither the config nor the caller names a key; see ssh_config(5), IdentityFile."""


@dataclass(slots=True)
class LoginKeys:
    """What can be offered.

    Attributes:
        pairs: Keys that can sign.
        public: Public halves, by which an agent's keys are chosen.
        offered: Names of the files in ``pairs``.
        notes: Why a file was not used, one sentence part each.
    """

    pairs: list[asyncssh.SSHKeyPair] = field(default_factory=list)
    public: list[asyncssh.SSHKey] = field(default_factory=list)
    offered: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def load_keys(named: Sequence[str], certificates: Sequence[str] = ()) -> LoginKeys:
    """Load the named key files, or the default ones when none is named.

    Args:
        named: Private key files, or public ones whose private half an agent holds.
        certificates: User certificates to go with them.
    """
    keys = LoginKeys()
    certs = [name for name in certificates if Path(name).expanduser().is_file()]
    for name in named or DEFAULT_FILES:
        path = Path(name).expanduser()
        if path.is_file():
            _load(keys, path, certs)
        elif named:
            keys.notes.append(f"{name} does not exist")
    return keys


def _load(keys: LoginKeys, path: Path, certs: Sequence[str]) -> None:
    known_before = len(keys.public)
    for public in (path, path.with_name(f"{path.name}.pub")):
        try:
            keys.public.append(asyncssh.read_public_key(public))
        except (OSError, ValueError):
            continue
    try:
        keys.pairs += asyncssh.load_keypairs([str(path)], certlist=list(certs))
    except OSError as error:
        keys.notes.append(f"{path} can't be read ({error.strerror})")
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError, ValueError) as error:
        if "assphrase" in str(error):
            keys.notes.append(f"{path} has a passphrase: give it to the agent with `ssh-add {path}`")
        elif len(keys.public) == known_before:
            keys.notes.append(f"{path} is no key that can be used ({error})")
    else:
        keys.offered.append(str(path))
