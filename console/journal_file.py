"""A file of JSON lines that only grows: several programs may add to it at once, and a cut-off line harms no other.

A line is added by one ``write`` to a file opened for appending, which Linux carries out whole before another's
(man 2 write, O_APPEND). Who adds one holds the file's lock meanwhile (man 2 flock), for a large write can be seen half
done, and would pass for one that was cut off. What a full disk or a crash has cut off stays as a line of its own that
no reader takes.
"""

from __future__ import annotations

import fcntl
import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


def add_line(path: Path, fields: Mapping[str, object]) -> None:
    """Add an object as one line, on the disk when this returns.

    A last line without an end, left by a crash, is ended first.

    Raises:
        OSError: It could not be written, or not whole.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    line = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
    held = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        size = os.fstat(held).st_size
        if size and os.pread(held, 1, size - 1) != b"\n":
            line = b"\n" + line
        written = os.write(held, line)
        if written != len(line):
            raise OSError(f"only {written} of {len(line)} bytes could be written")
        os.fsync(held)
    finally:
        os.close(held)


def objects(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of the file, oldest first; lines that hold none are passed over.

    Raises:
        OSError: It can't be read. A file that is missing holds nothing.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        for line in file:
            found = _object(line)
            if found is not None:
                yield found


def newest_objects(path: Path, size: int) -> tuple[dict[str, Any], ...]:
    """The objects in the file's last ``size`` bytes, oldest first.

    Raises:
        OSError: It can't be read. A file that is missing holds nothing.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return ()
    with file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - size))
        said = file.read()
    return objects_of(said if end <= size else said.partition(b"\n")[2])


def objects_of(text: bytes) -> tuple[dict[str, Any], ...]:
    """The objects of some lines, in their order; lines that hold none are passed over."""
    return tuple(found for line in text.split(b"\n") if (found := _object(line)) is not None)


def keep_newest(path: Path, size: int) -> None:
    """Replace the file by its newest lines when it is larger than twice ``size`` bytes.

    Whoever adds a line at that very moment may lose it, so this is for what may be lost.

    Raises:
        OSError: It could not be replaced; it is as it was then.
    """
    if not path.exists() or path.stat().st_size <= 2 * size:
        return
    with path.open("rb") as file:
        file.seek(-size, os.SEEK_END)
        kept = file.read().partition(b"\n")[2]
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        beside.touch(mode=0o600)
        beside.write_bytes(kept)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _object(line: bytes) -> dict[str, Any] | None:
    if not line.strip():
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):  # a line of thousands of brackets
        return None
    return found if isinstance(found, dict) else None
