"""The environment that a job gets: a real venv, conda environments made after conda's own layout, a former process's."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from remote.control_checks import check_job
from remote.errors import CommandFailed
from remote.launchers.choose import launcher_of
from remote.local import LocalHost
from remote.payload import environs, procctl
from remote.payload.procctl import ENVIRONS_KEPT, RefusedError
from remote.process import start, stop
from tests.jobbox import MARK, Box, begun, job_box
from tests.waits import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from remote.process import FoundProcess, JobSpec

HOST = LocalHost()
TELLING = (
    "import json, os, sys, time\n"
    "print(json.dumps({'prefix': sys.prefix, 'ppid': os.getppid(), 'env': dict(os.environ)}), flush=True)\n"
    "print('ready', flush=True)\n"
    "time.sleep(600)\n"
)
NAME = "b 'b' $(touch pwned) \"c\".sh"
"""What a file name may hold."""


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with job_box(tmp_path / "run 'x' $(touch pwned)") as made:
        made.write(TELLING)
        yield made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without conda, and no conda on the search path."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("CONDA_EXE", "MAMBA_EXE", "MAMBA_ROOT_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real one, with a module of its own."""
    folder = tmp_path_factory.mktemp("of") / "a venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "only_in_the_venv.py").touch()
    return folder


def conda_at(prefix: Path, **scripts: str) -> Path:
    """A conda environment by its layout: conda-meta, its own Python, variables of packages and of its user, scripts."""
    for folder in ("conda-meta", "bin", "etc/conda/activate.d", "etc/conda/env_vars.d"):
        (prefix / folder).mkdir(parents=True, exist_ok=True)
    (prefix / "conda-meta" / "history").touch()
    state = {"version": 1, "env_vars": {"BOTH": "user's", "OWN": "a b", "GONE": "***unset***"}}
    (prefix / "conda-meta" / "state").write_text(json.dumps(state))
    (prefix / "etc/conda/env_vars.d/pkg.json").write_text(json.dumps({"BOTH": "package's", "PKG": "1"}))
    for name in ("python", "python3"):
        link = prefix / "bin" / name
        link.unlink(missing_ok=True)
        link.write_text(f'#!/bin/sh\nFROM_CONDA=1 exec {sys.executable} "$@"\n')
        link.chmod(0o755)
    for name, text in scripts.items():
        (prefix / "etc/conda/activate.d" / name).write_text(text)
    return prefix


def in_env(box: Box, **parts: Any) -> JobSpec:
    return replace(box.spec, argv=("python", f"./{box.script}"), **parts)


async def told(box: Box, spec: JobSpec, launcher: str = "process") -> tuple[FoundProcess, dict[str, Any]]:
    """Start a job that tells of itself; what it told."""
    before = box.log().count("ready")
    process = await launcher_of(spec, launcher).start(HOST)
    await until(lambda: box.log().count("ready") > before)
    return process, json.loads([line for line in box.log().splitlines() if line.startswith("{")][-1])


# -- a venv


async def test_a_job_runs_in_a_real_venv(box: Box, venv: Path) -> None:
    process, said = await told(box, in_env(box, venv=str(venv)))
    assert said["prefix"] == str(venv)
    assert said["env"]["VIRTUAL_ENV"] == str(venv)
    assert said["env"]["PATH"].split(":")[0] == str(venv / "bin")
    assert process.identity.argv[0] == "python"
    assert process.children == 0


async def test_the_checks_ask_the_python_of_the_venv(box: Box, venv: Path) -> None:
    script = b"import only_in_the_venv\n"
    inside = await check_job(HOST, in_env(box, venv=str(venv)), script=script)
    assert inside.python is not None
    assert (inside.python.missing, inside.python.known_from) == ((), "command")
    assert inside.python.prefix == inside.environment.prefix == os.path.realpath(venv)
    outside = await check_job(HOST, box.spec, script=script)
    assert outside.python is not None
    assert [one.name for one in outside.python.missing] == ["only_in_the_venv"]
    wrapped = replace(in_env(box, venv=str(venv)), argv=("bash", "run.sh"))
    beside = await check_job(HOST, wrapped, script=script)
    assert beside.python is not None
    assert (beside.python.path, beside.python.missing) == (str(venv / "bin/python"), ())


