"""Following a file over real SSH, with the link cut under it: each line arrives exactly once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from remote.errors import CannotConnect, LinkLost
from tests.tailing import Seen, append, numbered
from tests.waits import alive, until

if TYPE_CHECKING:
    from pathlib import Path

    from remote.ssh import SshHost
    from tests.sshd.conftest import Sshd

pytestmark = pytest.mark.sshd

LINES = 20_000


async def test_growth_and_rotation(host: SshHost, tmp_path: Path) -> None:
    seen = Seen(host, tmp_path / "it's $(a) log")
    append(seen.path, numbered(1, 5))
    async with seen.reading():
        await seen.until(numbered(1, 5))
        seen.path.rename(f"{seen.path}.1")
        append(seen.path, numbered(6, 9))
        await seen.until(numbered(1, 9))


async def _write(path: Path) -> None:
    """Numbered lines, and three rotations, slower than a look each."""
    for first in range(2, LINES, 100):
        append(path, numbered(first, min(first + 99, LINES)))
        if first % 5000 == 2 and first > 2:
            path.rename(f"{path}.{first}")
            append(path, b"")
            await asyncio.sleep(0.3)
        await asyncio.sleep(0.01)


async def _read_on(host: SshHost, seen: Seen, cuts: list[str]) -> None:
    """Connect and resume, over and over; ends when the last line has come."""
    while not seen.data.endswith(b"line %d\n" % LINES):
        try:
            await host.connect()
            await seen.read()
        except (LinkLost, CannotConnect) as error:
            cuts.append(str(error))


async def _cut_often(sshd: Sshd, seen: Seen) -> None:
    """Cut the link each time that something has come."""
    size = 0
    while True:
        await until(lambda size=size: len(seen.data) > size, seconds=20)  # type: ignore[misc]  # bound per round
        size = len(seen.data)
        sshd.cut()


async def test_the_link_is_cut_again_and_again(sshd: Sshd, tmp_path: Path) -> None:
    host = sshd.host()
    seen = Seen(host, tmp_path / "log")
    append(seen.path, numbered(1, 1))
    cuts: list[str] = []
    reading = asyncio.create_task(_read_on(host, seen, cuts))
    cutting = asyncio.create_task(_cut_often(sshd, seen))
    try:
        # Who has no place yet starts with what has the name when it looks: a rotation before that is none to it.
        await until(lambda: seen.data, seconds=20)
        await _write(seen.path)
        cutting.cancel()
        await until(lambda: reading.done() or seen.data.endswith(b"line %d\n" % LINES), seconds=20)
    finally:
        cutting.cancel()
        reading.cancel()
        await asyncio.gather(reading, cutting, return_exceptions=True)
        await host.close()
    assert seen.data == numbered(1, LINES)
    assert len(cuts) >= 2
    assert set(seen.resets()) <= {("rotated", 0)}


async def test_nothing_is_left_on_the_host(host: SshHost, sshd: Sshd, tmp_path: Path) -> None:
    seen = Seen(host, tmp_path / "log")
    append(seen.path, b"x")
    async with seen.reading():
        await seen.until(b"x")
        remote = [p.pid for p in sshd.sessions() if "longwait-follow" in p.cmdline()]
        assert remote
    await until(lambda: not any(alive(pid) for pid in remote))


async def test_nothing_is_left_on_the_host_after_a_cut(sshd: Sshd, tmp_path: Path) -> None:
    host = sshd.host()
    await host.connect()
    seen = Seen(host, tmp_path / "log")
    append(seen.path, b"x")
    reading = asyncio.create_task(seen.read())
    await seen.until(b"x")
    remote = [p.pid for p in sshd.sessions() if "longwait-follow" in p.cmdline()]
    sshd.cut()
    with pytest.raises(LinkLost):
        await reading
    await until(lambda: not any(alive(pid) for pid in remote))
    await host.close()
