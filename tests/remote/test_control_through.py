"""Through sudo, or into a container: stand-ins that write down their words, and the real sudo where it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from remote.control_through import Through
from remote.errors import CommandFailed, NotOurProcess
from remote.files import put_file, read_file
from remote.local import LocalHost
from remote.process import ProcessIdentity, find, start, stop
from tests.jobbox import Box, job_box

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STAND_IN = """#!{python}
import json, os, sys
with open({record!r}, "a") as file:
    print(json.dumps([os.path.basename(sys.argv[0]), *sys.argv[1:]]), file=file)
{body}
words = sys.argv[1:]
command = words[words.index("--") + 1:] if "--" in words[:6] else words[words.index("-i") + 2:]
try:
    os.execvp(command[0], command)
except OSError:
    sys.exit("sudo: %s: command not found" % command[0])
"""


class Tools:
    """Stand-ins for sudo and docker, first on PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for name in ("sudo", "docker"):
            self.has(name)

    def has(self, name: str, *, says: str = "", status: int = 1) -> None:
        """One that passes on, or refuses."""
        refusal = f"print({says!r}, file=sys.stderr)\nsys.exit({status})" if says else ""
        path = self.folder / name
        path.write_text(STAND_IN.format(python=sys.executable, record=str(self.folder / "asked"), body=refusal))
        path.chmod(0o755)

    def asked(self) -> list[list[str]]:
        """What they were asked, in order."""
        path = self.folder / "asked"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    made = Tools(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{made.folder}:{os.environ['PATH']}")
    return made


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with job_box(tmp_path / "run -x 'q' $(no)") as made:
        yield made


@pytest.mark.parametrize(
    ("how", "head"),
    [
        ({"user": "infer"}, ["sudo", "-n", "-H", "-u", "infer", "--"]),
        ({"container": "batch-1"}, ["docker", "exec", "-i", "batch-1"]),
        ({"user": "root", "container": "b"}, ["sudo", "-n", "-H", "-u", "root", "--", "docker", "exec", "-i", "b"]),
    ],
)
async def test_every_step_goes_through(box: Box, tools: Tools, how: dict[str, str], head: list[str]) -> None:
    host = Through(LocalHost(), **how)
    process = await start(host, box.spec, watch_s=0.05)
    assert [one.identity for one in (await find(host, box.spec)).processes] == [process.identity]
    await put_file(host, sys.executable, str(box.path), b"new")
    file = await read_file(host, sys.executable, str(box.path))
    assert file is not None
    assert file.content == b"new"
    steps = [step.step async for step in stop(host, process.identity, 5, python=sys.executable)]
    assert steps == ["term", "gone"]
    with pytest.raises(NotOurProcess):
        _ = [step async for step in stop(host, process.identity, 5, python=sys.executable)]
    outer = [words for words in tools.asked() if words[0] == head[0]]
    assert len(outer) == 6
    assert all(words[: len(head)] == head and words[len(head)] == sys.executable for words in outer)
    assert host.name != "local"


@pytest.mark.parametrize(
    ("tool", "says", "words"),
    [
        ("sudo", "sudo: a password is required", r"asks for a password.*NOPASSWD"),
        ("sudo", "sudo: a terminal is required to read the password", "asks for a password"),
        ("sudo", "me is not in the sudoers file.", "does not allow it"),
        ("sudo", "sudo: unknown user u", "knows no such user"),
        ("docker", "Error response from daemon: No such container: c", "no such container"),
        ("docker", "Error response from daemon: container 1f is not running", "is not running"),
        ("docker", "permission denied while trying to connect to the docker API", "may not use"),
        ("docker", "Cannot connect to the Docker daemon at unix:///x.", "can't be reached"),
    ],
)
async def test_a_barred_way_is_told_with_its_reason_and_nothing_is_run(
    box: Box, tools: Tools, tool: str, says: str, words: str
) -> None:
    tools.has(tool, says=says)
    host = Through(LocalHost(), user="u") if tool == "sudo" else Through(LocalHost(), container="c")
    process = await start(LocalHost(), box.spec, watch_s=0.05)
    with pytest.raises(CommandFailed, match=words):
        await find(host, box.spec)
    with pytest.raises(CommandFailed, match=words):
        _ = [step async for step in stop(host, process.identity, 5, python=sys.executable)]
    assert box.pids() == {process.pid}


async def test_what_fails_inside_is_that_command_s_own_failure(tools: Tools) -> None:
    host = Through(LocalHost(), user="u")
    assert tools.asked() == []
    done = await host.run(["sh", "-c", "echo no >&2; exit 3"], check=False)
    assert (done.status, done.stderr) == (3, b"no\n")
    with pytest.raises(CommandFailed, match="ended with status 3"):
        await host.run(["sh", "-c", "exit 3"])
    async with host.stream(["sh", "-c", "echo hi; exit 4"]) as chunks:
        assert await anext(chunks) == b"hi\n"
        with pytest.raises(CommandFailed) as raised:
            await anext(chunks)
    assert raised.value.argv[0] == "sh"
    with pytest.raises(CommandFailed, match=r"/nowhere/python.*command not found"):
        _ = [step async for step in stop(host, ProcessIdentity("x", 1, 1, ("x",)), 1, python="/nowhere/python")]


def sudo_works() -> bool:
    """Whether a real sudo takes us to another user without a password."""
    return (
        shutil.which("sudo") is not None
        and not subprocess.run(["sudo", "-n", "-u", "nobody", "true"], check=False).returncode
    )


@pytest.mark.skipif(not sudo_works(), reason="sudo is not here, or asks for a password")
async def test_the_real_sudo_runs_a_step_as_the_other_user() -> None:
    done = await Through(LocalHost(), user="nobody").run(["id", "-un"])
    assert done.text.strip() == "nobody"
    with pytest.raises(CommandFailed, match="no such user"):
        await Through(LocalHost(), user="nobody-at-all").run(["true"])
