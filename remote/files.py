"""Put a file in place on a host, whole or not at all; read one; ask whether a program is one."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remote.step import ask

if TYPE_CHECKING:
    from collections.abc import Callable

    from remote.host import Host

KEEP = 10
"""Former versions of a file that are kept: more than a run ever has, few enough to read through."""

MAX_READ_BYTES = 1_048_576
"""The most that ``read_file`` carries over by default; scripts are far smaller."""

PUT_TIMEOUT_S = 120.0
"""A script is small; what takes longer than this is a disk or a link that hangs."""

SLOWEST_BYTES_PER_S = 50_000.0
"""A large file has more time, as much as a bad line needs for it."""


@dataclass(frozen=True, slots=True)
class PutResult:
    """A file was put in place.

    Attributes:
        path: Where, with links followed.
        sha256: SHA-256 of what is there now, hex, compared on the host.
        changed: False when the same content was there already and nothing was written.
        kept: Where the former file is; None when there was none or it was the same.
    """

    path: str
    sha256: str
    changed: bool
    kept: str | None


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file on the host.

    Attributes:
        content: Its first bytes.
        size: Its size, bytes; more than ``content`` holds when it was too large.
        sha256: SHA-256 of the whole, hex.
    """

    content: bytes
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class SyntaxFault:
    """Why a program is none.

    Attributes:
        line: Where, from 1; None when it is no line's fault.
        message: What the host's Python says.
        text: The line.
    """

    line: int | None
    message: str
    text: str


async def put_file(
    host: Host,
    python: str,
    path: str,
    data: bytes,
    *,
    keep: int = KEEP,
    sent: Callable[[int], object] | None = None,
) -> PutResult:
    """Put a file in place by an atomic rename; the former one is kept beside it as ``NAME.UTC-TIME.SHA8``.

    Args:
        host: Where.
        python: The Python on the host that does it.
        path: The file there.
        data: Its content.
        keep: How many former versions stay.
        sent: Told how many bytes are on their way, where the host can tell.

    Raises:
        CommandFailed: It was refused (permission, space, a folder) or arrived damaged; the former is as it was.
        RemoteError: The host could not be asked, or its answer was lost: the file is the former or the new one, whole.
    """
    digest = hashlib.sha256(data).hexdigest()
    request = {"path": path, "size": len(data), "sha256": digest, "keep": keep}
    timeout_s = PUT_TIMEOUT_S + len(data) / SLOWEST_BYTES_PER_S
    answer = await ask(host, python, "put", request, data=data, timeout_s=timeout_s, sent=sent)
    return PutResult(answer["path"], digest, answer["changed"], answer["kept"])


async def read_file(host: Host, python: str, path: str, *, max_bytes: int = MAX_READ_BYTES) -> RemoteFile | None:
    """Read a file; None when there is none.

    Raises:
        CommandFailed: It is a folder, or may not be read.
    """
    answer = await ask(host, python, "read", {"path": path, "max_bytes": max_bytes})
    if not answer["exists"]:
        return None
    return RemoteFile(base64.b64decode(answer["content"]), answer["size"], answer["sha256"])


async def check_syntax(host: Host, python: str, name: str, data: bytes) -> SyntaxFault | None:
    """Ask the host's Python whether it would take a program; nothing is run or written. None when it would."""
    answer = await ask(host, python, "compile", {"name": name}, data=data)
    return None if answer["ok"] else SyntaxFault(answer["line"], answer["message"], answer["text"])
