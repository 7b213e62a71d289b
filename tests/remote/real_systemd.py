"""A real systemd, the user's kind, in namespaces of its own: what it does there, nothing outside sees.

It needs root (mounts, a control group of its own) and systemd's programs; ``running`` says why it can't be had.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import time
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from remote.local import LocalHost

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from remote.host import Completed

MANAGER = "/usr/lib/systemd/systemd"
UP_S = 15.0
GROUPS = Path("/sys/fs/cgroup")

INSIDE = r"""
set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system /run/user/0
mount -t cgroup2 none /sys/fs/cgroup
export XDG_RUNTIME_DIR=/run/user/0 HOME="$1"
"$2" --user --unit=basic.target &
wait
"""
"""Runs first in the namespaces: a /run and control groups of its own, then systemd; ends with it."""


class Inside(LocalHost):
    """This machine as it is seen in the namespaces.

    Args:
        pid: The process that lives there first.
        path: The search path there.
    """

    def __init__(self, pid: int, path: str) -> None:
        self._enter = (
            "nsenter", f"--target={pid}", "--mount", "--pid", "--cgroup", "--",
            "env", "XDG_RUNTIME_DIR=/run/user/0", f"PATH={path}",
        )  # fmt: skip

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 30.0, check: bool = True
    ) -> Completed:
        """As there."""
        return await super().run([*self._enter, *argv], stdin=stdin, timeout_s=timeout_s, check=check)

    @asynccontextmanager
    async def stream(self, argv: Sequence[str]) -> AsyncIterator[AsyncIterator[bytes]]:
        """As there."""
        async with super().stream([*self._enter, *argv]) as chunks:
            yield chunks

    def said(self, *argv: str) -> str:
        """What a command prints there, whatever its status."""
        return subprocess.run([*self._enter, *argv], capture_output=True, text=True, check=False).stdout


def why_not() -> str:
    """Why it can't be had here; empty when it can be tried."""
    if os.geteuid() != 0:
        return "mounts and control groups of its own need root"
    missing = [
        name for name in (MANAGER, "systemd-run", "systemctl", "unshare", "nsenter") if shutil.which(name) is None
    ]
    return f"{missing[0]} is not installed" if missing else ""


@contextmanager
def running(folder: Path) -> Iterator[Inside | str]:
    """A systemd, and the host on which it is; a sentence when it did not come up. Nothing of it is left."""
    groups = GROUPS if (GROUPS / "cgroup.controllers").exists() else GROUPS / "unified"
    group = groups / f"longwait-test-{secrets.token_hex(4)}"
    try:
        group.mkdir()
    except OSError as error:
        yield f"no control group can be made: {error.strerror}"
        return
    enter = f'echo $$ >{group}/cgroup.procs && exec unshare --mount --pid --fork --kill-child --mount-proc --cgroup sh -c "$0" sh "$@"'
    words = ["sh", "-c", enter, INSIDE, str(folder), MANAGER]
    with (folder / "systemd.err").open("wb") as log:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield _up(process, folder)
    finally:
        process.kill()
        process.wait()
        _remove(group)


def _up(process: subprocess.Popen[bytes], folder: Path) -> Inside | str:
    tools = folder / "bin"
    tools.mkdir()
    for name in ("systemd-run", "systemctl"):  # for root the launcher means the host's own, of which there is none
        real = shutil.which(name)
        (tools / name).write_text(f'#!/bin/sh\ncase "$1" in --user) shift ;; esac\nexec {real} --user "$@"\n')
        (tools / name).chmod(0o755)
    deadline = time.monotonic() + UP_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError, IndexError):
            first = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
            host = Inside(int(first), f"{tools}:{os.environ['PATH']}")
            if host.said("systemctl", "is-system-running").strip() in {"running", "degraded"}:
                return host
        time.sleep(0.05)
    return f"systemd did not come up: {(folder / 'systemd.err').read_text(errors='replace')[-300:]}"


def _remove(group: Path) -> None:
    """Remove a control group and those below it, once the kernel has let its processes go."""
    deadline = time.monotonic() + UP_S
    while group.exists() and time.monotonic() < deadline:
        for each in sorted((path for path in group.rglob("*") if path.is_dir()), reverse=True):
            with suppress(OSError):
                each.rmdir()
        with suppress(OSError):
            group.rmdir()
        time.sleep(0.02)
    assert not group.exists(), f"the control group {group} is left"
