"""Following real files with a real shell: growth, rotation, truncation, absence, resuming; each shell that is here."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import ANY

import pytest

from remote.errors import LinkLost, RemoteError
from remote.local import LocalHost
from remote.tail import Beat, Chunk, Cursor, follow, follow_argv
from tests.fakes import FakeHost
from tests.tailing import Seen, append, numbered
from tests.waits import alive, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence


BUSYBOX_TOOLS = ("sh", "stat", "dd", "od", "sleep")
SHELLS = [name for name in ("dash", "bash", "busybox") if shutil.which(name)]


class ShellHost(LocalHost):
    """This machine, where ``sh`` is the shell under test, and with busybox the tools too."""

    def __init__(self, shell: str, tools: Path) -> None:
        (tools / "sh").symlink_to(str(shutil.which(shell)))
        if shell == "busybox":
            for tool in BUSYBOX_TOOLS[1:]:
                (tools / tool).symlink_to(str(shutil.which("busybox")))
        self._path = f"PATH={tools}:{os.environ['PATH']}"

    @asynccontextmanager
    async def stream(self, argv: Sequence[str]) -> AsyncIterator[AsyncIterator[bytes]]:
        async with super().stream(["env", self._path, *argv]) as chunks:
            yield chunks


in_each_shell = pytest.mark.parametrize("shell", SHELLS)


@pytest.fixture
def shell() -> str:
    """The shell of tests that don't ask for each."""
    return "sh"


@pytest.fixture
def seen(shell: str, tmp_path: Path) -> Seen:
    tools = tmp_path / "tools"
    tools.mkdir()
    folder = tmp_path / "it's a folder\n"
    folder.mkdir()
    return Seen(ShellHost(shell, tools), folder / "job $(log) *.log")


async def test_growth(seen: Seen) -> None:
    append(seen.path, numbered(1, 3))
    async with seen.reading():
        await seen.until(numbered(1, 3))
        for n in range(4, 8):
            append(seen.path, numbered(n, n))
            await seen.until(numbered(1, n))
        append(seen.path, b"half")
        await seen.until(numbered(1, 7) + b"half")
    assert seen.cursor is not None
    assert (seen.cursor.inode, seen.cursor.offset) == (seen.path.stat().st_ino, len(seen.data))
    assert seen.resets() == []
    assert seen.waits() == []


@in_each_shell
async def test_bytes_are_not_touched(seen: Seen) -> None:
    data = bytes(range(256)) * 5000 + b"D 1 2 3\nd 4\n"
    append(seen.path, data)
    async with seen.reading():
        await seen.until(data)


@in_each_shell
async def test_every_length_around_a_block_comes_whole(seen: Seen) -> None:
    chance, data = random.Random(7), b""
    append(seen.path, data)
    async with seen.reading():
        for length in (1, 65_535, 65_536, 65_537, 131_072, 300_001):
            part = chance.randbytes(length)
            append(seen.path, part)
            data += part
            await seen.until(data)
    assert seen.resets() == []


@in_each_shell
async def test_a_file_that_comes_later_is_told_once(seen: Seen) -> None:
    async with seen.reading():
        await until(lambda: seen.waits() == ["missing"])
        seen.path.mkdir()
        await until(lambda: seen.waits() == ["missing", "folder"])
        seen.path.rmdir()
        append(seen.path, b"here\n")
        await seen.until(b"here\n")
    assert seen.waits()[:2] == ["missing", "folder"]
    assert seen.resets() == []


@in_each_shell
async def test_rename_rotation_loses_nothing(seen: Seen) -> None:
    append(seen.path, numbered(1, 10))
    async with seen.reading():
        await seen.until(numbered(1, 10))
        old = seen.path.rename(f"{seen.path}.1")
        append(old, numbered(11, 12))
        append(seen.path, numbered(13, 20))
        await seen.until(numbered(1, 20))
    assert seen.resets() == [("rotated", 0)]


async def test_a_writer_that_keeps_the_renamed_file_open_is_read_on(seen: Seen) -> None:
    append(seen.path, numbered(1, 2))
    async with seen.reading():
        await seen.until(numbered(1, 2))
        old = seen.path.rename(f"{seen.path}.1")
        await until(lambda: seen.waits() == ["missing"])
        append(old, numbered(3, 4))
        await seen.until(numbered(1, 4))
        append(seen.path, numbered(5, 6))
        await seen.until(numbered(1, 6))


async def test_copy_and_truncate_is_told(seen: Seen) -> None:
    append(seen.path, numbered(1, 10))
    async with seen.reading():
        await seen.until(numbered(1, 10))
        os.truncate(seen.path, 0)
        await until(seen.resets)
        append(seen.path, numbered(11, 12))
        await seen.until(numbered(1, 12))
    assert seen.resets() == [("truncated", None)]


