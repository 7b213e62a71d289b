"""A user's login shell may be none of the POSIX family: commands arrive as they were given."""

from __future__ import annotations

import contextlib
import shutil
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from remote.fill import read_range
from remote.ssh import SshHost
from remote.step import ask
from tests.sshd.conftest import keygen
from tests.tailing import Seen, append, numbered
from tests.waits import alive, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.sshd.conftest import Sshd

pytestmark = pytest.mark.sshd

SHELLS = ["tcsh", "fish", "zsh", "bash", "busybox sh"]
CAREFUL = ["a!b", "two\nlines\n", "back\\slash", "it's", "é"]
AWKWARD = [*CAREFUL, "!!", 'say "no"', "\\'", "\\n", "$HOME", "`id`", "%s", "", "~"]


@pytest.fixture(params=SHELLS)
async def shelled(request: pytest.FixtureRequest, sshd: Sshd, tmp_path: Path) -> AsyncIterator[SshHost]:
    """A host whose server hands each command to that shell, as it does to a login shell."""
    shell = str(request.param)
    if not shutil.which(shell.split(maxsplit=1)[0]):
        pytest.skip(f"install {shell} to run this test")
    key = keygen(tmp_path / "key")
    public = key.with_suffix(".pub").read_text()
    with (sshd.folder / "authorized_keys").open("a") as keys:
        keys.write(f'command="exec {shell} -c \\"$SSH_ORIGINAL_COMMAND\\"" {public}')
    host = SshHost("gpu01", config_files=[str(sshd.config)], identity=str(key))
    await host.connect()
    yield host
    await host.close()


async def test_words_arrive_unchanged(shelled: SshHost) -> None:
    done = await shelled.run(["printf", "<%s>", *AWKWARD])
    assert done.text == "".join(f"<{word}>" for word in AWKWARD)
    for word in CAREFUL:  # each alone: one that needs care must not be saved by another
        assert (await shelled.run(["printf", "<%s>", word])).text == f"<{word}>"


async def test_status_and_stdin(shelled: SshHost) -> None:
    assert (await shelled.run(["sh", "-c", "exit 7 # !\n"], check=False)).status == 7
    assert (await shelled.run(["cat"], stdin=b"a!\n\\b\n")).stdout == b"a!\n\\b\n"


async def test_a_log_is_followed_and_its_past_is_read(shelled: SshHost, tmp_path: Path) -> None:
    seen = Seen(shelled, tmp_path / "it's a! log\\")
    append(seen.path, numbered(1, 5))
    async with seen.reading():
        await seen.until(numbered(1, 5))
        append(seen.path, numbered(6, 9))
        await seen.until(numbered(1, 9))
    found = seen.path.stat()
    parts = [
        chunk.data
        async for chunk in read_range(shelled, str(seen.path), found.st_ino, 0, found.st_size, bytes_per_s=None)
    ]
    assert b"".join(parts) == numbered(1, 9)


async def test_a_step_of_control(shelled: SshHost, tmp_path: Path) -> None:
    (tmp_path / "script").write_bytes(b"content!")
    answer = await ask(shelled, sys.executable, "read", {"path": str(tmp_path / "script"), "max_bytes": 99})
    assert answer["size"] == 8


async def test_nothing_is_left_of_a_command(shelled: SshHost, sshd: Sshd, tmp_path: Path) -> None:
    seen = Seen(shelled, tmp_path / "log!")
    append(seen.path, b"x")

    async with seen.reading():
        await seen.until(b"x")
        followers = [process.pid for process in sshd.sessions() if _follows(process)]
        assert followers
    await until(lambda: not any(alive(pid) for pid in followers))


def _follows(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return "longwait-follow" in process.cmdline()
    return False
