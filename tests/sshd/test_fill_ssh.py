"""Reading an older part of a file over real SSH: cut and gone on with; and a slow reader makes the host wait."""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from remote.errors import LinkLost
from remote.fill import read_range
from tests.tailing import append

if TYPE_CHECKING:
    from remote.ssh import SshHost
    from tests.sshd.conftest import Sshd

pytestmark = pytest.mark.sshd

MIB = 1_048_576


async def test_each_byte_comes_once_across_cuts(sshd: Sshd, tmp_path: Path) -> None:
    log = tmp_path / "log"
    data = random.Random(2).randbytes(12 * MIB)
    append(log, data)
    inode, came, cuts = log.stat().st_ino, bytearray(), 0
    host = sshd.host()
    while len(came) < len(data):
        await host.connect()
        chunks = read_range(host, str(log), inode, len(came), len(data), bytes_per_s=None)
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    came += chunk.data
                    assert chunk.cursor.offset == len(came)
                    if len(came) > (cuts + 1) * 4 * MIB:
                        sshd.cut()
        except LinkLost:
            cuts += 1
    await host.close()
    assert bytes(came) == data
    assert cuts >= 1


def _position(sshd: Sshd) -> int:
    """How far the host has read."""
    for process in sshd.sessions():
        try:
            if process.name() == "dd":
                return int(Path(f"/proc/{process.pid}/fdinfo/0").read_text().split()[1])
        except (psutil.NoSuchProcess, FileNotFoundError):
            continue
    return 0


async def test_the_host_waits_for_a_slow_reader(host: SshHost, sshd: Sshd, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as file:
        file.truncate(64 * MIB)
    chunks = read_range(host, str(log), log.stat().st_ino, 0, 64 * MIB, bytes_per_s=None)
    async with aclosing(chunks):
        await anext(chunks)
        places = [-1]
        async with asyncio.timeout(10):
            while places[-1] <= 0 or places[-20:] != places[-1:] * 20:
                places.append(_position(sshd))
                await asyncio.sleep(0.02)
    assert places[-1] < 8 * MIB
