"""Reading an older part of a file: the right bytes once, at a pace, from the file that it was."""

from __future__ import annotations

import gzip
import os
import random
import shutil
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote.errors import FileUnavailable, LinkLost, RemoteError
from remote.fill import CHUNK_BYTES, read_range
from remote.frames import MARK_BYTES
from remote.local import LocalHost
from remote.pace import BURST_S, Pace
from tests.fakes import FakeHost
from tests.tailing import append, numbered

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from remote.frames import Chunk
    from remote.host import Host

SHELLS = [shell for shell in ("sh", "busybox", "bash") if shutil.which(shell)]
BYTES = random.Random(7).randbytes(1_000_000)


class ShellHost(LocalHost):
    """This machine with a given shell as ``sh``, and busybox's tools with busybox's shell."""

    def __init__(self, shell: str) -> None:
        self._shell = shell

    @asynccontextmanager
    async def stream(self, argv: Sequence[str]) -> AsyncIterator[AsyncIterator[bytes]]:
        shell = ["busybox", "sh"] if self._shell == "busybox" else [self._shell]
        async with super().stream([*shell, *argv[1:]]) as chunks:
            yield chunks


@dataclass
class Clock:
    """A clock that only sleeping moves."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


async def read(host: Host, path: Path, inode: int, start: int, end: int) -> list[Chunk]:
    return [chunk async for chunk in read_range(host, str(path), inode, start, end, bytes_per_s=None)]


def joined(chunks: list[Chunk]) -> bytes:
    return b"".join(chunk.data for chunk in chunks)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "it's $(a) log"
    append(path, BYTES)
    return path


@pytest.mark.parametrize("shell", SHELLS)
async def test_the_bytes_of_the_range(shell: str, log: Path) -> None:
    inode = log.stat().st_ino
    for start, end in ((0, len(BYTES)), (1, 2), (123_457, 900_001), (5, 5)):
        chunks = await read(ShellHost(shell), log, inode, start, end)
        assert joined(chunks) == BYTES[start:end]
        assert all(0 < len(chunk.data) <= CHUNK_BYTES for chunk in chunks)
        for chunk in chunks:
            offset = chunk.cursor.offset
            assert bytes.fromhex(chunk.cursor.mark) == BYTES[max(start, offset - MARK_BYTES) : offset]


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_rotated_file_is_found(shell: str, log: Path) -> None:
    inode = log.stat().st_ino
    log.rename(f"{log}.1\n")
    append(log, b"another")
    assert joined(await read(ShellHost(shell), log, inode, 10, 1000)) == BYTES[10:1000]


async def test_a_file_that_is_gone_is_told(log: Path) -> None:
    inode = log.stat().st_ino
    with gzip.open(f"{log}.1.gz", "wb") as packed:
        packed.write(BYTES)
    log.rename(log.parent.parent / "elsewhere")
    append(log, b"another")
    with pytest.raises(FileUnavailable, match="is gone"):
        await read(LocalHost(), log, inode, 0, 10)


async def test_a_file_that_became_shorter_is_told(log: Path) -> None:
    os.truncate(log, 1000)
    with pytest.raises(FileUnavailable, match=r"cut short .* 500 bytes are gone"):
        await read(LocalHost(), log, log.stat().st_ino, 0, 1500)


async def test_what_a_login_shell_prints_is_dropped() -> None:
    host = FakeHost()
    program = ["sh", ...]
    host.expect_stream(program, b"Welcome\nto longwait-f", b"ill 1 ok\nlongwait-fill", b" 1 ok\nab", b"cd")
    chunks = [chunk async for chunk in read_range(host, "/log", 1, 6, 10, bytes_per_s=None)]
    assert joined(chunks) == b"abcd"
    assert chunks[-1].cursor.offset == 10
    host.expect_stream(program, *[b"menu\n" * 4000] * 9)
    with pytest.raises(RemoteError, match="something else than expected"):
        await anext(read_range(host, "/log", 1, 0, 9, bytes_per_s=None))
    host.assert_done()


async def test_each_byte_comes_once_across_cuts() -> None:
    data, chance, came = numbered(1, 5000), random.Random(3), b""
    while len(came) < len(data):
        host = FakeHost()
        pieces = [data[at : at + 997] for at in range(len(came), len(data), 997)][: chance.randrange(1, 12)]
        host.expect_stream(["sh", ...], b"longwait-fill 1 ok\n", *pieces, LinkLost("cut"))
        events = read_range(host, "/log", 1, len(came), len(data), bytes_per_s=None)
        async with aclosing(events):
            try:
                async for chunk in events:
                    came += chunk.data
                    assert chunk.cursor.offset == len(came)
            except LinkLost:
                continue
    assert came == data


async def test_the_pace_is_kept(log: Path) -> None:
    clock = Clock()
    rate = 100_000
    pace = Pace(rate, clock=clock, sleep=clock.sleep)
    count = 0
    async with aclosing(
        read_range(LocalHost(), str(log), log.stat().st_ino, 0, len(BYTES), bytes_per_s=None, pace=pace)
    ) as chunks:
        async for chunk in chunks:
            count += len(chunk.data)
            assert count <= rate * (clock.now + BURST_S) + CHUNK_BYTES
    assert clock.now == pytest.approx(len(BYTES) / rate, abs=1)


@given(st.lists(st.tuples(st.integers(0, 70_000), st.floats(0, 3)), max_size=40))
async def test_no_window_of_time_has_more_than_its_share(takes: list[tuple[int, float]]) -> None:
    clock, rate = Clock(), 50_000.0
    pace = Pace(rate, clock=clock, sleep=clock.sleep)
    passed: list[tuple[float, int]] = []
    for size, idle in takes:
        clock.now += idle
        await pace.take(size)
        passed.append((clock.now, size))
    for first in range(len(passed)):
        total = 0
        for now, size in passed[first:]:
            total += size
            assert total <= rate * (now - passed[first][0] + BURST_S) + passed[first][1] + 1
