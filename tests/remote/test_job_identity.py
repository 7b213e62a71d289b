"""Which job is which: several of one folder, several ways to write one, and where their paths are on the host."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from remote.files import read_file
from remote.local import LocalHost
from remote.payload import procctl
from remote.probe import probe
from remote.process import FoundProcess, JobSpec, find, start, stop
from tests.jobbox import SLEEPER, Box, job_box
from tests.waits import until

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = LocalHost()


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with job_box(tmp_path / "run") as made:
        yield made


async def started(box: Box) -> FoundProcess:
    """Start the box's job and wait until it says that it is ready."""
    process = await start(HOST, box.spec, watch_s=0.05)
    await until(lambda: "ready" in box.log())
    return process


# -- several jobs of one folder


def second(box: Box, **change: Any) -> JobSpec:
    """Another job in the box's folder, with a script, a command and a log of its own."""
    (box.folder / "second.py").write_text(SLEEPER)
    argv = (sys.executable, "second.py")
    return replace(box.spec, **{"argv": argv, "script": "second.py", "log": "second.log", **change})


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"script": ""},
        {"script": "", "log": "job.log"},
        {"log": "job.log"},
        {"script": "", "argv": (), "match": "second.py"},
    ],
)
async def test_a_job_of_the_same_folder_is_not_taken_for_ours(box: Box, change: dict[str, Any]) -> None:
    ours = second(box, **change)
    others = await started(box)
    assert (await find(HOST, ours)).processes == ()
    assert [one.identity for one in (await find(HOST, box.spec)).processes] == [others.identity]


@pytest.mark.parametrize("change", [{}, {"script": ""}])
async def test_two_jobs_of_a_folder_each_have_their_record(box: Box, change: dict[str, Any]) -> None:
    one, other = replace(box.spec, **change), second(box, **change)
    first = await start(HOST, one, watch_s=0.05)
    latter = await start(HOST, other, watch_s=0.05)
    for spec, process in ((one, first), (other, latter)):
        (found,) = (await find(HOST, spec)).processes
        assert (found.pid, found.by_record) == (process.pid, True)
    _ = [step async for step in stop(HOST, latter.identity, 10, python=sys.executable)]
    assert box.pids() == {first.pid}


async def test_two_starts_at_once_of_two_jobs_give_two(box: Box) -> None:
    both = await asyncio.gather(start(HOST, box.spec, watch_s=0.3), start(HOST, second(box), watch_s=0.3))
    assert box.pids() == {process.pid for process in both}


async def test_a_record_that_is_another_jobs_is_none_of_ours(box: Box) -> None:
    others = await started(box)
    ours = second(box)
    record = json.loads(box.record.read_text())
    for path in (box.folder / ".longwait").glob("*"):
        path.unlink()
    request = {"run_dir": str(box.folder), "script": ours.script, "log": ours.log, "argv": list(ours.argv)}
    Path(procctl.record_path(request)).write_text(json.dumps(record))
    assert record["pid"] == others.pid
    assert (await find(HOST, ours)).processes == ()


@pytest.mark.parametrize("ways", [("job.py", "job.log"), ("./job.py", "../run/job.log"), (None, None)])
async def test_one_job_written_in_other_ways_is_one_job(box: Box, ways: tuple[str | None, str | None]) -> None:
    script, log = (way or str(box.folder / name) for way, name in zip(ways, ("job.py", "job.log"), strict=True))
    link = box.folder.parent / "link to it"
    link.symlink_to(box.folder)
    process = await started(box)
    (found,) = (await find(HOST, replace(box.spec, run_dir=str(link), script=script, log=log))).processes
    assert (found.pid, found.by_record) == (process.pid, True)


async def test_a_new_command_for_a_script_is_the_same_job(box: Box) -> None:
    process = await started(box)
    (found,) = (await find(HOST, replace(box.spec, argv=(*box.spec.argv, "--more")))).processes
    assert (found.pid, found.by_record) == (process.pid, True)


async def test_a_match_tells_two_jobs_of_one_script_apart(box: Box) -> None:
    one, two = (
        replace(box.spec, argv=(*box.spec.argv, "--config", name), log=f"{name}.log", match=f"--config {name}")
        for name in ("a", "b")
    )
    first = await start(HOST, one, watch_s=0.05)
    latter = await start(HOST, two, watch_s=0.05)
    assert [process.pid for process in (await find(HOST, one)).processes] == [first.pid]
    assert [process.pid for process in (await find(HOST, two)).processes] == [latter.pid]


# -- paths


@pytest.mark.parametrize("name", ["x", "a b", " it's  odd "])
async def test_a_path_with_a_tilde_begins_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with job_box(tmp_path / name, script=f"{name}.py") as box:
        away = replace(box.spec, run_dir=f"~/{name}", script=f"~/{name}/{name}.py", log=f"~/{name}/of {name}.log")
        process = await start(HOST, away, watch_s=0.05)
        assert await read_file(HOST, sys.executable, away.script_path)
        assert (await probe(HOST, sys.executable, paths=[away.log_path])).paths[0].exists
        assert Path(f"/proc/{process.pid}/fd/1").readlink() == box.folder / f"of {name}.log"
        near = replace(away, script=f"{name}.py", log=f"of {name}.log")
        (found,) = (await find(HOST, near)).processes
        assert (found.pid, found.by_record) == (process.pid, True)
        assert found.script_sha256 == (await find(HOST, near)).script_sha256


@pytest.mark.parametrize("run_dir", [".", "run", "a b", "~/a b", "/data/a b"])
@pytest.mark.parametrize(
    ("path", "placed"),
    [
        ("job.log", "{}/job.log"),
        ("out put/job 1.log", "{}/out put/job 1.log"),
        ("./~odd.log", "{}/./~odd.log"),
        ("~/a b/job.log", "~/a b/job.log"),
        ("~", "~"),
        ("~user/job.log", "~user/job.log"),
        ("/data/a b/job.log", "/data/a b/job.log"),
    ],
)
def test_both_ends_place_a_path_alike(
    box: Box, monkeypatch: pytest.MonkeyPatch, run_dir: str, path: str, placed: str
) -> None:
    monkeypatch.setenv("HOME", "/home/of us")
    spec = replace(box.spec, run_dir=run_dir, script=path, log=path)
    assert spec.log_path == spec.script_path == placed.format(run_dir)
    request = {"run_dir": run_dir, "log": path}
    assert procctl.full_path(request, "log") == os.path.expanduser(spec.log_path)  # noqa: PTH111 - as the host does


def test_no_path_is_no_path(box: Box) -> None:
    assert replace(box.spec, script="").script_path == ""
    assert procctl.full_path({"run_dir": "/x"}, "script") == ""
