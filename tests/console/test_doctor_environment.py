"""The doctor's look at the environment that the job runs in: a real venv, with and without what the runner needs."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from console.config import JobSettings, Settings
from console.doctor_host import check_python
from remote.local import LocalHost

if TYPE_CHECKING:
    from pathlib import Path


def settings(folder: Path, command: tuple[str, ...], **job: str) -> Settings:
    given = {"log": "job.log", "dir": str(folder), "python": sys.executable, "script": command[-1], **job}
    return Settings(host="local", job=JobSettings(command=command, **given))  # type: ignore[arg-type]  # texts only


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    folder = tmp_path / "a venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder


async def test_a_venv_must_have_what_the_runner_needs(venv: Path, tmp_path: Path) -> None:
    runs = settings(tmp_path, ("python3", "run_inference.py"), venv=str(venv))
    name, check = [(one.name, one) for one in await check_python(LocalHost(), runs)][1]
    assert (name, check.state) == ("venv", "fail")
    assert f"{venv}, Python 3." in check.detail
    assert f"{venv}/bin/python3 -m pip install httpx" in check.remedies[0]
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "httpx.py").touch()
    assert [one.state for one in await check_python(LocalHost(), runs)] == ["ok", "ok"]
    other = settings(tmp_path, ("python3", "other.py"), venv=str(venv))
    assert (await check_python(LocalHost(), other))[1].state == "ok"


async def test_one_that_is_not_there_is_told(tmp_path: Path) -> None:
    for job, words in (({"venv": "nosuch"}, "is no venv"), ({"conda": "./nosuch"}, "is no conda environment")):
        check = (await check_python(LocalHost(), settings(tmp_path, ("python3", "other.py"), **job)))[1]
        assert (check.state, words in check.detail) == ("fail", True)
        assert check.remedies