@in_each_shell
async def test_copy_and_truncate_with_a_copy_loses_nothing(seen: Seen) -> None:
    append(seen.path, numbered(1, 10))
    async with seen.reading():
        await seen.until(numbered(1, 10))
        shutil.copy(seen.path, f"{seen.path}.1")
        os.truncate(seen.path, 0)
        append(seen.path, numbered(11, 12))
        await seen.until(numbered(1, 12))
        append(seen.path, numbered(13, 14))
        await seen.until(numbered(1, 14))
    assert seen.resets() == [("rotated", 0)]


async def test_a_file_written_anew_to_a_greater_length_is_noticed(seen: Seen) -> None:
    append(seen.path, numbered(1, 3))
    async with seen.reading():
        await seen.until(numbered(1, 3))
        seen.path.write_bytes(b"another beginning\n" * 9)
        await seen.until(numbered(1, 3) + b"another beginning\n" * 9)
    assert len(seen.resets()) == 1


async def test_deletion_and_another_file_of_that_name(seen: Seen) -> None:
    append(seen.path, numbered(1, 3))
    async with seen.reading():
        await seen.until(numbered(1, 3))
        seen.path.unlink()
        append(seen.path, numbered(4, 5))
        await seen.until(numbered(1, 5))
    assert seen.resets() == [("replaced", 0)]


async def test_a_cursor_goes_on_where_it_stopped(seen: Seen) -> None:
    append(seen.path, numbered(1, 100))
    async with seen.reading():
        await seen.until(numbered(1, 100))
    append(seen.path, numbered(101, 200))
    async with seen.reading():
        await seen.until(numbered(1, 200))
    heard = len(seen.beats())
    async with seen.reading():
        await until(lambda: len(seen.beats()) > heard)
        append(seen.path, numbered(201, 201))
        await seen.until(numbered(1, 201))
    assert seen.resets() == []