async def test_a_relative_venv_begins_in_the_folder_of_the_job(box: Box, venv: Path) -> None:
    (box.folder / ".venv").symlink_to(venv)
    _, said = await told(box, in_env(box, venv=".venv"))
    assert said["env"]["VIRTUAL_ENV"] == str(box.folder / ".venv")


@pytest.mark.parametrize("fault", ["missing", "no cfg", "dangling"])
async def test_what_is_no_venv_starts_nothing(box: Box, venv: Path, fault: str) -> None:
    folder = box.folder / "v"
    if fault != "missing":
        (folder / "bin").mkdir(parents=True)
    if fault == "dangling":
        (folder / "pyvenv.cfg").write_text((venv / "pyvenv.cfg").read_text())
        (folder / "bin/python").symlink_to("/nowhere/python3")
    spec = in_env(box, venv="v")
    words = "is broken: .*can't be run" if fault == "dangling" else "is no venv"
    with pytest.raises(CommandFailed, match=words):
        await start(HOST, spec)
    assert (await check_job(HOST, spec)).environment.error is not None
    assert box.pids() == set()
    assert not box.record.exists()


async def test_the_config_s_variables_win(box: Box, venv: Path) -> None:
    spec = in_env(box, venv=str(venv), env={**box.spec.env, "VIRTUAL_ENV": None, "MORE": "a b"})
    _, said = await told(box, spec)
    assert "VIRTUAL_ENV" not in said["env"]
    assert said["env"]["MORE"] == "a b"
    assert said["prefix"] == str(venv)


# -- conda


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("launcher", ["process", "tmux"])
async def test_a_job_runs_in_a_conda_environment(box: Box, tmp_path: Path, launcher: str) -> None:
    scripts = {
        "a.sh": 'echo "activating"\nexport FIRST="$CONDA_PREFIX|$BOTH"\n',
        NAME: 'export SECOND="$FIRST twice\nand a line"\nunset PKG\n',
        "other.fish": "exit 9\n",
    }
    prefix = conda_at(tmp_path / "x $(touch pwned)" / "envs" / "llm", **scripts)
    process, said = await told(box, in_env(box, conda=str(prefix)), launcher)
    env = said["env"]
    assert (env["CONDA_PREFIX"], env["CONDA_DEFAULT_ENV"], env["CONDA_SHLVL"]) == (str(prefix), "llm", "1")
    assert env["PATH"].split(":")[0] == str(prefix / "bin")
    assert (env["BOTH"], env["OWN"], env["FROM_CONDA"]) == ("user's", "a b", "1")
    assert env["FIRST"] == f"{prefix}|user's"
    assert env["SECOND"] == f"{prefix}|user's twice\nand a line"
    assert "PKG" not in env
    assert "GONE" not in env
    assert process.children == 0
    assert "activating" not in box.log()
    steps = [step async for step in launcher_of(box.spec, launcher).stop(HOST, process, 10)]
    assert steps[-1].step == "gone"


async def test_a_conda_environment_is_found_by_its_name(box: Box, home: Path, tmp_path: Path) -> None:
    elsewhere = conda_at(tmp_path / "far" / "llm")
    listed = home / ".conda" / "environments.txt"
    listed.parent.mkdir()
    listed.write_text(f"{elsewhere}\n/gone/llm\n")
    checked = await check_job(HOST, in_env(box, conda="llm"), script=b"import json\n")
    assert checked.environment.prefix == str(elsewhere)
    assert checked.python is not None
    assert checked.python.path == str(elsewhere / "bin/python")
    root = conda_at(home / "miniforge3")
    conda_at(root / "envs" / "other")
    base = await check_job(HOST, in_env(box, conda="base"))
    assert base.environment.prefix == str(root)
    conda_at(root / "envs" / "llm")
    both = await check_job(HOST, in_env(box, conda="llm"))
    assert "several conda environments llm" in str(both.environment.error)
    assert str(elsewhere) in str(both.environment.error)
    none = await check_job(HOST, in_env(box, conda="nosuch"))
    assert re.search(rf"There is no conda environment nosuch \(.*{root}", str(none.environment.error))


