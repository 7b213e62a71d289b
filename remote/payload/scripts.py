"""Put a file in place on the host, whole or not at all; read one; ask whether a program is one.

Carried to the host with ``procctl`` by ``remote.step``; the same rules hold (Python 3.8, the standard library, Linux).
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import os
import re
import secrets
import shutil
import stat
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

from remote.payload.procctl import (
    VERBS,
    RefusedError,
    main,
    sha256_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Fields = dict[str, Any]
    Emit = Callable[..., None]

BLOCK = 1_048_576


def put(request: Fields) -> Fields:
    """Put a file in place, whole or not at all, and keep the former one beside it.

    The content is written beside the target, read back and compared with what was meant, and renamed over it.
    A link is followed: what it points to is replaced, and the link stays.
    """
    path = os.path.realpath(os.path.expanduser(request["path"]))
    if os.path.lexists(path) and not os.path.isfile(path):
        raise RefusedError("not_a_file", f"{path} is not an ordinary file; nothing was written.")
    folder = os.path.dirname(path)
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    temporary = os.path.join(folder, f".longwait-put-{secrets.token_hex(8)}")
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        with untouched(path):
            receive(temporary, request)
        if os.path.exists(path) and sha256_of(path) == request["sha256"]:
            return {"path": path, "changed": False, "kept": None}
        like_former(temporary, path)
        with untouched(path):
            kept = keep_former(path)
        os.replace(temporary, path)
        os.fsync(directory)
        prune(path, request.get("keep", 10))
    finally:
        os.close(directory)
        with contextlib.suppress(FileNotFoundError):  # it has become the file itself
            os.unlink(temporary)
    return {"path": path, "changed": True, "kept": kept}


@contextlib.contextmanager
def untouched(path: str) -> Iterator[None]:
    """Say of a disk that takes no more, or another fault of it, that the file is as it was."""
    try:
        yield
    except OSError as error:
        why = str(error.strerror or error).rstrip(".")
        raise RefusedError("disk", f"{path} could not be replaced: {why}; it is as it was, whole.") from None


def receive(temporary: str, request: Fields) -> None:
    """Write what comes on stdin, and prove that it is all there and the same."""
    left = request["size"]
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        while left:
            block = sys.stdin.buffer.read(min(left, BLOCK))
            if not block:
                raise RefusedError("short", f"The upload ended {left} bytes early; the former file is untouched.")
            file.write(block)
            left -= len(block)
        file.flush()
        os.fsync(file.fileno())
    if sha256_of(temporary) != request["sha256"]:
        raise RefusedError("differs", "What arrived is not what was sent (SHA-256); the former file is untouched.")


def like_former(temporary: str, path: str) -> None:
    """Give the new file the mode and owner of the former one."""
    try:
        former = os.stat(path)
    except FileNotFoundError:
        os.chmod(temporary, 0o644)
        return
    with contextlib.suppress(PermissionError):  # only root gives files away
        os.chown(temporary, former.st_uid, former.st_gid)
    os.chmod(temporary, stat.S_IMODE(former.st_mode))


def keep_former(path: str) -> str | None:
    """Keep the file under a name that says when it was replaced and what it was; the name, None when there is none."""
    if not os.path.exists(path):
        return None
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    kept = f"{path}.{stamp}.{sha256_of(path)[:8]}"
    try:
        os.link(path, kept)
    except FileExistsError:
        return kept  # replaced twice within a second; the same name is the same content
    except OSError:  # a file system without hard links
        copy_whole(path, kept)
    return kept


def copy_whole(path: str, kept: str) -> None:
    """Copy a file with its times and mode; of a copy that a full disk cuts off, nothing is left."""
    try:
        shutil.copy2(path, kept)
    except OSError:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(kept)
        raise


def prune(path: str, keep: int) -> None:
    """Remove the oldest kept files beyond a number."""
    folder, name = os.path.split(path)
    pattern = re.compile(re.escape(name) + r"\.\d{8}T\d{6}Z\.[0-9a-f]{8}")
    kept = sorted(entry for entry in os.listdir(folder) if pattern.fullmatch(entry))
    for entry in kept[: max(0, len(kept) - keep)]:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, entry))


def read(request: Fields) -> Fields:
    """A file's first bytes and the digest of the whole."""
    path = os.path.expanduser(request["path"])
    if not os.path.exists(path):
        return {"exists": False}
    if not os.path.isfile(path):
        raise RefusedError("not_a_file", f"{path} is not an ordinary file.")
    with open(path, "rb") as file:
        content = file.read(request["max_bytes"])
    return {
        "exists": True,
        "content": base64.b64encode(content).decode("ascii"),
        "size": os.path.getsize(path),
        "sha256": sha256_of(path),
    }


def compiles(request: Fields) -> Fields:
    """Whether stdin is a Python program by this Python; nothing is run and nothing written."""
    warnings.simplefilter("ignore")
    source = sys.stdin.buffer.read()
    try:
        compile(source, request["name"], "exec", dont_inherit=True)
    except SyntaxError as error:
        # Its own text is that of a file of this name, if there is one, and that is not what was compiled.
        lines = source.decode("utf-8", "replace").split("\n")
        text = lines[error.lineno - 1].strip() if error.lineno and error.lineno <= len(lines) else ""
        return {"ok": False, "line": error.lineno or None, "message": error.msg, "text": text[:200]}
    except (ValueError, RecursionError, MemoryError) as error:
        return {"ok": False, "line": None, "message": str(error) or "it is nested too deeply", "text": ""}
    return {"ok": True}


if __name__ == "__main__":
    main({**VERBS, "put": put, "read": read, "compile": compiles})