@in_each_shell
async def test_the_end_is_said_as_soon_as_it_is_reached(
    seen: Seen, shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    del shell
    monkeypatch.setattr("remote.tail.BEAT_S", 1_000.0)
    append(seen.path, numbered(1, 50))
    async with seen.reading():
        await until(lambda: any(beat.at_end for beat in seen.beats()))
        ends = [place for place, event in enumerate(seen.events) if isinstance(event, Beat) and event.at_end]
    assert any(isinstance(event, Chunk) for event in seen.events[: ends[0]])


@in_each_shell
async def test_two_rotations_while_away_lose_nothing(seen: Seen, shell: str) -> None:
    append(seen.path, numbered(1, 10))
    async with seen.reading():
        await seen.until(numbered(1, 10))
    append(seen.path, numbered(11, 12))
    seen.path.rename(f"{seen.path}.2")
    await _tick(shell)
    append(seen.path, numbered(13, 14))
    seen.path.rename(f"{seen.path}.1")
    await _tick(shell)
    append(seen.path, numbered(15, 16))
    async with seen.reading():
        await seen.until(numbered(1, 16))
    assert seen.resets() == [("rotated", 0)] * 2


async def test_a_rotation_while_away_before_the_new_file_is_there(seen: Seen) -> None:
    append(seen.path, numbered(1, 10))
    async with seen.reading():
        await seen.until(numbered(1, 10))
    append(seen.path, numbered(11, 12))
    seen.path.rename(f"{seen.path}.1")
    async with seen.reading():
        await seen.until(numbered(1, 12))
        append(seen.path, numbered(13, 14))
        await seen.until(numbered(1, 14))


@in_each_shell
async def test_copy_and_truncate_while_away_loses_nothing_even_when_it_grew_past(seen: Seen) -> None:
    append(seen.path, numbered(1, 10))
    async with seen.reading():
        await seen.until(numbered(1, 10))
    append(seen.path, numbered(11, 12))
    shutil.copy(seen.path, f"{seen.path}.1")
    os.truncate(seen.path, 0)
    append(seen.path, numbered(13, 100))
    async with seen.reading():
        await seen.until(numbered(1, 100))
    assert seen.resets() == [("rotated", 0)]


@pytest.mark.parametrize("new", [b"short\n", b"a longer beginning than that of before\n" * 20])
async def test_a_file_replaced_while_away_starts_anew(seen: Seen, new: bytes) -> None:
    append(seen.path, numbered(1, 20))
    async with seen.reading():
        await seen.until(numbered(1, 20))
    seen.path.write_bytes(new)
    async with seen.reading():
        await seen.until(numbered(1, 20) + new)
    (reset,) = seen.resets()
    assert reset[1] is None


async def test_a_deleted_file_of_a_cursor_is_told(seen: Seen) -> None:
    append(seen.path, numbered(1, 3))
    seen.cursor = Cursor(1, 500, "00" * 16)
    async with seen.reading():
        await seen.until(numbered(1, 3))
    assert seen.resets() == [("replaced", None)]


@pytest.mark.parametrize("last_bytes", [0, 7, 8, 30, 10_000])
async def test_the_last_bytes_start_at_a_line(seen: Seen, last_bytes: int) -> None:
    append(seen.path, numbered(1, 100))
    seen.last_bytes = last_bytes
    async with seen.reading():
        await until(seen.beats)
        append(seen.path, numbered(101, 101))
        await until(lambda: seen.data.endswith(b"line 101\n"))
    lines = seen.data.splitlines(keepends=True)
    assert b"".join(lines) == numbered(102 - len(lines), 101)
    assert last_bytes <= len(seen.data) + 8 or len(lines) == 101


async def test_a_large_file_is_read_quickly_and_a_far_offset_found_at_once(seen: Seen) -> None:
    size = 3_000_000_000
    with seen.path.open("wb") as file:
        file.truncate(size)
    append(seen.path, b"\nthe end\n")
    seen.last_bytes = 20_000_000
    async with seen.reading():
        await until(lambda: seen.data.endswith(b"the end\n"), seconds=20)
    assert len([event for event in seen.events if isinstance(event, Chunk)]) < 100
    seen.data, seen.last_bytes, seen.cursor = b"", None, Cursor(seen.path.stat().st_ino, size)
    started = time.monotonic()
    async with seen.reading():
        await seen.until(b"\nthe end\n")
    assert time.monotonic() - started < 5


@in_each_shell
async def test_a_leading_dash_and_a_relative_path(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(seen.path.parent)
    seen.path.with_name("-n log").write_bytes(b"dash\n")
    seen.path = seen.path.with_name("-n log").relative_to(seen.path.parent)
    async with seen.reading():
        await seen.until(b"dash\n")


async def test_the_writer_races_with_rotation(seen: Seen) -> None:
    total = 1500

    def write() -> None:
        for n in range(1, total + 1):
            if n % 300 == 0:
                time.sleep(0.15)  # one rotation per look is promised, not ten
                seen.path.rename(f"{seen.path}.{n}")
            append(seen.path, numbered(n, n))

    append(seen.path, b"")
    async with seen.reading():
        await until(seen.beats)
        await asyncio.to_thread(write)
        await seen.until(numbered(1, total))
    assert set(seen.resets()) == {("rotated", 0)}


async def test_the_program_ends_when_nobody_reads_it(seen: Seen) -> None:
    append(seen.path, b"x\n")
    argv = follow_argv(str(seen.path), None, None, 0.02)
    argv[argv.index("250")] = "1"
    process = await asyncio.create_subprocess_exec(*argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"longwait-follow 1\n"
    process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]  # the reader goes away
    async with asyncio.timeout(5):
        await process.communicate()
    assert process.returncode != 0
    assert not alive(process.pid)


async def test_quiet_files_give_beats() -> None:
    argv = follow_argv("/log", Cursor(5, 7, "ab"), 99, 0.5)
    assert argv[:2] == ["sh", "-c"]
    assert argv[3:] == ["longwait-follow", "/log", "5", "7", "ab", "", "0.5", "10", "65536"]


async def test_a_lost_link_is_raised_and_what_was_whole_is_kept() -> None:
    host = FakeHost()
    whole = b"longwait-follow 1\nS 7 0\nD 7 0 4\none\nd 4\nB 4 1\n"
    host.expect_stream(
        ["sh", "-c", ANY, "longwait-follow", "/log", "", "0", ...], whole, b"D 7 4 4\ntw", LinkLost("cut")
    )
    seen = Seen(host, Path("/log"))
    with pytest.raises(LinkLost, match="cut"):
        await seen.read()
    assert seen.events == [Chunk(b"one\n", Cursor(7, 4, b"one\n".hex())), Beat(4, at_end=True)]
    host.assert_done()


@pytest.mark.parametrize("chunk", [b"longwait-follow 1\nnonsense\n", b"longwait-follow 1\n"])
async def test_other_words_or_an_early_end_are_told(chunk: bytes) -> None:
    host = FakeHost()
    host.expect_stream(["sh", ...], chunk)
    with pytest.raises(RemoteError, match="Following /log on gpu01"):
        [event async for event in follow(host, "/log")]
    host.assert_done()


async def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv")
    tmp_path.chmod(0o755)
    secret = tmp_path / "secret"
    secret.write_text("x")
    secret.chmod(0o600)
    for folder in tmp_path.parents:
        if folder.name.startswith(("pytest-", "popen-")):
            folder.chmod(0o755)

    class Nobody(LocalHost):
        @asynccontextmanager
        async def stream(self, argv: Sequence[str]) -> AsyncIterator[AsyncIterator[bytes]]:
            async with super().stream(["setpriv", "--reuid=65534", "--clear-groups", *argv]) as chunks:
                yield chunks

    seen = Seen(Nobody(), secret)
    async with seen.reading():
        await until(lambda: seen.waits() == ["unreadable"])
        secret.chmod(0o644)
        await seen.until(b"x")


async def _tick(shell: str) -> None:
    """Let the clock of file times move on; busybox compares whole seconds."""
    await asyncio.sleep(1.05 if shell == "busybox" else 0.02)