@pytest.mark.usefixtures("home")
async def test_a_package_s_script_that_fails_starts_nothing(box: Box, tmp_path: Path) -> None:
    prefix = conda_at(tmp_path / "llm", **{"a.sh": "echo 'no license server.' >&2\nexit 3\n"})
    with pytest.raises(CommandFailed, match=r"Activating .*llm failed: no license server\."):
        await start(HOST, in_env(box, conda=str(prefix)))
    (tmp_path / "plain").mkdir()
    with pytest.raises(CommandFailed, match="is no conda environment: it has no conda-meta"):
        await start(HOST, in_env(box, conda=str(tmp_path / "plain")))
    assert box.pids() == set()


def test_a_package_s_script_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = conda_at(tmp_path / "llm", **{"a.sh": "exec sleep 600\n"})
    monkeypatch.setattr(environs, "ACTIVATE_S", 0.05)
    with pytest.raises(RefusedError, match="did not end within"):
        environs.with_conda(dict(os.environ), str(prefix))


# -- what a former process had


def kept(box: Box) -> list[Path]:
    return sorted(box.record.parent.glob(f"{box.record.stem}.*.env"), key=lambda path: path.stat().st_mtime_ns)


async def stopped(process: FoundProcess, spec: JobSpec) -> tuple[str, int, int]:
    _ = [step async for step in stop(HOST, process.identity, 10, python=sys.executable, of=spec)]
    identity = process.identity
    return identity.boot_id, identity.pid, identity.start_ticks


async def test_a_process_s_environment_is_kept_for_its_user_alone_and_given_again(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "the first login")
    process, before = await told(box, replace(box.spec, env={**box.spec.env, "TOKEN": "secret 1", "ONLY_THEN": "x"}))
    of = await stopped(process, box.spec)
    assert [stat.S_IMODE(path.stat().st_mode) for path in kept(box)] == [0o600]
    monkeypatch.setenv("SSH_CONNECTION", "the second login")
    spec = replace(box.spec, env={**box.spec.env, "TOKEN": "secret 2", "ONLY_NOW": "y"}, env_of=of)
    assert (await check_job(HOST, spec)).environment.kept is True
    _, after = await told(box, spec)
    assert (after["env"]["TOKEN"], after["env"]["ONLY_THEN"]) == ("secret 1", "x")
    assert "ONLY_NOW" not in after["env"]
    assert after["env"]["SSH_CONNECTION"] == "the second login"
    assert after["env"]["LONGWAIT_JOB"] != before["env"]["LONGWAIT_JOB"]


async def test_another_process_s_environment_is_not_given(box: Box) -> None:
    process, _ = await told(box, box.spec)
    boot, pid, ticks = await stopped(process, box.spec)
    spec = replace(box.spec, env_of=(boot, pid, ticks + 1))
    assert (await check_job(HOST, spec)).environment.kept is False
    with pytest.raises(CommandFailed, match="not kept on the host any more"):
        await start(HOST, spec)
    assert box.pids() == set()


async def test_nothing_is_kept_where_that_is_not_wanted_or_not_whole(box: Box) -> None:
    process, _ = await told(box, box.spec)
    await stopped(process, box.spec)
    assert kept(box)
    process, _ = await told(box, box.spec)
    await stopped(process, replace(box.spec, keep_env=False))
    assert kept(box) == []
    process, _ = await told(box, replace(box.spec, argv=("/usr/bin/env", "-u", "PATH", *box.spec.argv)))
    await stopped(process, box.spec)
    assert kept(box) == []  # as one that has written a title over it


async def test_the_newest_few_stay_and_the_one_that_is_needed(box: Box) -> None:
    first = await stopped((await told(box, box.spec))[0], box.spec)
    for _ in range(ENVIRONS_KEPT + 1):
        process, _ = await told(box, box.spec)
        await stopped(process, replace(box.spec, env_of=first))
    assert len(kept(box)) == ENVIRONS_KEPT + 1
    assert (await check_job(HOST, replace(box.spec, env_of=first))).environment.kept is True
    process, _ = await told(box, box.spec)
    await stopped(process, box.spec)
    assert len(kept(box)) == ENVIRONS_KEPT
    assert (await check_job(HOST, replace(box.spec, env_of=first))).environment.kept is False


