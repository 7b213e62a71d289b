"""Resuming after what happened while nobody looked: what still exists under any name is read, and told once."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from remote.local import LocalHost
from remote.tail import Reset
from tests.tailing import Seen, append, numbered
from tests.waits import until

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
async def seen(tmp_path: Path) -> Seen:
    """A reader that was interrupted after five lines."""
    seen = Seen(LocalHost(), tmp_path / "job.log")
    append(seen.path, numbered(1, 5))
    async with seen.reading():
        await seen.until(numbered(1, 5))
    return seen


async def test_a_file_that_was_cut_and_then_renamed_is_read_from_its_beginning(seen: Seen) -> None:
    os.truncate(seen.path, 0)
    append(seen.path, numbered(8, 20))
    seen.path.rename(f"{seen.path}.1")
    append(seen.path, numbered(21, 22))
    async with seen.reading():
        await seen.until(numbered(1, 5) + numbered(8, 22))
    assert seen.resets() == [("replaced", None), ("rotated", 0)]


async def test_a_copy_is_found_behind_the_renamed_file(seen: Seen) -> None:
    append(seen.path, numbered(6, 7))
    shutil.copy(seen.path, f"{seen.path}.2")
    os.truncate(seen.path, 0)
    append(seen.path, numbered(8, 9))
    seen.path.rename(f"{seen.path}.1")
    append(seen.path, numbered(10, 11))
    for age, name in enumerate((".2", ".1", "")):
        os.utime(f"{seen.path}{name}", (1_700_000_000 + age, 1_700_000_000 + age))
    async with seen.reading():
        await seen.until(numbered(1, 11))
    assert set(seen.resets()) == {("rotated", 0)}


async def test_who_resumes_after_a_reset_is_not_told_again(seen: Seen) -> None:
    seen.path.unlink()
    append(seen.path, b"")
    async with seen.reading():
        await until(seen.resets)
    told = next(event for event in seen.events if isinstance(event, Reset))
    assert told.cursor is not None
    assert (told.cursor.inode, told.cursor.offset) == (seen.path.stat().st_ino, 0)
    seen.cursor = told.cursor
    async with seen.reading():
        append(seen.path, numbered(6, 9))
        await seen.until(numbered(1, 9))
    assert len(seen.resets()) == 1


async def test_a_log_whose_lines_all_look_alike_is_known_by_more_than_a_lines_end(tmp_path: Path) -> None:
    """A server started again into the same file: at the same offset stands the same end of another line."""
    seen = Seen(LocalHost(), tmp_path / "server.log")
    append(seen.path, _server_lines(hour=9))
    async with seen.reading():
        await seen.until(_server_lines(hour=9))
    os.truncate(seen.path, 0)
    append(seen.path, _server_lines(hour=10) + _server_lines(hour=11))
    async with seen.reading():
        await seen.until(_server_lines(hour=9) + _server_lines(hour=10) + _server_lines(hour=11))
    assert seen.resets() == [("replaced", None)]


def _server_lines(hour: int) -> bytes:
    return b"".join(b"[2026-11-30 %02d:00:%02d] Decode batch, #queue-req: 0, \n" % (hour, n) for n in range(20))