async def test_a_stop_goes_on_where_the_environment_can_t_be_kept(box: Box) -> None:
    process, _ = await told(box, box.spec)
    identity = process.identity
    place = box.record.parent / f"{box.record.stem}.{identity.pid}-{identity.start_ticks}.env"
    place.mkdir()
    await stopped(process, box.spec)
    assert box.pids() == set()
    assert (place.is_dir(), list(box.record.parent.glob("*.new"))) == (True, [])


def test_a_disk_that_hangs_keeps_a_stop_from_nothing(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    answers, told_by = os.pipe()
    monkeypatch.setattr(procctl, "KEEP_WAIT_S", 0.05)
    monkeypatch.setattr(procctl, "keep_environ", lambda _request, _root: signal.pause())
    with begun({**os.environ, MARK: box.mark}) as job:
        said: list[str] = []
        identity = procctl.describe(procctl.read_table()[job.pid], {})
        request = {**identity, "grace_s": 10, "keep": {"run_dir": str(box.folder), "keep_env": True}}
        procctl.end_job(request, lambda **fields: said.append(fields["step"]))
        assert job.wait() == -signal.SIGTERM
    assert (said[0], said[-1]) == ("term", "gone")
    os.close(writer)
    os.close(told_by)
    try:
        assert os.read(reader, 1) == b""  # what hangs holds nothing of ours open
    finally:
        os.close(reader)
        os.close(answers)
        for child in psutil.Process().children():
            if child.status() != psutil.STATUS_ZOMBIE and child.cmdline() == psutil.Process().cmdline():
                child.kill()
                child.wait()


async def test_a_file_that_lies_ready_for_the_environment_is_not_written_into(box: Box, tmp_path: Path) -> None:
    process, _ = await told(box, box.spec)
    identity = process.identity
    name = f"{box.record.stem}.{identity.pid}-{identity.start_ticks}.env"
    theirs = tmp_path / "theirs"
    theirs.write_text("theirs")
    (box.record.parent / f"{name}.new").symlink_to(theirs)  # where somebody may expect it to begin
    (box.record.parent / name).symlink_to(theirs)
    await stopped(process, box.spec)
    assert theirs.read_text() == "theirs"
    (made,) = kept(box)
    assert (made.is_symlink(), stat.S_IMODE(made.stat().st_mode)) == (False, 0o600)


@pytest.mark.parametrize("fault", ["others may write", "another's", "a link"])
async def test_an_environment_that_somebody_else_can_have_written_is_not_given(box: Box, fault: str) -> None:
    process, _ = await told(box, box.spec)
    of = await stopped(process, box.spec)
    (made,) = kept(box)
    if fault == "others may write":
        made.chmod(0o620)
    elif fault == "another's":
        if os.geteuid() != 0:
            pytest.skip("only root gives files away")
        os.chown(made, 65534, -1)
    else:
        made.rename(made.with_suffix(".moved"))
        made.symlink_to(made.with_suffix(".moved"))
    assert (await check_job(HOST, replace(box.spec, env_of=of))).environment.kept is False


async def test_what_a_stop_that_was_killed_has_half_written_goes_with_the_next(box: Box) -> None:
    process, _ = await told(box, box.spec)
    left = [box.record.parent / f"{box.record.stem}.1-2.env.{middle}new" for middle in ("", "0a1b.")]
    for path in left:
        path.write_text("TOKEN=secret")
    await stopped(process, box.spec)
    assert not any(path.exists() for path in left)
    assert len(kept(box)) == 1
    assert box.record.exists()


async def test_of_variables_that_differ_only_the_names_are_told(box: Box) -> None:
    process, _ = await told(box, replace(box.spec, env={**box.spec.env, "TOKEN": "secret-1", "OLD": "secret-2"}))
    spec = replace(box.spec, env={**box.spec.env, "TOKEN": "secret-3", "NEW": "secret-4"})
    checked = await check_job(HOST, spec, identity=process.identity)
    assert checked.environment.differs == ("NEW", "OLD", "TOKEN")
    assert "secret" not in repr(checked)
    assert (await check_job(HOST, box.spec)).environment.differs is None
